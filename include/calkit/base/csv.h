#pragma once
/// A table of comma-separated values as RFC 4180 has it, with a header line.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"

namespace calkit {

struct CsvTable {
  std::vector<std::string> header;  ///< no two alike
  struct Row {
    std::vector<std::string> cells;  ///< as many as the header has
    std::uint32_t line = 0;          ///< 1-based, where the row begins
  };
  std::vector<Row> rows;

  std::optional<std::size_t> column(std::string_view name) const;
};

/// LF or CRLF ends a row; a quoted cell may hold commas, quotes ("" for one) and line ends. kInput names the line: no
/// header, a column without a name or named twice, a row of another width, a quote inside a bare cell, one that never
/// ends, text that is no UTF-8.
Result<CsvTable> parse_csv(std::string_view text, std::string_view file);

}  // namespace calkit
