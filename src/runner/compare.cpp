#include "calkit/runner/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calkit/base/log.h"
#include "calkit/tensor/metrics.h"

namespace calkit::runner {
namespace {

constexpr std::size_t kTop = 20;
constexpr std::size_t kMaxFindings = 40;
constexpr std::size_t kMaxDivergences = 100;

// Frees the KV slot on every way out.
class Sequence {
 public:
  Sequence(device::TokenModel& model, device::TokenModel::Handle handle) : model_(model), handle_(handle) {}
  ~Sequence() { model_.finish(handle_); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  device::TokenModel::Handle handle() const { return handle_; }

 private:
  device::TokenModel& model_;
  device::TokenModel::Handle handle_;
};

std::size_t count_non_finite(std::span<const float> values) {
  return static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }));
}

// A reference that is empty, broken or constant would let anything pass.
Status check_reference_item(const frozen::ReferenceItem& item, const device::TokenModel::Facts& facts) {
  const auto refuse = [&](std::string found, std::string allowed) {
    return input_error("reference", fmt::format("prompt '{}'", item.prompt.id), found, allowed);
  };
  if (item.logits.size() != static_cast<std::size_t>(facts.vocab))
    return refuse(fmt::format("{} logits", item.logits.size()),
                  fmt::format("the package's vocabulary of {}", facts.vocab));
  if (const auto bad = count_non_finite(item.logits); bad > 0)
    return refuse(fmt::format("{} logits that are NaN or infinite", bad), "finite logits");
  const auto [low, high] = std::minmax_element(item.logits.begin(), item.logits.end());
  if (*low == *high) return refuse(fmt::format("all logits equal to {}", *low), "logits that differ");
  for (const frozen::GreedyStep& step : item.greedy) {
    if (step.token < 0 || step.token >= facts.vocab)
      return refuse(fmt::format("greedy token {}", step.token), fmt::format("0 to {}", facts.vocab - 1));
    if (count_non_finite(step.top_logits) > 0 || step.top_ids.size() != step.top_logits.size())
      return refuse("a greedy step with broken top logits", "as many finite logits as ids");
    for (const std::int32_t id : step.top_ids)
      if (id < 0 || id >= facts.vocab)
        return refuse(fmt::format("top id {}", id), fmt::format("0 to {}", facts.vocab - 1));
  }
  return {};
}

Status check_length(const frozen::ReferenceItem& item, const device::TokenModel::Facts& facts) {
  const auto tokens = static_cast<std::int64_t>(item.ids.size());
  const auto steps = static_cast<std::int64_t>(item.greedy.size());
  if (tokens > facts.max_prefill_tokens)
    return Error(ErrorKind::kInput,
                 fmt::format("prompt '{}' is too long: found {} tokens; allowed: {} (the package's prefill)",
                             item.prompt.id, tokens, facts.max_prefill_tokens),
                 "pack for a longer prefill, or freeze a baseline without this prompt");
  if (tokens + std::max<std::int64_t>(steps - 1, 0) > facts.context)
    return Error(
        ErrorKind::kInput,
        fmt::format("prompt '{}' is too long: found {} tokens and {} steps; allowed: {} (the package's context)",
                    item.prompt.id, tokens, steps, facts.context),
        "pack for a longer context, or freeze a baseline without this prompt");
  return {};
}

class Comparer {
 public:
  Comparer(device::TokenModel& model, const Limits& limits, std::chrono::nanoseconds timeout)
      : model_(model), limits_(limits), timeout_(timeout) {}

  Status prompt(const frozen::ReferenceItem& item) {
    PromptResult result;
    result.id = item.prompt.id;
    result.tokens = item.ids.size();
    CALKIT_TRY(const auto handle, model_.start(), fmt::format("starting prompt '{}'", result.id));
    const Sequence sequence(model_, handle);
    CALKIT_TRY(auto output, model_.prefill(handle, item.ids, Deadline::in(timeout_)),
               fmt::format("prefilling prompt '{}'", result.id));
    CALKIT_CHECK_OK(check_width(output, item));
    judge_prefill(output.logits, item, result);
    for (std::size_t step = 0; step < item.greedy.size(); ++step) {
      if (interrupted()) return interrupted_error();
      if (step > 0) {
        CALKIT_TRY(output, model_.decode(handle, item.greedy[step - 1].token, Deadline::in(timeout_)),
                   fmt::format("decoding step {} of prompt '{}'", step, result.id));
        CALKIT_CHECK_OK(check_width(output, item));
      }
      // After a NaN the cache holds NaN too: the steps behind it would only repeat the finding.
      if (!judge_step(output.logits, item, step, result)) break;
    }
    add(result);
    return {};
  }

