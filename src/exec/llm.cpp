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

// Copies `tokens` vectors of each head of row 0 of [1, H, n, D] into row `row` of [B, H, C, D].
void copy_tokens(const Tensor& from, std::size_t from_row, std::int64_t tokens, Tensor& to, std::size_t row) {
  const auto heads = static_cast<std::size_t>(from.dim(1));
  const std::size_t width = static_cast<std::size_t>(from.dim(3)) * dtype_bytes(from.dtype());
  const std::size_t run = static_cast<std::size_t>(tokens) * width;
  const std::size_t step = static_cast<std::size_t>(from.dim(2)) * width;
  const std::size_t to_step = static_cast<std::size_t>(to.dim(2)) * width;
  for (std::size_t head = 0; head < heads && run > 0; ++head)
    std::memcpy(to.mutable_raw() + (row * heads + head) * to_step, from.raw() + (from_row * heads + head) * step, run);
}

}  // namespace

struct LanguageModel::State {
  std::optional<Session> prefill, decode;
  std::vector<LayerCache> layers;
  std::vector<Tensor> caches;         // key and value of each layer, [B, KVH, C, D]
  std::vector<std::int64_t> lengths;  // of each sequence
  std::int64_t capacity = 0;

  std::int64_t longest() const { return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end()); }
  Status take_cache(std::vector<Tensor>& results, Sequence& sequence) const;
  Status make_room();
};

// Prefill's present keys and values, which follow the logits.
Status LanguageModel::State::take_cache(std::vector<Tensor>& results, Sequence& sequence) const {
  for (std::size_t i = 0; i < layers.size() * 2; ++i) {
    Tensor& present = results[1 + i];
    if (present.rank() != 4 || present.dim(0) != 1 || present.dim(2) != sequence.length)
      return input_error("prefill graph", i % 2 == 0 ? layers[i / 2].key_present : layers[i / 2].value_present,
                         shape_text(present.shape()), fmt::format("[1, KVH, {}, D]", sequence.length));
    sequence.cache.push_back(std::move(present));
  }
  return {};
}

Status LanguageModel::State::make_room() {
  if (longest() < capacity) return {};
  capacity *= 2;
  for (Tensor& cache : caches) {
    CALKIT_TRY(Tensor larger, Tensor::zeros(cache.dtype(), {cache.dim(0), cache.dim(1), capacity, cache.dim(3)}));
    for (std::size_t row = 0; row < lengths.size(); ++row) copy_tokens(cache, row, lengths[row], larger, row);
    cache = std::move(larger);
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

Result<LanguageModel::Started> LanguageModel::start(std::span<const std::int32_t> tokens,
                                                    std::span<const std::string> probes) {
  State& s = *state_;
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
  Started out;
  CALKIT_TRY(out.step.logits, to_floats(results[0]));
  out.step.probes.assign(results.begin() + 1 + static_cast<std::ptrdiff_t>(2 * s.layers.size()), results.end());
  out.sequence.length = count;
  CALKIT_CHECK_OK(s.take_cache(results, out.sequence));
  return out;
}

Status LanguageModel::go_on(std::vector<Sequence> sequences, std::int64_t more) {
  State& s = *state_;
  s.caches.clear();
  s.lengths.clear();
  for (const Sequence& sequence : sequences) {
    if (sequence.cache.size() != s.layers.size() * 2)
      return Error(ErrorKind::kUsage, "go_on: a sequence of another model, or none");
    s.lengths.push_back(sequence.length);
  }
  s.capacity = std::max<std::int64_t>(1, s.longest() + more);
  for (std::size_t i = 0; !sequences.empty() && i < s.layers.size() * 2; ++i) {
    const Tensor& like = sequences.front().cache[i];
    CALKIT_TRY(Tensor cache, Tensor::zeros(like.dtype(), {static_cast<std::int64_t>(sequences.size()), like.dim(1),
                                                          s.capacity, like.dim(3)}));
    for (std::size_t row = 0; row < sequences.size(); ++row) {
      copy_tokens(sequences[row].cache[i], 0, sequences[row].length, cache, row);
      sequences[row].cache[i] = Tensor();  // one layer at a time is held twice
    }
    s.caches.push_back(std::move(cache));
  }
  return {};
}

Result<LanguageModel::Step> LanguageModel::prefill(std::span<const std::int32_t> tokens,
                                                   std::span<const std::string> probes) {
  state_->caches.clear();
  state_->lengths.clear();
  CALKIT_TRY(Started started, start(tokens, probes));
  std::vector<Sequence> one;
  one.push_back(std::move(started.sequence));
  CALKIT_CHECK_OK(go_on(std::move(one), kCacheGranule));
  return std::move(started.step);
}

Result<std::vector<std::vector<float>>> LanguageModel::decode_all(std::span<const std::int32_t> tokens) {
  State& s = *state_;
  if (s.lengths.empty()) return Error(ErrorKind::kUsage, "decode: no sequence was started; call prefill first");
  if (tokens.size() != s.lengths.size())
    return Error(ErrorKind::kUsage, fmt::format("decode: {} tokens for {} sequences", tokens.size(), s.lengths.size()));
  CALKIT_CHECK_OK(s.make_room());
  const auto rows = static_cast<std::int64_t>(tokens.size());
  std::map<std::string, Tensor> inputs = {
      {"token_ids", Tensor::of({rows, 1}, std::vector<std::int64_t>(tokens.begin(), tokens.end()))},
      {"position_ids", Tensor::of({rows, 1}, s.lengths)},
      {kPastLength, Tensor::of({rows}, std::vector<std::int32_t>(s.lengths.begin(), s.lengths.end()))}};
  for (std::size_t i = 0; i < s.layers.size(); ++i) {
    inputs.emplace(s.layers[i].key_input, s.caches[2 * i]);
    inputs.emplace(s.layers[i].value_input, s.caches[2 * i + 1]);
  }
  const std::string wanted[] = {"logits"};
  CALKIT_TRY(const auto results, s.decode->run(inputs, wanted));
  CALKIT_TRY(const std::vector<float> logits, to_floats(results[0]));
  const std::size_t width = logits.size() / tokens.size();
  std::vector<std::vector<float>> out;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row * width);
    out.emplace_back(first, first + static_cast<std::ptrdiff_t>(width));
    ++s.lengths[row];
  }
  return out;
}

Result<LanguageModel::Step> LanguageModel::decode(std::int32_t token) {
  CALKIT_TRY(auto logits, decode_all({&token, 1}));
  return Step{std::move(logits.front()), {}};
}

std::int64_t LanguageModel::length() const {
  return state_->longest();
}

}  // namespace calkit::exec
