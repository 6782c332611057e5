#pragma once
// Finds the stretch of nodes that a model repeats; private to the module.
#include <cstdint>
#include <vector>

namespace calkit::inventory {

struct Stretch {
  std::size_t first = 0, length = 0, repeats = 0;
};
/// The stretch whose repetitions in a row cover most of `kinds`. Without any: the whole, cut to what can be drawn.
Stretch find_stretch(const std::vector<std::uint32_t>& kinds);

}  // namespace calkit::inventory
