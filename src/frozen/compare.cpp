#include <fmt/format.h>

#include <algorithm>

#include "calkit/frozen/baseline.h"
#include "calkit/tensor/metrics.h"

namespace calkit::frozen {
namespace {

class Comparer {
 public:
  explicit Comparer(const CompareLimits& limits) : limits_(limits) {}

  void item(const ReferenceItem& got, const ReferenceItem& want) {
    ++report_.prompts;
    if (got.ids != want.ids) {
      ++report_.ids_different;
      fault(want, fmt::format("{} token ids, other than the {} of the reference", got.ids.size(), want.ids.size()));
      return;  // what follows from other ids says nothing
    }
    logits(got, want);
    greedy(got, want);
  }

  CompareReport finish() {
    const auto allowed = limits_.excused_share * static_cast<double>(report_.steps);
    if (static_cast<double>(report_.steps_excused) > allowed)
      report_.findings.push_back(fmt::format(
          "{} of {} greedy steps differ where the reference's margin is at most {:g}{}; allowed: a share of {:g}",
          report_.steps_excused, report_.steps, limits_.margin,
          report_.excused_by_router > 0 ? " or a router's explains it" : "", limits_.excused_share));
    return std::move(report_);
  }

 private:
  void fault(const ReferenceItem& want, const std::string& text) {
    report_.findings.push_back(fmt::format("prompt {}: {}", want.prompt.id, text));
  }

  void logits(const ReferenceItem& got, const ReferenceItem& want) {
    if (got.logits.size() != want.logits.size()) {
      fault(want, fmt::format("{} logits; wanted {}", got.logits.size(), want.logits.size()));
      return;
    }
    if (want.logits.empty()) return;
    const Closeness close = compare(got.logits, want.logits);
    if (close.non_finite > 0) {
      fault(want, fmt::format("{} of {} logits are NaN or infinite", close.non_finite, want.logits.size()));
      return;
    }
    report_.max_abs_max = std::max(report_.max_abs_max, close.max_abs);
    // Without a denominator only equality can pass.
    const double nmse = close.nmse ? *close.nmse : (close.max_abs == 0 ? 0.0 : 1.0);
    if (report_.worst_prompt.empty() || nmse > report_.nmse_max) report_.worst_prompt = want.prompt.id;
    report_.nmse_max = std::max(report_.nmse_max, nmse);
    if (nmse > limits_.nmse)
      fault(want,
            fmt::format("logits NMSE {:.3g} (max abs {:.3g}); allowed: {:.3g}", nmse, close.max_abs, limits_.nmse));
  }

  void greedy(const ReferenceItem& got, const ReferenceItem& want) {
    const std::size_t steps = std::min(got.greedy.size(), want.greedy.size());
    if (steps == 0 && !want.ids.empty())
      fault(want, got.greedy.empty() ? "no greedy steps" : "no greedy steps in the reference");
    for (std::size_t i = 0; i < steps; ++i) {
      ++report_.steps;
      const GreedyStep& reference = want.greedy[i];
      if (got.greedy[i].token == reference.token) {
        ++report_.steps_equal;
        continue;
      }
      const auto router = router_margin(got.greedy[i], reference);
      if (reference.margin <= limits_.margin) {
        ++report_.steps_excused;
      } else if (router && *router <= limits_.router_margin) {
        ++report_.steps_excused;
        ++report_.excused_by_router;
        report_.told.push_back(fmt::format(
            "prompt {}: greedy step {}: token {}; the reference has {} (margin {:.6g}): excused, a router's choice of "
            "experts is within {:.3g} of another there (limit {:.3g})",
            want.prompt.id, i, got.greedy[i].token, reference.token, reference.margin, *router, limits_.router_margin));
      } else {
        ++report_.steps_different;
        fault(want, fmt::format("greedy step {}: token {}; wanted {} (margin {:.6g})", i, got.greedy[i].token,
                                reference.token, reference.margin));
      }
      // From here on the two runs follow different texts.
      report_.steps_not_compared += steps - i - 1;
      return;
    }
  }

  const CompareLimits& limits_;
  CompareReport report_;
};

}  // namespace

std::optional<double> router_margin(const GreedyStep& a, const GreedyStep& b) {
  if (a.router_margin && b.router_margin) return std::min(*a.router_margin, *b.router_margin);
  return a.router_margin ? a.router_margin : b.router_margin;
}

Result<CompareReport> compare_references(const Reference& got, const Reference& want, const CompareLimits& limits) {
  if (got.dtype != want.dtype)
    return Error{ErrorKind::kInput,
                 fmt::format("references of dtype {} and {}; allowed: two of one dtype", got.dtype, want.dtype),
                 "freeze with the dtype of the reference"};
  std::map<std::string_view, const ReferenceItem*> ours;
  for (const ReferenceItem& item : got.items) ours.emplace(item.prompt.id, &item);
  Comparer comparer(limits);
  std::uint64_t shared = 0;
  for (const ReferenceItem& item : want.items) {
    const auto found = ours.find(item.prompt.id);
    if (found == ours.end()) continue;
    ++shared;
    comparer.item(*found->second, item);
  }
  if (shared == 0)
    return Error{ErrorKind::kInput,
                 fmt::format("no prompt id in common: {} prompts here, {} in the reference", got.items.size(),
                             want.items.size()),
                 "freeze the prompts of the reference: --prompts REFERENCE/prompts.jsonl"};
  return comparer.finish();
}

}  // namespace calkit::frozen
