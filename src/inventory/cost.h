#pragma once
// What one node computes and moves; private to the module.
#include "calkit/inventory/inventory.h"
#include "fact.h"

namespace calkit::inventory {

/// @param outputs what is known of the node's outputs, in their order
Cost cost_of(const Call& call, const Operator& op, std::span<const Fact* const> outputs);
/// Elements times bytes; unknown without a shape or for a type without a fixed size.
Formula bytes_of(onnx::ElementType type, const std::optional<Dims>& dims);
Formula elements_of(const std::optional<Dims>& dims);

}  // namespace calkit::inventory
