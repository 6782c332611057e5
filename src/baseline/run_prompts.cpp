#include "run_prompts.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/process.h"
#include "calkit/frozen/writer.h"

namespace calkit::baseline {
namespace {

// One row past the 16-token tile that devices like to use.
constexpr std::size_t kProbeTokens = 17;

}  // namespace

Status run_items(exec::LanguageModel& model, int greedy_steps, std::span<frozen::ReferenceItem* const> items) {
  std::vector<exec::LanguageModel::Sequence> sequences;
  std::vector<std::vector<float>> logits;
  for (frozen::ReferenceItem* item : items) {
    if (interrupted()) return interrupted_error();
    CALKIT_TRY(auto started, model.start(item->ids), "running prompt " + item->prompt.id);
    item->logits = started.step.logits;
    logits.push_back(std::move(started.step.logits));
    sequences.push_back(std::move(started.sequence));
  }
  CALKIT_CHECK_OK(model.go_on(std::move(sequences), greedy_steps));
  for (int i = 0; i < greedy_steps; ++i) {
    if (interrupted()) return interrupted_error();
    std::vector<std::int32_t> tokens;
    for (std::size_t row = 0; row < items.size(); ++row) {
      CALKIT_TRY(auto greedy, frozen::greedy_step(logits[row]),
                 fmt::format("prompt {}, greedy step {}", items[row]->prompt.id, i));
      tokens.push_back(greedy.token);
      items[row]->greedy.push_back(std::move(greedy));
    }
    if (i + 1 == greedy_steps) break;
    CALKIT_TRY(logits, model.decode_all(tokens));
  }
  return {};
}

Status run_item(exec::LanguageModel& model, int greedy_steps, frozen::ReferenceItem& item) {
  frozen::ReferenceItem* const one[] = {&item};
  return run_items(model, greedy_steps, one);
}

std::vector<std::vector<std::size_t>> group_items(const frozen::Reference& reference,
                                                  std::vector<std::size_t> positions, int greedy_steps,
                                                  const GroupLimits& limits) {
  const auto tokens = [&](std::size_t position) { return reference.items[position].ids.size(); };
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::size_t a, std::size_t b) { return tokens(a) < tokens(b); });
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t position : positions) {
    // The longest of a group is its last.
    const std::uint64_t each = (tokens(position) + static_cast<std::size_t>(greedy_steps)) * limits.bytes_per_token;
    const bool fits =
        !groups.empty() && groups.back().size() < limits.items && each <= limits.bytes / (groups.back().size() + 1);
    if (!fits) groups.emplace_back();
    groups.back().push_back(position);
  }
  return groups;
}

std::size_t probe_position(const frozen::Reference& reference) {
  std::size_t best = reference.items.size(), chosen = 0;
  for (std::size_t i = 0; i < reference.items.size(); ++i) {
    const std::size_t n = reference.items[i].ids.size();
    const bool better = chosen < kProbeTokens ? n > chosen : n >= kProbeTokens && n < chosen;
    if (!better) continue;
    best = i;
    chosen = n;
  }
  return best;
}

Result<NamedTensors> run_probes(exec::LanguageModel& model, const hf::ModelSpec& spec,
                                const frozen::Reference& reference) {
  NamedTensors out;
  const std::size_t position = probe_position(reference);
  if (position == reference.items.size()) return out;
  const frozen::ReferenceItem* item = &reference.items[position];
  const std::vector<std::string> names = frozen::probe_names(spec);
  CALKIT_TRY(auto step, model.prefill(item->ids, names), "probing prompt " + item->prompt.id);
  const std::vector<std::int64_t> ids(item->ids.begin(), item->ids.end());
  const auto count = static_cast<std::int64_t>(ids.size());
  out.emplace_back("token_ids", Tensor::of({count}, ids));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Tensor& probe = step.probes[i];  // [1, S, H]
    out.emplace_back(names[i], probe.reshaped({probe.dim(1), probe.dim(2)}));
  }
  return out;
}

}  // namespace calkit::baseline