  Comparison finish() {
    out_.overlap_min = out_.prompts.empty() ? 0 : out_.overlap_min;
    const double allowed = limits_.excused_share * static_cast<double>(out_.steps);
    if (static_cast<double>(out_.excused) > allowed)
      find(fmt::format("{} of {} steps flipped at a margin of {} or less; at most {} % may", out_.excused, out_.steps,
                       limits_.margin, limits_.excused_share * 100));
    if (hidden_ > 0) out_.findings.push_back(fmt::format("... and {} more findings", hidden_));
    return std::move(out_);
  }

  void count_without_tokens() { ++out_.without_tokens; }

 private:
  Status check_width(const device::StepOutput& output, const frozen::ReferenceItem& item) const {
    if (output.logits.size() == item.logits.size()) return {};
    return Error(ErrorKind::kDevice, fmt::format("prompt '{}': the device returned {} logits; expected {}",
                                                 item.prompt.id, output.logits.size(), item.logits.size()));
  }

  void find(std::string text) {
    if (out_.findings.size() < kMaxFindings)
      out_.findings.push_back(std::move(text));
    else
      ++hidden_;
  }

  bool refuse_non_finite(std::span<const float> logits, const std::string& where) {
    const std::size_t bad = count_non_finite(logits);
    out_.non_finite += bad;
    if (bad > 0)
      find(fmt::format("{}: {} of {} logits are NaN or infinite; no token is read from them", where, bad,
                       logits.size()));
    return bad == 0;
  }

  void judge_prefill(std::span<const float> logits, const frozen::ReferenceItem& item, PromptResult& result) {
    const Closeness close = compare(logits, item.logits);
    result.max_abs = close.max_abs;
    result.max_abs_index = close.max_abs_index;
    result.nmse = close.nmse;
    result.cosine = close.cosine;
    result.top20_overlap = top_k_overlap(logits, item.logits, kTop);
    if (close.non_finite > 0 && item.greedy.empty()) {
      refuse_non_finite(logits, fmt::format("prompt '{}' prefill", result.id));
      return;
    }
    // The reference was checked for being finite and not constant, so an undefined NMSE cannot be a pass.
    if (!close.nmse || *close.nmse > limits_.nmse)
      find(fmt::format("prompt '{}' prefill: logits NMSE {}; allowed {} (max abs {:.3g} at id {})", result.id,
                       close.nmse ? fmt::format("{:.3g}", *close.nmse) : "undefined", limits_.nmse, close.max_abs,
                       close.max_abs_index));
  }

  bool judge_step(std::span<const float> logits, const frozen::ReferenceItem& item, std::size_t step,
                  PromptResult& result) {
    const std::string where = fmt::format("prompt '{}' step {}", result.id, step);
    if (!refuse_non_finite(logits, where)) return false;
    const frozen::GreedyStep& want = item.greedy[step];
    judge_top_logits(logits, want, where, result);
    ++result.steps;
    const std::int32_t got = top_k(logits, 1).front();
    if (got == want.token) {
      ++result.equal;
      return true;
    }
    Divergence divergence{result.id, step, want.token, got, want.margin, 0, 0, 0, want.margin <= limits_.margin};
    const auto stored = std::find(want.top_ids.begin(), want.top_ids.end(), want.token);
    if (stored != want.top_ids.end())
      divergence.expected_logit = want.top_logits[static_cast<std::size_t>(stored - want.top_ids.begin())];
    divergence.device_expected_logit = logits[static_cast<std::size_t>(want.token)];
    divergence.device_got_logit = logits[static_cast<std::size_t>(got)];
    ++(divergence.excused ? result.excused : result.different);
    if (!divergence.excused) find(describe(divergence));
    if (!out_.first || (out_.first->excused && !divergence.excused)) out_.first = divergence;
    if (out_.divergences.size() < kMaxDivergences) out_.divergences.push_back(std::move(divergence));
    return true;
  }

