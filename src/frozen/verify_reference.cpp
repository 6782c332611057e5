#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "calkit/frozen/writer.h"
#include "calkit/tensor/dtype.h"
#include "calkit/tensor/metrics.h"
#include "layout.h"
#include "verify.h"

namespace calkit::frozen {
namespace {

// Margins are written as the shortest decimal of a float; both logits carry half a unit in the last place.
constexpr double kMarginTolerance = 1e-6;

class ItemChecker {
 public:
  ItemChecker(const ReferenceItem& item, const ModelSource& source, bool routed, std::vector<std::string>& findings)
      : item_(item), vocab_(source.spec.vocab), routed_(routed), findings_(findings) {}

  // BF16 is stored widened: a float that is none says that the numbers were rounded or made elsewhere.
  void bf16() {
    const auto wide = [](float v) { return std::isfinite(v) && round_bf16(v) != v; };
    const auto bad = std::count_if(item_.logits.begin(), item_.logits.end(), wide);
    if (bad > 0) fault("logits", fmt::format("{} values that no bf16 number has", bad), "bf16, widened exactly");
  }

  void ids(const hf::Tokenizer& tokenizer) {
    for (const std::int32_t id : item_.ids)
      if (id >= vocab_)
        return fault(kTokenIds, fmt::format("token id {}", id), fmt::format("ids below vocab_size {}", vocab_));
    const auto again = tokenizer.encode(item_.prompt.text, item_.prompt.add_special_tokens);
    if (!again.ok()) return fault(kPrompts, again.error().message, "a text that the frozen tokenizer encodes");
    if (*again == item_.ids) return;
    const auto [ours, theirs] = std::mismatch(again->begin(), again->end(), item_.ids.begin(), item_.ids.end());
    fault(kTokenIds, fmt::format("{} ids that differ from position {} on", item_.ids.size(), ours - again->begin()),
          fmt::format("the {} ids that the frozen tokenizer gives", again->size()));
  }

  void logits() {
    const std::size_t want = item_.ids.empty() ? 0 : static_cast<std::size_t>(vocab_);
    if (item_.logits.size() != want)
      return fault("logits", fmt::format("{} values", item_.logits.size()), fmt::format("{} (vocab_size)", want));
    const auto bad = std::count_if(item_.logits.begin(), item_.logits.end(), [](float v) { return !std::isfinite(v); });
    if (bad > 0) fault("logits", fmt::format("{} NaN or infinite values", bad), "finite numbers");
  }

  void greedy() {
    if (item_.ids.empty()) {
      if (!item_.greedy.empty()) fault(kGreedy, "steps for a prompt without tokens", "none");
      return;
    }
    if (item_.greedy.empty()) return fault(kGreedy, "no steps", "at least one");
    for (std::size_t i = 0; i < item_.greedy.size(); ++i) {
      step(i, item_.greedy[i]);
      if (item_.greedy[i].router_margin.has_value() != routed_)
        fault(kGreedy, fmt::format("step {}: {} router_margin", i, routed_ ? "no" : "a"),
              routed_ ? "one, as in every bf16 run of a model with experts" : "none");
    }
    first_step(item_.greedy.front());
  }

 private:
  void fault(std::string_view file, std::string_view found, std::string_view wanted) {
    findings_.push_back(fmt::format("{}: prompt {}: found {}; wanted {}", file, item_.prompt.id, found, wanted));
  }

  void step(std::size_t i, const GreedyStep& step) {
    const auto at = [&](std::string_view what) { return fmt::format("step {}: {}", i, what); };
    const std::size_t top = std::min(kTopLogits, static_cast<std::size_t>(vocab_));
    if (step.top_ids.size() != top)
      return fault(kGreedy, at(fmt::format("{} top ids", step.top_ids.size())), fmt::format("{}", top));
    if (step.token != step.top_ids[0])
      fault(kGreedy, at(fmt::format("token {}", step.token)), fmt::format("the largest logit's, {}", step.top_ids[0]));
    for (std::size_t k = 0; k < top; ++k) {
      if (step.top_ids[k] >= vocab_ || !std::isfinite(step.top_logits[k]))
        return fault(kGreedy, at(fmt::format("id {} with logit {}", step.top_ids[k], step.top_logits[k])),
                     fmt::format("ids below {} and finite logits", vocab_));
      const bool ordered = k == 0 || step.top_logits[k - 1] > step.top_logits[k] ||
                           (step.top_logits[k - 1] == step.top_logits[k] && step.top_ids[k - 1] < step.top_ids[k]);
      if (!ordered)
        return fault(kGreedy, at(fmt::format("top logit {} out of order", k)),
                     "largest first, equal ones by smaller id");
    }
    const std::set<std::int32_t> distinct(step.top_ids.begin(), step.top_ids.end());
    if (distinct.size() != top) return fault(kGreedy, at("an id twice among the top ids"), "each id once");
    const double margin = static_cast<double>(step.top_logits[0]) - static_cast<double>(step.top_logits[1]);
    const double room = kMarginTolerance * std::max(1.0, std::abs(static_cast<double>(step.top_logits[0])));
    if (!(std::abs(step.margin - margin) <= room))
      fault(kGreedy, at(fmt::format("margin {}", step.margin)), fmt::format("top-1 minus top-2, {}", margin));
  }

  // Step 0 is the prefill's last position, whose logits are stored whole.
  void first_step(const GreedyStep& step) {
    if (item_.logits.size() != static_cast<std::size_t>(vocab_)) return;
    const auto best = top_k(item_.logits, step.top_ids.size());
    if (best != step.top_ids)
      return fault(kGreedy, fmt::format("step 0: token {}", step.token), "the arg-max and order of the stored logits");
    for (std::size_t k = 0; k < best.size(); ++k) {
      const float stored = item_.logits[static_cast<std::size_t>(best[k])];
      if (stored != step.top_logits[k])
        return fault(kGreedy, fmt::format("step 0: logit {} of id {}", step.top_logits[k], best[k]),
                     fmt::format("{}, as stored", stored));
    }
  }

  const ReferenceItem& item_;
  std::int64_t vocab_;
  bool routed_;  // a run of a model with experts whose steps have router margins
  std::vector<std::string>& findings_;
};

}  // namespace

bool records_router(const hf::ModelSpec& spec, std::string_view dtype) {
  return dtype == "bf16" && spec.experts &&
         std::find(spec.experts->sparse_layers.begin(), spec.experts->sparse_layers.end(), true) !=
             spec.experts->sparse_layers.end();
}

void verify_items(const Reference& reference, const ModelSource& source, const hf::Tokenizer& tokenizer,
                  std::vector<std::string>& findings) {
  std::size_t steps = 0;
  for (const ReferenceItem& item : reference.items) {
    if (steps == 0) steps = item.greedy.size();
    if (!item.greedy.empty() && item.greedy.size() != steps)
      findings.push_back(fmt::format("{}: prompt {}: found {} steps; wanted {}, as the prompts before it have", kGreedy,
                                     item.prompt.id, item.greedy.size(), steps));
    ItemChecker check(item, source, records_router(source.spec, reference.dtype), findings);
    check.ids(tokenizer);
    check.logits();
    if (reference.dtype == "bf16") check.bf16();
    check.greedy();
  }
}

}  // namespace calkit::frozen
