#include "noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calkit/base/process.h"
#include "calkit/tensor/metrics.h"

namespace calkit::baseline {
namespace {

constexpr std::size_t kShortest = 17, kLongest = 256;
using Rows = std::vector<std::vector<float>>;
using Sample = std::vector<const frozen::ReferenceItem*>;

Sample choose(const frozen::Reference& reference, std::size_t count) {
  Sample fit, out;
  for (const frozen::ReferenceItem& item : reference.items)
    if (item.ids.size() >= kShortest && item.ids.size() <= kLongest) fit.push_back(&item);
  count = std::min(count, fit.size());
  for (std::size_t i = 0; i < count; ++i) out.push_back(fit[i * fit.size() / count]);
  return out;
}

Result<Rows> at_once(exec::LanguageModel& model, const Sample& sample) {
  Rows out;
  for (const frozen::ReferenceItem* item : sample) {
    if (interrupted()) return interrupted_error();
    CALKIT_TRY(auto step, model.prefill(item->ids));
    out.push_back(std::move(step.logits));
  }
  return out;
}

Result<Rows> token_by_token(exec::LanguageModel& model, const Sample& sample) {
  Rows out;
  for (const frozen::ReferenceItem* item : sample) {
    CALKIT_TRY(auto step, model.prefill(std::span(item->ids).first(1)));
    for (const std::int32_t id : std::span(item->ids).subspan(1)) {
      if (interrupted()) return interrupted_error();
      CALKIT_TRY(step, model.decode(id));
    }
    out.push_back(std::move(step.logits));
  }
  return out;
}

Value compared(std::string_view how, const Sample& sample, const Rows& got, const Rows& want) {
  Value prompts(Value::Array{});
  double nmse = 0, max_abs = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Closeness close = compare(got[i], want[i]);
    nmse = std::max(nmse, close.nmse.value_or(0));
    max_abs = std::max(max_abs, close.max_abs);
    prompts.push(Value::object({{"id", sample[i]->prompt.id},
                                {"nmse", close.nmse},
                                {"max_abs", close.max_abs},
                                {"max_abs_index", static_cast<std::uint64_t>(close.max_abs_index)},
                                {"top_1_equal", top_k(got[i], 1) == top_k(want[i], 1)}}));
  }
  return Value::object({{"how", how}, {"nmse_max", nmse}, {"max_abs_max", max_abs}, {"prompts", std::move(prompts)}});
}

Value document(const frozen::Reference& reference, Value runs, const Value& why) {
  return Value::object({{"schema", "calkit.noise/1"},
                        {"dtype", reference.dtype},
                        {"what", "logits of the last position against the same prompt at once"},
                        {"runs", std::move(runs)},
                        {"null_reason", why}});
}

}  // namespace

Result<Value> measure_noise(exec::LanguageModel model, int threads, const ModelLoader& load, int prompts,
                            const frozen::Reference& reference) {
  if (prompts == 0) return document(reference, Value(), "not asked for");
  const Sample sample = choose(reference, static_cast<std::size_t>(prompts));
  if (sample.empty())
    return document(reference, Value(), fmt::format("no prompt of {} to {} tokens", kShortest, kLongest));
  std::optional<exec::LanguageModel> first(std::move(model));
  CALKIT_TRY(const Rows want, at_once(*first, sample));
  CALKIT_TRY(const Rows single, token_by_token(*first, sample));
  first.reset();
  CALKIT_TRY(auto second, load(threads == 1 ? 2 : 1));
  CALKIT_TRY(const Rows threaded, at_once(second, sample));
  Value runs(Value::Array{});
  runs.push(compared("another number of threads", sample, threaded, want));
  runs.push(compared("token by token", sample, single, want));
  return document(reference, std::move(runs), Value());
}

}  // namespace calkit::baseline
