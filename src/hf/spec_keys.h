#pragma once
/// Keys of config.json that decide alone: structures that calkit does not run, and keys it does not know (private to
/// hf).
#include "calkit/hf/spec.h"

namespace calkit::hf {

/// Refuses a structure that calkit does not run, before model_type is looked at: it is the deeper reason.
Status refuse_structures(const Cursor& config);
/// Refuses experts, for a family that has none.
Status refuse_experts(const Cursor& config);
/// Refuses every key that is not known to calkit, and notes those that are there but not followed.
Status check_keys(const Cursor& config, ModelSpec& spec);

}  // namespace calkit::hf
