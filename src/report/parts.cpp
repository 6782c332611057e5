#include "parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "calkit/base/html.h"
#include "calkit/base/text.h"
#include "calkit/report/html.h"

namespace calkit::report {
namespace {

constexpr std::size_t kMaxRows = 200;
constexpr std::size_t kOpenRows = 20;
constexpr std::size_t kMaxColumns = 14;

std::string time_text(double ns) {
  if (std::fabs(ns) >= 1e9) return fmt::format("{:.2f} s", ns / 1e9);
  if (std::fabs(ns) >= 1e6) return fmt::format("{:.2f} ms", ns / 1e6);
  if (std::fabs(ns) >= 1e3) return fmt::format("{:.1f} µs", ns / 1e3);
  return fmt::format("{:.0f} ns", ns);
}

bool is_scalar(const Value& v) {
  if (const auto* items = v.if_array())
    return std::all_of(items->begin(), items->end(),
                       [](const Value& i) { return i.if_array() == nullptr && i.if_object() == nullptr; });
  return v.if_object() == nullptr;
}

std::string scalar_text(const Value& v) {
  if (v.is_null()) return "–";
  if (const auto* text = v.if_string()) return *text;
  if (const auto* flag = v.if_bool()) return *flag ? "yes" : "no";
  if (const auto integer = v.if_int()) return fmt::format("{}", *integer);
  if (const auto number = v.if_number()) return fmt::format("{:.6g}", *number);
  std::string out;
  if (const auto* items = v.if_array())
    for (const Value& item : *items) out += (out.empty() ? "" : ", ") + scalar_text(item);
  return out;
}

// An array whose items are objects of scalars: a table.
bool is_table(const Value& v) {
  const auto* items = v.if_array();
  if (items == nullptr || items->empty()) return false;
  return std::all_of(items->begin(), items->end(), [](const Value& item) {
    const auto* members = item.if_object();
    return members != nullptr && !members->empty() &&
           std::all_of(members->begin(), members->end(), [](const auto& m) { return is_scalar(m.second); });
  });
}

// Records are written with sorted keys; people read what a row is about first, then what was found.
constexpr std::string_view kFirstColumns[] = {"id",   "name",  "title",   "rule",   "text",    "summary", "prompt",
                                              "step", "found", "allowed", "status", "verdict", "state"};

std::vector<std::string> columns_of(const Value::Array& rows) {
  std::vector<std::string> out;
  for (const std::string_view key : kFirstColumns)
    if (rows.front().find(key) != nullptr) out.emplace_back(key);
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxRows); ++i)
    for (const auto& [key, value] : *rows[i].if_object())
      if (std::find(out.begin(), out.end(), key) == out.end() && out.size() < kMaxColumns) out.push_back(key);
  return out;
}

// A verdict is read at a glance.
std::string cell_html(const Value& cell) {
  const std::string text = scalar_text(cell);
  return text == "pass" || text == "fail" ? badge(text, text) : escape_html(text);
}

bool is_numeric(const Value::Array& rows, const std::string& column) {
  return std::any_of(rows.begin(), rows.end(), [&](const Value& row) {
    const Value* cell = row.find(column);
    return cell != nullptr && cell->if_number().has_value();
  });
}

std::string table_html(const std::string& name, const Value::Array& rows) {
  const auto columns = columns_of(rows);
  std::string out =
      fmt::format("<details{}><summary>{} ({})</summary><div class=\"scroll\"><table><tr class=\"head-row\">",
                  rows.size() <= kOpenRows ? " open" : "", escape_html(name), rows.size());
  std::map<std::string, const char*> align;
  for (const std::string& column : columns) {
    align[column] = is_numeric(rows, column) ? " class=\"n\"" : "";
    out += fmt::format("<th{}>{}</th>", align[column], escape_html(column));
  }
  out += "</tr>";
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxRows); ++i) {
    out += "<tr>";
    for (const std::string& column : columns) {
      const Value* cell = rows[i].find(column);
      out += fmt::format("<td{}>{}</td>", align[column], cell == nullptr ? "" : cell_html(*cell));
    }
    out += "</tr>";
  }
  out += "</table></div>";
  if (rows.size() > kMaxRows)
    out += fmt::format("<p class=\"soft\">{} more rows in the record</p>", rows.size() - kMaxRows);
  return out + "</details>\n";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string clean(text);
  // Control characters have no place in HTML; a NUL would even end the page for some readers.
  for (char& c : clean)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = ' ';
  return calkit::escape_html(clean);
}

std::string figure_text(const std::optional<double>& value, std::string_view unit) {
  if (!value || !std::isfinite(*value)) return "–";
  if (unit == "ns") return time_text(*value);
  if (unit == "s") return time_text(*value * 1e9);
  if ((unit == "B" || unit == "bytes") && *value >= 0 && *value < 1e18 && *value == std::floor(*value))
    return format_bytes(static_cast<std::uint64_t>(*value));
  if (*value == std::floor(*value) && std::fabs(*value) < 1e15)
    return fmt::format("{:.0f}{}{}", *value, unit == "1" ? "" : " ", unit == "1" ? "" : unit);
  return fmt::format("{:.4g}{}{}", *value, unit == "1" ? "" : " ", unit == "1" ? "" : unit);
}

std::string badge(std::string_view css_class, std::string_view text) {
  return fmt::format("<span class=\"badge {}\">{}</span>", escape_html(css_class), escape_html(text));
}

std::string file_name(const manifest::Evidence& record) {
  return std::filesystem::path(record.file).filename().string();
}

std::string anchor(const manifest::Evidence& record) {
  std::string out = "r-";
  for (const char c : file_name(record)) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return out;
}

std::string details_html(const Value& details) {
  const Value* schema = details.find("schema");
  const std::string kind = schema != nullptr && schema->if_string() != nullptr ? *schema->if_string() : "";
  std::string out;
  if (kind == "calkit.bench/1") return bench_html(details);
  if (kind == "calkit.soak/1") out = soak_html(details);
  const auto* members = details.if_object();
  if (members == nullptr) return out;
  for (const auto& [key, value] : *members) {
    if (kind == "calkit.soak/1" && key == "series") continue;  // drawn above
    if (key == "inputs") continue;                             // listed with the record
    if (is_table(value)) out += table_html(key, *value.if_array());
  }
  return out;
}

}  // namespace calkit::report
