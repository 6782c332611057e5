// calkit:SwiGLU and calkit:Experts: a gated MLP, and many of them of which each row takes a few.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "activation.h"
#include "elementwise.h"
#include "linear_call.h"

namespace calkit::exec {
namespace {

constexpr std::size_t kFirstWeight = 3;

void swiglu_any(const Tensor& gate, const Tensor& up, Tensor& y) {
  if (gate.dtype() == DType::kF32)
    swiglu(best_isa(), gate.data<float>().data(), up.data<float>().data(), y.mutable_data<float>().data(),
           y.elements());
  else
    swiglu(best_isa(), gate.data<BF16>().data(), up.data<BF16>().data(), y.mutable_data<BF16>().data(), y.elements());
}

// Shapes that differ broadcast, and alpha other than 1 exists in ai.onnx only: one element at a time.
template <class T>
Status swiglu_slow(const Call& call, const Tensor& gate, const Tensor& up, T alpha) {
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {&gate, &up})));
  return float_binary<T>(call, gate, up, plan, [alpha](T g, T u) { return g / (1 + std::exp(-alpha * g)) * u; });
}

Status run_swiglu(const Call& call) {
  CALKIT_TRY(const Tensor* gate, call.input(0));
  CALKIT_TRY(const Tensor* up, call.input(1));
  const float alpha = call.node.float_or("alpha", 1.0f);
  if (gate->dtype() == DType::kF64) return swiglu_slow<double>(call, *gate, *up, alpha);
  if (gate->shape() == up->shape() && alpha == 1.0f) {
    CALKIT_TRY(Tensor y, call.out(0, gate->dtype(), gate->shape()));
    swiglu_any(*gate, *up, y);
    return {};
  }
  if (gate->dtype() == DType::kF32) return swiglu_slow<float>(call, *gate, *up, alpha);
  CALKIT_TRY(const Broadcast<2> plan, (broadcast<2>(call, {gate, up})));
  return float_binary<BF16>(call, *gate, *up, plan,
                            [alpha](float g, float u) { return round_bf16(g / (1 + std::exp(-alpha * g))) * u; });
}

struct Expert {
  std::shared_ptr<const Linear> gate, up, down;
};
struct Choice {
  std::size_t row = 0;
  float weight = 0;
};

// sum[row] += weight * answer, rounding the product and the sum.
template <class T>
void add_weighted(const std::vector<Choice>& choices, const Tensor& answers, Tensor& sum) {
  const auto width = static_cast<std::size_t>(sum.dim(1));
  const T* from = answers.data<T>().data();
  for (const Choice& choice : choices) {
    T* to = sum.mutable_data<T>().data() + choice.row * width;
    for (std::size_t i = 0; i < width; ++i) {
      T product;
      put(product, wide(*from++) * choice.weight);
      put(to[i], wide(to[i]) + wide(product));
    }
  }
}

