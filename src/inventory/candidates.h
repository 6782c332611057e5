#pragma once
// What fused kernels could take together, counted by simple patterns on the main graph; private to the module.
#include "calkit/inventory/inventory.h"

namespace calkit::inventory {

std::vector<Candidate> find_candidates(const onnx::Graph& graph);

}  // namespace calkit::inventory
