#pragma once
// Operators outside ai.onnx; private to the module.
#include <filesystem>
#include <vector>

#include "calkit/manifest/custom_operators.h"
#include "calkit/passes/normalize.h"

namespace calkit::passes {

/// Lists the model's custom operators. Those that it has no function for get the one of their description, so that the
/// model runs. kInput names all that nobody described, those described without a body, and a node that is not as its
/// description says.
Result<std::vector<CustomUse>> admit_custom_operators(onnx::Model& model, const std::filesystem::path& file,
                                                      const std::vector<manifest::CustomOperators>& documents);

}  // namespace calkit::passes
