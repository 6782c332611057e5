#include "calkit/load/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "calkit/base/text.h"

namespace calkit::load {
namespace {

struct Unit {
  std::string_view ending;
  double milliseconds;
};
constexpr Unit kUnits[] = {{"_ms", 1}, {"_s", 1000}, {"_us", 1e-3}, {"_ns", 1e-6}};

// "TTFT (ms)" -> "ttft_ms"
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (word)
      out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  if (out.ends_with('_')) out.pop_back();
  return out;
}

// The last two name other things as well, such as a count of tokens: they need a unit.
bool is_end_to_end(const std::string& word) {
  for (const std::string_view what : {"e2e", "end_to_end", "end2end", "latency", "duration"})
    if (word.starts_with(what)) return true;
  const bool has_unit =
      std::any_of(std::begin(kUnits), std::end(kUnits), [&](const Unit& unit) { return word.ends_with(unit.ending); });
  return has_unit && (word.starts_with("total_") || word.starts_with("request_"));
}

struct Number {
  double value = 0;
  double half_step = 0;  ///< half of the last printed digit
};

std::optional<Number> number_of(const std::string& cell) {
  Number out;
  const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), out.value);
  if (problem != std::errc() || end != cell.data() + cell.size() || !std::isfinite(out.value)) return std::nullopt;
  const std::size_t point = cell.find('.'), exponent = cell.find_first_of("eE");
  const std::size_t digits = point == std::string::npos ? 0 : std::min(exponent, cell.size()) - point - 1;
  out.half_step = 0.5 * std::pow(10.0, -static_cast<double>(digits));
  if (exponent != std::string::npos) out.half_step = std::abs(out.value) * 1e-6;
  return out;
}

struct Column {
  std::size_t index = 0;
  std::string name;
  double milliseconds = 1;  ///< of one unit
  bool has_unit = false;
};

class Auditor {
 public:
  Auditor(const CsvTable& table, std::string model) : table_(table), model_(std::move(model)) {}

  CsvAudit run() {
    out_.rows = table_.rows.size();
    find_columns();
    for (const auto* column : {&ttft_, &prompt_, &predicted_, &end_to_end_})
      if (*column) check_times(**column);
    check_sum();
    check_order();
    check_model();
    return std::move(out_);
  }

 private:
  template <class Matches>
  std::optional<Column> find(const Matches& matches, std::optional<std::string>& name) {
    for (std::size_t i = 0; i < table_.header.size(); ++i) {
      const std::string word = plain(table_.header[i]);
      if (!matches(word)) continue;
      Column column{i, table_.header[i], 1, false};
      for (const Unit& unit : kUnits)
        if (word.ends_with(unit.ending)) {
          column.milliseconds = unit.milliseconds;
          column.has_unit = true;
        }
      name = table_.header[i];
      return column;
    }
    return std::nullopt;
  }

  void find_columns() {
    const auto starts = [](std::string_view what) {
      return [what](const std::string& word) { return word == what || word.starts_with(std::string(what) + "_"); };
    };
    ttft_ =
        find([](const std::string& w) { return w.starts_with("ttft") || w.find("first_token") != w.npos; }, out_.ttft);
    const auto time_of = [](std::string_view what) {
      return [what](const std::string& word) {
        return std::any_of(std::begin(kUnits), std::end(kUnits),
                           [&](const Unit& unit) { return word == std::string(what) + std::string(unit.ending); });
      };
    };
    prompt_ = find(time_of("prompt"), out_.prompt);
    predicted_ = find(time_of("predicted"), out_.predicted);
    end_to_end_ = find(is_end_to_end, out_.end_to_end);
    model_column_ = find(starts("model"), out_.model);
  }

  std::optional<Number> at(const CsvTable::Row& row, const Column& column) const {
    auto number = number_of(row.cells[column.index]);
    if (number) {
      number->value *= column.milliseconds;
      number->half_step *= column.milliseconds;
    }
    return number;
  }

  void check_times(const Column& column) {
    if (!column.has_unit)
      out_.faults.push_back(fmt::format("column '{}' names no unit: is it s, ms, us or ns?", printable(column.name)));
    std::uint64_t bad = 0;
    std::uint32_t first = 0;
    for (const auto& row : table_.rows) {
      const auto number = at(row, column);
      if (number && number->value > 0) continue;
      if (bad++ == 0) first = row.line;
    }
    if (bad > 0)
      out_.faults.push_back(fmt::format("column '{}' holds no time above 0 in {} of {} rows, first in line {}",
                                        printable(column.name), bad, out_.rows, first));
  }

