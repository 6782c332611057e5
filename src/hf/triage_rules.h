#pragma once
/// The rules of stage 0 over the facts of a model (private to hf).
#include "calkit/hf/triage.h"
#include "triage_facts.h"

namespace calkit::hf {

/// Structure: what the network is made of.
std::vector<TriageRule> structure_rules(const Facts& facts);
/// Size, context and capacity. Fills kv_bytes of the report.
std::vector<TriageRule> capacity_rules(const Facts& facts, const manifest::ProductTargets& targets,
                                       const manifest::DeviceProfile& device, TriageReport& report);

}  // namespace calkit::hf
