#pragma once
/// Lists in sha256sum's format: "<64 hex>  <relative path>\n", sorted by path (private to frozen).
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::frozen {

struct SumLine {
  std::string sha256, path;
};
std::string sums_text(const std::vector<SumLine>& lines);

struct Sums {
  std::vector<SumLine> lines;
  std::vector<std::string> faults;  ///< of the list itself: one sentence each
};
/// Reads a list; CR LF line ends are a fault, the lines are read all the same. @param name for the faults.
Sums parse_sums(std::string_view text, std::string_view name);

}  // namespace calkit::frozen
