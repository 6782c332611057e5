#pragma once
/// What an execution may not do: crash, take too long, hold more memory than its input justifies. Any of them saves the
/// input, says how to replay it and ends the process.
#include <cstddef>
#include <cstdint>
#include <string>

namespace calkit::fuzz {

struct Bounds {
  std::uint64_t memory_base = 1 << 20;   ///< bytes that any input may have live on the heap
  std::uint64_t memory_per_byte = 512;   ///< and more for each of its own bytes
  std::uint64_t cpu_ns = 2'000'000'000;  ///< of one execution
};

struct Usage {
  std::uint64_t peak_bytes = 0;  ///< most heap that one execution held at a time; 0 if nothing counts it
  std::uint64_t peak_input = 0;  ///< size of that input
  std::uint64_t slowest_ns = 0;  ///< CPU time of the slowest execution
};

/// Once, before the first execution. Memory is not bounded until bound_memory(), so that what a first use builds for
/// good is not held against an input.
/// @param program how to call this program again; @param folder where a failing input goes
void install_guard(const std::string& program, const std::string& folder, const Bounds& bounds);
void bound_memory();
/// Runs the target on one input.
void execute(const std::uint8_t* data, std::size_t size);
const Usage& usage();
/// Whether a sanitizer counts the heap.
bool memory_is_bounded();

/// Code that no execution before had reached, since the last call; always 0 without -fsanitize-coverage=trace-pc.
std::uint64_t take_new_edges();
std::uint64_t all_edges();

}  // namespace calkit::fuzz
