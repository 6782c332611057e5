#include "router_margins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace calkit::baseline {
namespace {

std::vector<std::string> router_names(const hf::ModelSpec& spec) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < spec.experts->sparse_layers.size(); ++i)
    if (spec.experts->sparse_layers[i]) out.push_back(fmt::format("layer.{}.router_logits", i));
  return out;
}

// From the last expert that is chosen to the first that is not, as a share of the larger one; 1 where all are chosen.
double margin_of(std::vector<float> row, std::size_t chosen) {
  if (chosen >= row.size()) return 1;
  std::nth_element(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(chosen), row.end(), std::greater<>());
  const double out = row[chosen];
  const double in = *std::min_element(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(chosen));
  const double scale = std::max(std::abs(in), std::abs(out));
  return scale == 0 ? 0 : (in - out) / scale;
}

}  // namespace

Status add_router_margins(exec::LanguageModel& model, const hf::ModelSpec& spec, frozen::ReferenceItem& item) {
  std::vector<std::int32_t> tokens = item.ids;
  for (std::size_t i = 0; i + 1 < item.greedy.size(); ++i) tokens.push_back(item.greedy[i].token);
  const auto names = router_names(spec);
  CALKIT_TRY(const auto step, model.prefill(tokens, names), "looking at the routers of prompt " + item.prompt.id);
  const auto chosen = static_cast<std::size_t>(spec.experts->per_token);
  for (std::size_t i = 0; i < item.greedy.size(); ++i) item.greedy[i].router_margin = 1;
  for (const Tensor& probe : step.probes) {
    CALKIT_TRY(const auto logits, to_floats(probe));  // [tokens, experts]
    const std::size_t experts = logits.size() / tokens.size();
    for (std::size_t i = 0; i < item.greedy.size(); ++i) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>((item.ids.size() - 1 + i) * experts);
      double& margin = *item.greedy[i].router_margin;
      margin = std::min(margin, margin_of({row, row + static_cast<std::ptrdiff_t>(experts)}, chosen));
    }
  }
  return {};
}

}  // namespace calkit::baseline
