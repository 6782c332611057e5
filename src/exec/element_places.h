#pragma once
/// Index tensors of GatherElements and ScatterElements.
#include <vector>

#include "call.h"

namespace calkit::exec {

/// For each index: the element of `data` at the index's own place, but for `axis`, where the index says.
Result<std::vector<std::size_t>> element_places(const Call& call, const Tensor& data, const Tensor& indices,
                                                const std::vector<std::int64_t>& wanted, std::size_t axis);

}  // namespace calkit::exec
