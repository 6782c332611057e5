// A table: rows are as wide as the header, lines grow, and what the cells hold is no more than the text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/base/csv.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = calkit::parse_csv(text, "fuzz.csv");
  if (!table.ok()) return 0;
  must(!table->header.empty());
  std::uint32_t line = 0;
  std::size_t bytes = 0;
  for (const auto& row : table->rows) {
    must(row.cells.size() == table->header.size() && row.line > line);
    line = row.line;
    for (const auto& cell : row.cells) bytes += cell.size();
  }
  must(bytes <= size);
  return 0;
}