class ExpertsKernel : public Kernel {
 public:
  ExpertsKernel(const onnx::Node& node, std::vector<Expert> experts) : node_(node), experts_(std::move(experts)) {}

  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    const Call call{node_, inputs, out};
    CALKIT_TRY(const Tensor* x, call.input(0));
    const Expert& first = experts_.front();
    if (x->rank() != 2 || x->dtype() != first.gate->dtype() ||
        x->dim(1) != static_cast<std::int64_t>(first.gate->inputs()))
      return call.fault(0, tensor_text(*x),
                        fmt::format("{} [T, {}]", dtype_name(first.gate->dtype()), first.gate->inputs()));
    CALKIT_TRY(const auto choices, read_choices(call, *x));
    CALKIT_TRY(Tensor sum, call.out(0, x->dtype(), x->shape()));
    std::memset(sum.mutable_raw(), 0, sum.bytes());
    for (std::size_t number = 0; number < experts_.size(); ++number)
      if (!choices[number].empty()) CALKIT_CHECK_OK(add_expert(experts_[number], choices[number], *x, sum));
    return {};
  }
  std::uint64_t packed_bytes() const override {
    std::uint64_t total = 0;
    for (const Expert& expert : experts_)
      total += expert.gate->packed_bytes() + expert.up->packed_bytes() + expert.down->packed_bytes();
    return total;
  }

 private:
  // For each expert the rows that chose it, ascending.
  Result<std::vector<std::vector<Choice>>> read_choices(const Call& call, const Tensor& x) const {
    CALKIT_TRY(const Tensor* experts, call.input(1));
    CALKIT_TRY(const Tensor* weights, call.input(2));
    CALKIT_TRY(const auto numbers, call.ints(1));
    if (experts->rank() != 2 || experts->dim(0) != x.dim(0))
      return call.fault(1, tensor_text(*experts), fmt::format("[{}, k]", x.dim(0)));
    if (weights->shape() != experts->shape() || weights->dtype() != x.dtype())
      return call.fault(2, tensor_text(*weights),
                        fmt::format("{} {}", dtype_name(x.dtype()), shape_text(experts->shape())));
    CALKIT_TRY(const std::vector<float> scales, to_floats(*weights));
    std::vector<std::vector<Choice>> out(experts_.size());
    const auto per_row = static_cast<std::size_t>(experts->dim(1));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0 || numbers[i] >= static_cast<std::int64_t>(experts_.size()))
        return call.fault(1, fmt::format("expert {}", numbers[i]), fmt::format("0 to {}", experts_.size() - 1));
      out[static_cast<std::size_t>(numbers[i])].push_back({i / per_row, scales[i]});
    }
    return out;
  }

  static Status add_expert(const Expert& expert, const std::vector<Choice>& choices, const Tensor& x, Tensor& sum) {
    const auto rows = static_cast<std::int64_t>(choices.size());
    CALKIT_TRY(Tensor in, Tensor::zeros(x.dtype(), {rows, x.dim(1)}));
    const std::size_t bytes = static_cast<std::size_t>(x.dim(1)) * dtype_bytes(x.dtype());
    for (std::size_t i = 0; i < choices.size(); ++i)
      std::memcpy(in.mutable_raw() + i * bytes, x.raw() + choices[i].row * bytes, bytes);
    const auto width = static_cast<std::int64_t>(expert.gate->outputs());
    CALKIT_TRY(Tensor gate, Tensor::zeros(x.dtype(), {rows, width}));
    CALKIT_TRY(Tensor up, Tensor::zeros(x.dtype(), {rows, width}));
    CALKIT_CHECK_OK(expert.gate->multiply(in.raw(), choices.size(), gate.mutable_raw()));
    CALKIT_CHECK_OK(expert.up->multiply(in.raw(), choices.size(), up.mutable_raw()));
    swiglu_any(gate, up, gate);
    CALKIT_CHECK_OK(expert.down->multiply(gate.raw(), choices.size(), in.mutable_raw()));
    if (x.dtype() == DType::kF32)
      add_weighted<float>(choices, in, sum);
    else
      add_weighted<BF16>(choices, in, sum);
    return {};
  }

  onnx::Node node_;
  std::vector<Expert> experts_;
};

Result<std::shared_ptr<const Linear>> weights_of(const onnx::Node& node, std::span<const Tensor* const> constants,
                                                 std::size_t index, const KernelOptions& options) {
  if (constants[index] == nullptr)
    return input_error("graph", fmt::format("{}: input {}", node_label(node), index), "a computed value", "a constant");
  return linear_of(node, *constants[index], options);
}

Result<std::unique_ptr<Kernel>> make_experts(const onnx::Node& node, std::span<const Tensor* const> constants,
                                             const KernelOptions& options) {
  const std::size_t weights = node.inputs.size() - kFirstWeight;
  if (weights == 0 || weights % 3 != 0)
    return input_error("graph", node_label(node), fmt::format("{} weights", weights), "three for each expert");
  std::vector<Expert> experts;
  for (std::size_t i = kFirstWeight; i < node.inputs.size(); i += 3) {
    Expert made;
    CALKIT_TRY(made.gate, weights_of(node, constants, i, options));
    CALKIT_TRY(made.up, weights_of(node, constants, i + 1, options));
    CALKIT_TRY(made.down, weights_of(node, constants, i + 2, options));
    const Linear& like = experts.empty() ? *made.gate : *experts.front().gate;
    const auto fits = [&](const Linear& linear, bool turned) {
      return linear.dtype() == like.dtype() && linear.outputs() == (turned ? like.inputs() : like.outputs()) &&
             linear.inputs() == (turned ? like.outputs() : like.inputs());
    };
    if (!fits(*made.gate, false) || !fits(*made.up, false) || !fits(*made.down, true))
      return input_error("graph", node_label(node), fmt::format("weights of another shape at input {}", i),
                         "gate [F, H], up [F, H] and down [H, F], equal for all experts");
    experts.push_back(std::move(made));
  }
  return std::unique_ptr<Kernel>(new ExpertsKernel(node, std::move(experts)));
}

}  // namespace

void register_experts(Registry& registry) {
  const Operator gated = {.min_inputs = 2,
                          .max_inputs = 2,
                          .run = &run_swiglu,
                          .types = kFloatTypes,
                          .native = kLinearTypes | kTypeF64,
                          .same = kEach};
  registry["calkit:SwiGLU"] = gated;
  Operator& fused = registry["calkit.fused:SwiGlu"] = gated;
  fused.since = 23;
  Operator& standard = registry[":SwiGLU"] = gated;
  standard.attributes = {"alpha=f"};
  standard.since = 28;
  registry["calkit:Experts"] = {
      .min_inputs = 6, .max_inputs = 1u << 16, .factory = &make_experts, .types = kLinearTypes, .native = kLinearTypes};
}

}  // namespace calkit::exec
