#include "calkit/base/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/text.h"

namespace calkit {
namespace {

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  bool done() const { return at_ == text_.size(); }

  Result<CsvTable::Row> row() {
    CsvTable::Row out;
    out.line = line_;
    do {
      CALKIT_TRY(std::string cell, peek() == '"' ? quoted() : bare());
      out.cells.push_back(std::move(cell));
    } while (take(','));
    take('\r');
    if (!done() && !take('\n')) return error("text behind a closing quote", "a comma or the end of the line");
    ++line_;
    return out;
  }

  Error error(const std::string& found, const std::string& allowed) const {
    return input_error(std::string(file_), fmt::format("line {}", line_), found, allowed);
  }

 private:
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<std::string> bare() {
    const std::size_t end = std::min(text_.find_first_of(",\n\"", at_), text_.size());
    std::string cell(text_.substr(at_, end - at_));
    at_ = end;
    if (peek() == '"') return error("a quote inside a bare cell", "quotes around the whole cell");
    if (peek() != ',' && cell.ends_with('\r')) cell.pop_back();
    return cell;
  }

  Result<std::string> quoted() {
    std::string cell;
    std::uint32_t lines = 0;
    for (++at_;;) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) return error("a quoted cell without its end", "a closing quote");
      const std::string_view part = text_.substr(at_, quote - at_);
      lines += static_cast<std::uint32_t>(std::count(part.begin(), part.end(), '\n'));
      cell += part;
      at_ = quote + 1;
      if (!take('"')) break;
      cell += '"';
    }
    line_ += lines;
    return cell;
  }

  std::string_view text_, file_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

Status check_header(const CsvTable::Row& header, std::string_view file) {
  const auto error = [&](const std::string& found, const std::string& allowed) {
    return input_error(std::string(file), fmt::format("line {}", header.line), found, allowed);
  };
  std::vector<std::string> sorted = header.cells;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front().empty()) return error("a column without a name", "a name for every column");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return error(fmt::format("the column '{}' twice", printable(*twice)), "each column once");
  return {};
}

}  // namespace

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Reader reader(text, file);
  if (const std::size_t bad = invalid_utf8_at(text); bad != std::string_view::npos)
    return input_error(std::string(file), fmt::format("byte {}", bad), "no UTF-8", "a table in UTF-8");
  if (reader.done()) return reader.error("an empty file", "a header line");
  CsvTable table;
  CALKIT_TRY(auto header, reader.row());
  CALKIT_CHECK_OK(check_header(header, file));
  table.header = std::move(header.cells);
  while (!reader.done()) {
    CALKIT_TRY(auto row, reader.row());
    if (row.cells.size() != table.header.size()) {
      if (row.cells.size() == 1 && row.cells.front().empty()) continue;  // an empty line
      return input_error(std::string(file), fmt::format("line {}", row.line), fmt::format("{} cells", row.cells.size()),
                         fmt::format("{}, as the header has", table.header.size()));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace calkit