  void judge_top_logits(std::span<const float> logits, const frozen::GreedyStep& want, const std::string& where,
                        PromptResult& result) {
    if (want.top_ids.empty()) return;
    std::vector<float> got;
    got.reserve(want.top_ids.size());
    for (const std::int32_t id : want.top_ids) got.push_back(logits[static_cast<std::size_t>(id)]);
    const Closeness close = compare(got, want.top_logits);
    result.step_max_abs = std::max(result.step_max_abs, close.max_abs);
    if (!close.nmse) return;  // all stored logits are 0; max abs still counts in the figures
    result.step_nmse = std::max(result.step_nmse.value_or(0), *close.nmse);
    if (*close.nmse > limits_.nmse)
      find(fmt::format("{}: NMSE of the top {} logits {:.3g}; allowed {} (max abs {:.3g})", where, got.size(),
                       *close.nmse, limits_.nmse, close.max_abs));
  }

  void add(const PromptResult& result) {
    out_.steps += result.steps;
    out_.equal += result.equal;
    out_.excused += result.excused;
    out_.different += result.different;
    if (result.nmse && (!out_.nmse_max || *result.nmse > *out_.nmse_max)) {
      out_.nmse_max = result.nmse;
      out_.worst_prompt = result.id;
    }
    if (result.cosine) out_.cosine_min = std::min(out_.cosine_min.value_or(*result.cosine), *result.cosine);
    if (result.step_nmse) out_.step_nmse_max = std::max(out_.step_nmse_max.value_or(0), *result.step_nmse);
    out_.max_abs_max = std::max(out_.max_abs_max, result.max_abs);
    out_.step_max_abs_max = std::max(out_.step_max_abs_max, result.step_max_abs);
    out_.overlap_min = std::min(out_.overlap_min, result.top20_overlap);
    out_.prompts.push_back(result);
  }

  device::TokenModel& model_;
  const Limits& limits_;
  std::chrono::nanoseconds timeout_;
  Comparison out_;
  std::size_t hidden_ = 0;
};

}  // namespace

std::string describe(const Divergence& d) {
  return fmt::format(
      "prompt '{}' step {}: expected token {} (logit {:.6g}, margin {:.4g}), got {} (device: {:.6g} for {}, {:.6g} for "
      "{}){}",
      d.prompt, d.step, d.expected, d.expected_logit, d.margin, d.got, d.device_got_logit, d.got,
      d.device_expected_logit, d.expected, d.excused ? "; a near tie, excused" : "");
}

Result<Comparison> compare_model(device::TokenModel& model, const frozen::Reference& want, const Limits& limits,
                                 std::chrono::nanoseconds timeout) {
  const auto facts = model.facts();
  // Everything is checked before anything runs: an unusable prompt must not cost the minutes of those before it.
  for (const frozen::ReferenceItem& item : want.items) {
    if (item.ids.empty()) continue;
    CALKIT_CHECK_OK(check_length(item, facts));
    CALKIT_CHECK_OK(check_reference_item(item, facts));
  }
  Comparer comparer(model, limits, timeout);
  std::size_t compared = 0;
  for (const frozen::ReferenceItem& item : want.items) {
    if (interrupted()) return interrupted_error();
    if (item.ids.empty()) {
      comparer.count_without_tokens();
      continue;
    }
    CALKIT_CHECK_OK(comparer.prompt(item));
    ++compared;
    if (compared % 25 == 0) log::debug(fmt::format("runner: {} of {} prompts compared", compared, want.items.size()));
  }
  Comparison out = comparer.finish();
  if (compared == 0 || (out.steps == 0 && out.non_finite == 0))
    return Error(ErrorKind::kIncomplete,
                 fmt::format("nothing to compare: {} prompts with tokens, {} greedy steps", compared, out.steps),
                 "a baseline needs prompts with tokens and greedy steps");
  return out;
}

}  // namespace calkit::runner
