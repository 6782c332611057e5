#include <algorithm>
#include <cmath>
#include <map>

#include "calkit/frozen/difference.h"
#include "calkit/tensor/metrics.h"

namespace calkit::frozen {
namespace {

using Verdict = PromptComparison::Verdict;

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value) - top);
  return top + std::log(sum);
}

double kl_divergence(std::span<const float> want, std::span<const float> got) {
  const double want_norm = log_sum_exp(want), got_norm = log_sum_exp(got);
  double out = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double log_p = static_cast<double>(want[i]) - want_norm, log_q = static_cast<double>(got[i]) - got_norm;
    out += std::exp(log_p) * (log_p - log_q);
  }
  return std::max(out, 0.0);  // rounding may leave a tiny negative sum
}

std::optional<std::size_t> first_difference(const std::vector<std::int32_t>& got,
                                            const std::vector<std::int32_t>& want) {
  if (got == want) return std::nullopt;
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(got.size(), want.size()));
  return static_cast<std::size_t>(std::mismatch(got.begin(), got.begin() + shorter, want.begin()).first - got.begin());
}

void compare_logits(const ReferenceItem& got, const ReferenceItem& want, PromptComparison& out) {
  if (want.logits.empty() || got.logits.size() != want.logits.size()) return;
  const Closeness close = compare(got.logits, want.logits);
  out.nmse = close.nmse;
  out.cosine = close.cosine;
  out.max_abs = close.max_abs;
  out.max_abs_index = close.max_abs_index;
  if (close.non_finite == 0) out.kl = kl_divergence(want.logits, got.logits);
  out.top_1 = top_k_overlap(got.logits, want.logits, 1);
  out.top_5 = top_k_overlap(got.logits, want.logits, 5);
  out.top_20 = top_k_overlap(got.logits, want.logits, kTopLogits);
}

void compare_steps(const ReferenceItem& got, const ReferenceItem& want, PromptComparison& out) {
  const std::size_t steps = std::min(got.greedy.size(), want.greedy.size());
  for (std::size_t i = 0; i < steps; ++i) {
    const GreedyStep &ours = got.greedy[i], &theirs = want.greedy[i];
    if (ours.token == theirs.token) {
      ++out.steps_equal;
      continue;
    }
    out.divergent_step = i;
    out.got_token = ours.token;
    out.want_token = theirs.token;
    out.margin = theirs.margin;
    out.got_margin = ours.margin;
    out.router_margin = router_margin(ours, theirs);
    return;
  }
}

Verdict judge(const ReferenceItem& got, const ReferenceItem& want, PromptComparison& out, const CompareLimits& limits) {
  if (out.first_id || got.logits.size() != want.logits.size()) return Verdict::kDifferent;
  if (want.logits.empty()) return Verdict::kSame;
  if (!want.ids.empty() && (got.greedy.empty() || want.greedy.empty())) return Verdict::kDifferent;
  const bool finite = out.kl.has_value();
  const double nmse = out.nmse ? *out.nmse : (*out.max_abs == 0 ? 0.0 : 1.0);
  if (!finite || nmse > limits.nmse) return Verdict::kDifferent;
  if (out.divergent_step) {
    out.by_router = out.margin > limits.margin && out.router_margin && *out.router_margin <= limits.router_margin;
    return out.margin <= limits.margin || out.by_router ? Verdict::kExcused : Verdict::kDifferent;
  }
  return *out.max_abs == 0 && got.greedy.size() == want.greedy.size() ? Verdict::kSame : Verdict::kWithin;
}

Value row_value(const PromptComparison& row) {
  Value out = Value::object({{"id", row.id},
                             {"tokens", row.tokens},
                             {"verdict", verdict_name(row.verdict)},
                             {"first_id_different", Value()},
                             {"nmse", row.nmse},
                             {"max_abs", row.max_abs},
                             {"max_abs_index", Value()},
                             {"cosine", row.cosine},
                             {"kl", row.kl},
                             {"top_1_overlap", row.top_1},
                             {"top_5_overlap", row.top_5},
                             {"top_20_overlap", row.top_20},
                             {"steps_equal", static_cast<std::uint64_t>(row.steps_equal)},
                             {"divergence", Value()}});
  if (row.first_id) out.set("first_id_different", static_cast<std::uint64_t>(*row.first_id));
  if (row.max_abs) out.set("max_abs_index", static_cast<std::uint64_t>(row.max_abs_index));
  if (row.divergent_step)
    out.set("divergence", Value::object({{"step", static_cast<std::uint64_t>(*row.divergent_step)},
                                         {"token", row.got_token},
                                         {"reference_token", row.want_token},
                                         {"margin", row.got_margin},
                                         {"reference_margin", row.margin},
                                         {"explained_by_margin", row.verdict == Verdict::kExcused && !row.by_router},
                                         {"router_margin", row.router_margin},
                                         {"explained_by_router", row.by_router}}));
  return out;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kWithin:
      return "within limits";
    case Verdict::kExcused:
      return "excused";
    case Verdict::kDifferent:
      break;
  }
  return "different";
}

Result<ReferenceComparison> compare_in_detail(const Reference& got, const Reference& want,
                                              const CompareLimits& limits) {
  ReferenceComparison out;
  CALKIT_TRY(out.totals, compare_references(got, want, limits));
  std::map<std::string_view, const ReferenceItem*> ours;
  for (const ReferenceItem& item : got.items) ours.emplace(item.prompt.id, &item);
  for (const ReferenceItem& item : want.items) {
    const auto found = ours.find(item.prompt.id);
    if (found == ours.end()) {
      out.only_want.push_back(item.prompt.id);
      continue;
    }
    PromptComparison row;
    row.id = item.prompt.id;
    row.tokens = item.ids.size();
    row.first_id = first_difference(found->second->ids, item.ids);
    if (!row.first_id) {
      compare_logits(*found->second, item, row);
      compare_steps(*found->second, item, row);
    }
    row.verdict = judge(*found->second, item, row, limits);
    out.prompts.push_back(std::move(row));
    ours.erase(found);
  }
  for (const ReferenceItem& item : got.items)
    if (ours.contains(item.prompt.id)) out.only_got.push_back(item.prompt.id);
  return out;
}

Value to_value(const ReferenceComparison& comparison, const CompareLimits& limits) {
  const CompareReport& totals = comparison.totals;
  Value prompts(Value::Array{});
  for (const PromptComparison& row : comparison.prompts) prompts.push(row_value(row));
  return Value::object({{"schema", "calkit.baseline-compare/1"},
                        {"limits", Value::object({{"nmse", limits.nmse},
                                                  {"margin", limits.margin},
                                                  {"router_margin", limits.router_margin},
                                                  {"excused_share", limits.excused_share}})},
                        {"totals", Value::object({{"prompts", totals.prompts},
                                                  {"ids_different", totals.ids_different},
                                                  {"nmse_max", totals.nmse_max},
                                                  {"max_abs_max", totals.max_abs_max},
                                                  {"steps", totals.steps},
                                                  {"steps_equal", totals.steps_equal},
                                                  {"steps_excused", totals.steps_excused},
                                                  {"steps_excused_by_router", totals.excused_by_router},
                                                  {"steps_different", totals.steps_different},
                                                  {"steps_not_compared", totals.steps_not_compared}})},
                        {"prompts", std::move(prompts)},
                        {"only_a", Value::list(comparison.only_got)},
                        {"only_b", Value::list(comparison.only_want)},
                        {"findings", Value::list(totals.findings)}});
}

}  // namespace calkit::frozen
