#include "parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace calkit::exec {

void parallel_for(int threads, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body) {
  const std::size_t wanted = std::max<std::size_t>(1, static_cast<std::size_t>(std::max(1, threads)));
  const std::size_t pieces = std::min(wanted, std::max<std::size_t>(1, count / std::max<std::size_t>(1, grain)));
  if (pieces <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  const std::size_t step = (count + pieces - 1) / pieces;
  std::vector<std::jthread> workers;
  workers.reserve(pieces - 1);
  for (std::size_t begin = step; begin < count; begin += step)
    workers.emplace_back([&body, begin, end = std::min(count, begin + step)] { body(begin, end); });
  body(0, std::min(count, step));
}

}  // namespace calkit::exec
