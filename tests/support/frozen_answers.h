#pragma once
// What a baseline holds beside the answers, for tests that make one from a peer's goldens.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "calkit/frozen/writer.h"

namespace calkit::testing_support {

using Probes = std::vector<std::pair<std::string, Tensor>>;

/// Probes of the shapes that a freeze writes, all zero, for the first prompt with tokens.
inline Probes zero_probes(const frozen::Reference& reference, const hf::ModelSpec& spec) {
  Probes out;
  const auto item = std::find_if(reference.items.begin(), reference.items.end(),
                                 [](const frozen::ReferenceItem& one) { return !one.ids.empty(); });
  if (item == reference.items.end()) return out;
  const std::vector<std::int64_t> ids(item->ids.begin(), item->ids.end());
  const auto tokens = static_cast<std::int64_t>(ids.size());
  const std::vector<float> zeros(static_cast<std::size_t>(tokens * spec.hidden));
  out.emplace_back("token_ids", Tensor::of({tokens}, ids));
  for (const std::string& name : frozen::probe_names(spec))
    out.emplace_back(name, Tensor::of({tokens, spec.hidden}, zeros));
  return out;
}

/// noise.json of a freeze that measured none.
inline Value no_noise(const frozen::Reference& reference) {
  return Value::object({{"schema", "calkit.noise/1"},
                        {"dtype", reference.dtype},
                        {"what", "logits"},
                        {"runs", Value()},
                        {"null_reason", "not asked for"}});
}

}  // namespace calkit::testing_support
