#include "sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/text.h"
#include "calkit/frozen/writer.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::size_t kPathAt = kDigits + 2;

bool is_digest(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), hex);
}

// Why a line cannot be used, or empty.
std::string line_fault(std::string_view line) {
  if (line.size() <= kPathAt || !is_digest(line.substr(0, kDigits)) || line.substr(kDigits, 2) != "  ")
    return "found something else than 64 hexadecimal digits, two spaces and a path";
  return unsafe_path_reason(line.substr(kPathAt));
}

}  // namespace

std::string sums_text(const std::vector<SumLine>& lines) {
  std::string out;
  for (const SumLine& line : lines) out += fmt::format("{}  {}\n", line.sha256, line.path);
  return out;
}

Sums parse_sums(std::string_view text, std::string_view name) {
  Sums out;
  if (text.find('\r') != std::string_view::npos)
    out.faults.push_back(fmt::format("{}: found CR LF line ends; wanted LF", name));
  if (!text.empty() && text.back() != '\n')
    out.faults.push_back(fmt::format("{}: the last line does not end; wanted LF", name));
  std::size_t number = 0;
  for (std::string line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() && number > 1) continue;
    if (const auto fault = line_fault(line); !fault.empty()) {
      out.faults.push_back(fmt::format("{}:{}: {}", name, number, fault));
      continue;
    }
    SumLine entry{line.substr(0, kDigits), line.substr(kPathAt)};
    if (!out.lines.empty() && entry.path <= out.lines.back().path)
      out.faults.push_back(fmt::format("{}:{}: found {} behind {}; wanted each path once, sorted by bytes", name,
                                       number, entry.path, out.lines.back().path));
    out.lines.push_back(std::move(entry));
  }
  return out;
}

Status seal(const std::filesystem::path& staged_dir) {
  CALKIT_TRY(const auto files, list_tree(staged_dir), "sealing the baseline");
  std::vector<SumLine> lines;
  for (const std::string& file : files) {
    if (file == kSums) continue;
    CALKIT_TRY(const auto digest, hash_file(staged_dir / file), "sealing the baseline");
    lines.push_back({digest.sha256, file});
  }
  return write_file(staged_dir / kSums, sums_text(lines));
}

}  // namespace calkit::frozen
