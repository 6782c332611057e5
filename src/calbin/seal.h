#pragma once
/// The text that a seal is taken over.
#include <string>

#include "calkit/base/value.h"

namespace calkit::calbin {

/// RFC 8785 (JSON Canonicalization Scheme), except that integers keep all their digits.
std::string canonical_json(const Value& value);

}  // namespace calkit::calbin
