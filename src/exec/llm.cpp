#include "calkit/exec/llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plan.h"

namespace calkit::exec {
namespace {

constexpr std::int64_t kCacheGranule = 64;  // tokens; the cache starts with that much room and doubles

// Both graphs name the same weights: keep one copy of those that were not the same bytes already.
void share_initializers(const onnx::Model& from, onnx::Model& to) {
  std::map<std::string_view, const onnx::Initializer*> known;
  for (const auto& initializer : from.graph.initializers) known[initializer.name] = &initializer;
  for (auto& initializer : to.graph.initializers) {
    const auto found = known.find(initializer.name);
    if (found == known.end() || !initializer.data || !found->second->data) continue;
    const Tensor &a = *found->second->data, &b = *initializer.data;
    if (a.raw() == b.raw() || a.dtype() != b.dtype() || a.shape() != b.shape()) continue;
    if (std::memcmp(a.raw(), b.raw(), a.bytes()) == 0) initializer.data = a;
  }
}

// Copies tokens [B, H, n, D] from one tensor into another with room for more.
void copy_tokens(const Tensor& from, std::int64_t tokens, Tensor& to) {
  const auto rows = static_cast<std::size_t>(from.dim(0) * from.dim(1));
  const std::size_t width = static_cast<std::size_t>(from.dim(3)) * dtype_bytes(from.dtype());
  const std::size_t run = static_cast<std::size_t>(tokens) * width;
  for (std::size_t row = 0; row < rows && run > 0; ++row)
    std::memcpy(to.mutable_raw() + row * static_cast<std::size_t>(to.dim(2)) * width,
                from.raw() + row * static_cast<std::size_t>(from.dim(2)) * width, run);
}

Result<Tensor> with_capacity(const Tensor& from, std::int64_t tokens, std::int64_t capacity) {
  CALKIT_TRY(Tensor to, Tensor::zeros(from.dtype(), {from.dim(0), from.dim(1), capacity, from.dim(3)}));
  copy_tokens(from, tokens, to);
  return to;
}

}  // namespace

struct LanguageModel::State {
  std::optional<Session> prefill, decode;
  std::vector<LayerCache> layers;
  std::vector<Tensor> caches;  // key and value of each layer, [1, KVH, C, D]
  std::int64_t length = 0, capacity = 0;

  Status fill_caches(std::vector<Tensor>& results, std::size_t first);
  Status make_room();
};

Status LanguageModel::State::fill_caches(std::vector<Tensor>& results, std::size_t first) {
  capacity = (length / kCacheGranule + 2) * kCacheGranule;
  caches.assign(layers.size() * 2, Tensor());
  for (std::size_t i = 0; i < caches.size(); ++i) {
    Tensor& present = results[first + i];
    if (present.rank() != 4 || present.dim(2) != length)
      return input_error("prefill graph", i % 2 == 0 ? layers[i / 2].key_present : layers[i / 2].value_present,
                         shape_text(present.shape()), fmt::format("[1, KVH, {}, D]", length));
    CALKIT_TRY(caches[i], with_capacity(present, length, capacity));
    present = Tensor();  // one layer at a time is held twice
  }
  return {};
}

Status LanguageModel::State::make_room() {
  if (length < capacity) return {};
  capacity *= 2;
  for (Tensor& cache : caches) {
    CALKIT_TRY(cache, with_capacity(cache, length, capacity));
  }
  return {};
}

LanguageModel::LanguageModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;

Result<LanguageModel> LanguageModel::create(onnx::Model prefill, onnx::Model decode, const SessionOptions& options) {
  auto state = std::make_unique<State>();
  share_initializers(prefill, decode);
  CALKIT_TRY(state->layers, use_caches(decode.graph));
  SessionOptions shared = options;
  if (!shared.linear_cache) shared.linear_cache = make_linear_cache();
  CALKIT_TRY(Session first, Session::create(std::move(prefill), shared), "preparing the prefill graph");
  CALKIT_TRY(Session second, Session::create(std::move(decode), shared), "preparing the decode graph");
  state->prefill.emplace(std::move(first));
  state->decode.emplace(std::move(second));
  return LanguageModel(std::move(state));
}

Result<LanguageModel::Step> LanguageModel::prefill(std::span<const std::int32_t> tokens,
                                                   std::span<const std::string> probes) {
  State& s = *state_;
  s.length = 0;
  if (tokens.empty()) return Error(ErrorKind::kInput, "prefill: no tokens; at least one is needed");
  const auto count = static_cast<std::int64_t>(tokens.size());
  std::vector<std::int64_t> ids(tokens.begin(), tokens.end()), positions(tokens.size());
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
  std::vector<std::string> wanted = {"logits"};
  for (const LayerCache& layer : s.layers) wanted.insert(wanted.end(), {layer.key_present, layer.value_present});
  wanted.insert(wanted.end(), probes.begin(), probes.end());
  CALKIT_TRY(auto results, s.prefill->run({{"token_ids", Tensor::of({1, count}, ids)},
                                           {"position_ids", Tensor::of({1, count}, positions)},
                                           {"last_index", Tensor::of<std::int64_t>({1}, {count - 1})}},
                                          wanted));
  Step step;
  CALKIT_TRY(step.logits, to_floats(results[0]));
  step.probes.assign(results.begin() + 1 + static_cast<std::ptrdiff_t>(2 * s.layers.size()), results.end());
  s.length = count;
  CALKIT_CHECK_OK(s.fill_caches(results, 1));
  return step;
}

Result<LanguageModel::Step> LanguageModel::decode(std::int32_t token) {
  State& s = *state_;
  if (s.length == 0) return Error(ErrorKind::kUsage, "decode: no sequence was started; call prefill first");
  CALKIT_CHECK_OK(s.make_room());
  std::map<std::string, Tensor> inputs = {
      {"token_ids", Tensor::of<std::int64_t>({1, 1}, {token})},
      {"position_ids", Tensor::of<std::int64_t>({1, 1}, {s.length})},
      {kPastLength, Tensor::of<std::int32_t>({1}, {static_cast<std::int32_t>(s.length)})}};
  for (std::size_t i = 0; i < s.layers.size(); ++i) {
    inputs.emplace(s.layers[i].key_input, s.caches[2 * i]);
    inputs.emplace(s.layers[i].value_input, s.caches[2 * i + 1]);
  }
  const std::string wanted[] = {"logits"};
  CALKIT_TRY(auto results, s.decode->run(inputs, wanted));
  Step step;
  CALKIT_TRY(step.logits, to_floats(results[0]));
  ++s.length;
  return step;
}

std::int64_t LanguageModel::length() const {
  return state_->length;
}

}  // namespace calkit::exec
