#include "exec/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace calkit::exec {
namespace {

std::vector<int> visits(int threads, std::size_t count, std::size_t grain) {
  std::vector<std::atomic<int>> seen(count);
  parallel_for(threads, count, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++seen[i];
  });
  return {seen.begin(), seen.end()};
}

TEST(ParallelFor, VisitsEachRowOnce) {
  for (const int threads : {1, 2, 3, 7})
    for (const std::size_t count : {0u, 1u, 2u, 5u, 100u})
      for (const std::size_t grain : {0u, 1u, 3u, 1000u})
        EXPECT_EQ(visits(threads, count, grain), std::vector<int>(count, 1)) << threads << " " << count << " " << grain;
}

TEST(ParallelFor, ABodyMayCallItAgain) {
  std::atomic<int> inner = 0;
  parallel_for(2, 2, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      parallel_for(2, 10, 1, [&](std::size_t from, std::size_t to) { inner += static_cast<int>(to - from); });
  });
  EXPECT_EQ(inner, 20);
}

TEST(ParallelFor, SeveralCallersAtOnceEachGetTheirRows) {
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([] {
      for (int round = 0; round < 500; ++round) ASSERT_EQ(visits(2, 9, 1), std::vector<int>(9, 1));
    });
}

}  // namespace
}  // namespace calkit::exec
