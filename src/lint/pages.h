#pragma once
/// docs/rules/CBnnnn.md, compiled in by pages.cmake.
#include <span>
#include <string_view>

namespace calkit::lint {

struct Page {
  std::string_view id, text;
};
std::span<const Page> pages();

}  // namespace calkit::lint
