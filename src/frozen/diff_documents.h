#pragma once
/// Two JSON documents field by field (private to frozen).
#include <string>
#include <vector>

#include "calkit/frozen/difference.h"

namespace calkit::frozen {

/// Objects by key. Lists whose entries all have a name, path or id are matched by it; other lists of one length by
/// position; the rest is one change.
void diff_documents(const Value& a, const Value& b, const std::string& file, std::vector<FieldChange>& out);

}  // namespace calkit::frozen
