#pragma once
// Delta debugging; private to the module.
#include <functional>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::passes {

/// A small part of 0 .. count - 1 for which `holds`, where it holds for all of them: nothing of it can be left out
/// alone. Large pieces are tried first, from the back. About 2 log2(count) calls where one item matters.
Result<std::vector<std::size_t>> minimise(std::size_t count,
                                          const std::function<Result<bool>(const std::vector<std::size_t>&)>& holds);

}  // namespace calkit::passes
