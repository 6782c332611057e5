#pragma once
// Graphs in folders; private to the module.
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/onnx/model.h"

namespace calkit::passes {

constexpr const char* kContract = "contract.json";

/// One file, or prefill.onnx and decode.onnx of an export's folder.
Result<std::vector<std::filesystem::path>> graphs_of(const std::filesystem::path& source);

/// kInput if `out` has anything in it but what the command wrote before, which its `record` tells.
Status check_target(const std::filesystem::path& out, const char* record);

struct GraphFile {
  std::string name;  ///< without .onnx
  const onnx::Model* model = nullptr;
};
/// Writes the graphs into a folder; tensors that both have from one place are in weights.bin once. Each has passed
/// ONNX's full check. Tensors without data stay references to a weights.bin that is not there.
Status write_pair(const std::vector<GraphFile>& graphs, const std::filesystem::path& folder);

}  // namespace calkit::passes
