#pragma once
// What fused operators cost in memory; private to the module.
#include "calkit/passes/fuse.h"

namespace calkit::passes {

/// Sums of the bytes of the values that sites name, over the symbols of the graphs. Unknown where a shape is.
Traffic traffic_of(const std::vector<fusion::Site>& sites, const onnx::Model& before, const onnx::Model& after);

/// What a kernel holds in the chiplet's SRAM while it works on one block, from the shapes of its operands; nullopt: the
/// operator only moves views. Blocks are assumed, the vendor has not stated any: 16 tokens, 64 columns of weights, 64
/// keys.
std::optional<std::uint64_t> sram_bytes(const std::string& kernel, const std::map<std::string, Shape>& operands,
                                        std::size_t element_bytes, std::int64_t top_k);

}  // namespace calkit::passes
