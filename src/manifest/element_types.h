#pragma once
// Lists of words in documents, and ONNX's element types among them; private to the module.
#include <string>
#include <vector>

#include "calkit/base/document.h"

namespace calkit::manifest {

/// kInput for an empty list.
Result<std::vector<std::string>> words(const Cursor& at, std::string_view key);
/// The member `types`; empty where it is absent. kInput names a type that ONNX does not have.
Result<std::vector<std::string>> types_of(const Cursor& at);

}  // namespace calkit::manifest
