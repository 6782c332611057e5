#pragma once
/// Splits independent rows over threads. The split never changes what one row computes.
#include <cstddef>
#include <functional>

namespace calkit::exec {

/// Calls body(begin, end) for pieces of [0, count). Threads are only used where each gets at least `grain` rows; they
/// stay, and are one caller's at a time: a second caller, and a body that calls it again, does all of it alone.
void parallel_for(int threads, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body);

}  // namespace calkit::exec
