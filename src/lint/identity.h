#pragma once
/// What a finding is about, told by names instead of places, so that it can be recognised in the next run.
#include "facts.h"

namespace calkit::lint {

/// Fills symbol, submodel and fingerprint of sorted findings.
/// The fingerprint is SHA-256 over rule, file, symbol and the value found there; twins get a number in their order.
void identify(const Facts& facts, std::vector<Finding>& findings);

}  // namespace calkit::lint