  void check_sum() {
    if (!ttft_) return out_.open.push_back("there is no column of TTFT: there is nothing to take over as one");
    if (!prompt_ || !predicted_)
      return out_.open.push_back(
          "without the columns prompt_ms and predicted_ms nobody can tell whether TTFT is their sum");
    std::uint32_t first = 0;
    for (const auto& row : table_.rows) {
      const auto ttft = at(row, *ttft_), prompt = at(row, *prompt_), predicted = at(row, *predicted_);
      if (!ttft || !prompt || !predicted || predicted->value <= 0) continue;
      const double slack = ttft->half_step + prompt->half_step + predicted->half_step;
      // Where decoding took less than the digits can show, the sum and the truth look alike.
      if (predicted->value <= 2 * slack) continue;
      if (std::abs(ttft->value - prompt->value - predicted->value) > slack) continue;
      if (out_.rows_summed++ == 0) first = row.line;
    }
    if (out_.rows_summed > 0)
      out_.faults.push_back(fmt::format(
          "'{}' is {} + {} in {} of {} rows, first in line {}: that is the time to the last token, not to the first",
          printable(ttft_->name), printable(prompt_->name), printable(predicted_->name), out_.rows_summed, out_.rows,
          first));
  }

  void check_order() {
    if (!ttft_ || !end_to_end_) return;
    for (const auto& row : table_.rows) {
      const auto ttft = at(row, *ttft_), whole = at(row, *end_to_end_);
      if (!ttft || !whole || ttft->value <= whole->value + ttft->half_step + whole->half_step) continue;
      out_.faults.push_back(fmt::format("line {}: '{}' is {} ms, more than the {} ms of '{}'", row.line,
                                        printable(ttft_->name), ttft->value, whole->value,
                                        printable(end_to_end_->name)));
      return;
    }
  }

  void check_model() {
    if (!model_column_) return out_.faults.push_back("no column says which model was measured");
    std::set<std::string> names;
    for (const auto& row : table_.rows) names.insert(row.cells[model_column_->index]);
    if (!model_.empty()) {
      for (const std::string& name : names)
        if (name != model_)
          return out_.faults.push_back(fmt::format("column '{}' says '{}', but the model is '{}'",
                                                   printable(model_column_->name), printable(name), printable(model_)));
      return;
    }
    if (names.size() == 1)
      out_.faults.push_back(
          fmt::format("column '{}' says '{}' in every row, as a constant does; if that is the model, name it (--model)",
                      printable(model_column_->name), printable(*names.begin())));
  }

  const CsvTable& table_;
  std::string model_;
  CsvAudit out_;
  std::optional<Column> ttft_, prompt_, predicted_, end_to_end_, model_column_;
};

}  // namespace

Result<CsvAudit> audit_csv(const CsvTable& table, const std::string& file, const std::string& model) {
  if (table.rows.empty()) return input_error(file, "", "no rows", "a header line and at least one row of figures");
  return Auditor(table, model).run();
}

Value to_value(const CsvAudit& audit) {
  return Value::object({{"schema", "calkit.csv-audit/1"},
                        {"rows", audit.rows},
                        {"columns", Value::object({{"ttft", audit.ttft},
                                                   {"prompt", audit.prompt},
                                                   {"predicted", audit.predicted},
                                                   {"end_to_end", audit.end_to_end},
                                                   {"model", audit.model}})},
                        {"rows_where_ttft_is_the_sum", audit.rows_summed},
                        {"faults", Value::list(audit.faults)},
                        {"open", Value::list(audit.open)}});
}

std::string to_text(const CsvAudit& audit) {
  std::string out = fmt::format("rows:  {}\n", audit.rows);
  for (const std::string& fault : audit.faults) out += "fault: " + fault + "\n";
  for (const std::string& open : audit.open) out += "open:  " + open + "\n";
  return out;
}

void record(const CsvAudit& audit, manifest::Evidence& evidence) {
  using manifest::EvidenceVerdict;
  evidence.figures = {manifest::counted("rows", audit.rows, "rows", "rows behind the header"),
                      manifest::counted("rows_where_ttft_is_the_sum", audit.rows_summed, "rows",
                                        "TTFT equals prompt_ms + predicted_ms within the printed digits")};
  evidence.findings = audit.faults;
  evidence.findings.insert(evidence.findings.end(), audit.open.begin(), audit.open.end());
  evidence.verdict = !audit.faults.empty() ? EvidenceVerdict::kFail
                     : !audit.open.empty() ? EvidenceVerdict::kIncomplete
                                           : EvidenceVerdict::kPass;
  evidence.summary = audit.faults.empty() && audit.open.empty()
                         ? fmt::format("{} rows, nothing against them as a baseline", audit.rows)
                         : fmt::format("no baseline: {} faults and {} open questions in {} rows", audit.faults.size(),
                                       audit.open.size(), audit.rows);
  evidence.details = to_value(audit);
}

}  // namespace calkit::load
