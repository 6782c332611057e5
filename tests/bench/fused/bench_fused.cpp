// Each operator of calkit.fused against the function that it stands for, on a layer of Qwen3-0.6B's shape: the median
// time of the kernel and of the function, and their ratio; then the whole layer, each operator as often as it occurs.
// Prints a table to stderr and one JSON line for each setting to stdout. Not a test.
//   bench_fused [--tokens 128] [--past 512] [--threads 1] [--repeats 3]   a prefill of --tokens, and a decode step
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "calkit/base/document.h"
#include "fused_calls.h"

namespace {

using namespace calkit;
using fused::Draw;
using fused::FusedCall;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHidden = 1024, kHeads = 16, kKvHeads = 8, kWidth = 128, kInner = 3072, kVocabulary = 151936;

struct Options {
  std::int64_t tokens = 128, past = 512;
  int threads = 1, repeats = 3;
};

struct Measured {
  FusedCall call;
  int count = 1;
  double kernel_ms = 0, function_ms = 0;
};

template <class T>
T must(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

double median_ms(const FusedCall& call, bool expand, const Options& options) {
  exec::SessionOptions session_options;
  session_options.threads = options.threads;
  session_options.expand_functions = expand;
  auto session = must(exec::Session::create(fused::model_of(call), session_options));
  const auto inputs = fused::inputs_of(call);
  std::vector<double> times;
  for (int i = 0; i <= options.repeats; ++i) {
    const auto start = Clock::now();
    must(session.run(inputs, call.function().outputs));
    if (i > 0) times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// The calls of one layer and of the head, `tokens` of them at a time behind `past`.
std::vector<Measured> layer(DType dtype, bool quantized, std::int64_t tokens, std::int64_t past) {
  Draw draw(dtype);
  std::vector<Measured> out;
  const auto add = [&](const char* op, int count, std::vector<Tensor> operands, std::set<std::string> constants,
                       std::vector<onnx::Attribute> attributes) {
    out.push_back({{op, op, std::move(operands), std::move(constants), std::move(attributes)}, count});
  };
  const auto epsilon = onnx::attr("epsilon", 1e-6f);
  const auto to = onnx::attr("to", static_cast<std::int64_t>(onnx::from_dtype(dtype)));
  const auto k = onnx::attr("k", Shape{40});
  const auto floats = [&](std::int64_t n) { return draw.floats({1, tokens, n}); };
  const auto linear = [&](int count, std::int64_t n, std::int64_t inputs, bool residual) {
    std::vector<Tensor> operands;
    if (quantized)
      operands = {draw.bytes({1, tokens, inputs}), draw.scales({1, tokens, 1}), draw.bytes({n, inputs}),
                  draw.scales({n})};
    else
      operands = {floats(inputs), draw.floats({n, inputs}, 0.03f)};
    if (residual) operands.push_back(floats(n));
    const std::string name = std::string(quantized ? "Quantized" : "") + (residual ? "LinearAdd" : "Linear");
    add(name.c_str(), count, std::move(operands), {"w", "w_scale"},
        quantized ? std::vector<onnx::Attribute>{to} : std::vector<onnx::Attribute>{});
  };
  add(quantized ? "RmsNormQuantize" : "RmsNorm", 2, {floats(kHidden), draw.floats({kHidden})}, {"weight"}, {epsilon});
  linear(1, kHeads * kWidth, kHidden, false);
  linear(2, kKvHeads * kWidth, kHidden, false);
  const auto table = draw.floats({1, tokens, kWidth / 2});
  std::vector<Tensor> rope = {draw.floats({1, tokens, kHeads, kWidth}), draw.floats({1, tokens, kKvHeads, kWidth}),
                              draw.floats({1, tokens, kKvHeads, kWidth}), table, table};
  for (int i = 0; past > 0 && i < 2; ++i) rope.push_back(draw.floats({1, kKvHeads, past, kWidth}));
  add(past > 0 ? "RopeScatterPast" : "RopeScatter", 1, rope, {}, {});
  const auto keys = draw.floats({1, kKvHeads, past + tokens, kWidth});
  add("FlashAttention", 1, {draw.floats({1, kHeads, tokens, kWidth}), keys, keys}, {},
      {onnx::attr("scale", 0.088f), onnx::attr("is_causal", std::int64_t{past == 0})});
  if (quantized) add("QuantizePerToken", 1, {floats(kHeads * kWidth)}, {}, {});
  linear(1, kHidden, kHeads * kWidth, true);
  linear(2, kInner, kHidden, false);
  add(quantized ? "SwiGluQuantize" : "SwiGlu", 1, {floats(kInner), floats(kInner)}, {}, {});
  linear(1, kHidden, kInner, true);
  if (past == 0) return out;
  if (quantized)
    add("QuantizedLinearTopK", 0,
        {draw.bytes({1, kHidden}), draw.scales({1, 1}), draw.bytes({kVocabulary, kHidden}), draw.scales({kVocabulary})},
        {"w", "w_scale"}, {to, k});
  else
    add("LinearTopK", 0, {draw.floats({1, kHidden}), draw.floats({kVocabulary, kHidden}, 0.03f)}, {"w"}, {k});
  return out;
}

void measure(const char* setting, std::vector<Measured> calls, const Options& options) {
  double kernel = 0, function = 0;
  Value rows = Value::array();
  std::fprintf(stderr, "%s\n", setting);
  for (Measured& each : calls) {
    each.function_ms = median_ms(each.call, true, options);
    each.kernel_ms = median_ms(each.call, false, options);
    kernel += each.count * each.kernel_ms;
    function += each.count * each.function_ms;
    std::fprintf(stderr, "  %-22s x%d  function %9.3f ms  kernel %9.3f ms  ratio %.2f\n", each.call.op.c_str(),
                 each.count, each.function_ms, each.kernel_ms, each.function_ms / each.kernel_ms);
    rows.push(Value::object({{"op", each.call.op},
                             {"count", static_cast<std::int64_t>(each.count)},
                             {"function_ms", each.function_ms},
                             {"kernel_ms", each.kernel_ms}}));
  }
  std::fprintf(stderr, "  %-22s     function %9.3f ms  kernel %9.3f ms  ratio %.2f\n", "a layer", function, kernel,
               function / kernel);
  const Value line = Value::object({{"bench", "fused"},
                                    {"setting", setting},
                                    {"threads", static_cast<std::int64_t>(options.threads)},
                                    {"dispatch", exec::dispatch_name()},
                                    {"operators", std::move(rows)},
                                    {"layer_function_ms", function},
                                    {"layer_kernel_ms", kernel},
                                    {"ratio", function / kernel}});
  std::printf("%s\n", to_json(line, {.sorted = true, .indent = -1}).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto value = std::atoll(argv[i + 1]);
    if (name == "--tokens") options.tokens = value;
    if (name == "--past") options.past = value;
    if (name == "--threads") options.threads = static_cast<int>(value);
    if (name == "--repeats") options.repeats = static_cast<int>(value);
  }
  for (const bool quantized : {false, true})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const std::string type = (quantized ? "W8A8, " : "") + std::string(dtype_name(dtype));
      measure((type + ", decode").c_str(), layer(dtype, quantized, 1, options.past), options);
      measure((type + ", prefill").c_str(), layer(dtype, quantized, options.tokens, 0), options);
    }
  return 0;
}
