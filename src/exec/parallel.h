#pragma once
/// Splits independent rows over threads. The split never changes what one row computes.
#include <cstddef>
#include <functional>

namespace calkit::exec {

/// Calls body(begin, end) for pieces of [0, count). Threads are only started where each gets at least `grain` rows.
void parallel_for(int threads, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body);

}  // namespace calkit::exec
