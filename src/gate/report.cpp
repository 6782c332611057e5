// The ledger as a document, as a table and as evidence.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/gate/gate.h"

namespace calkit::gate {

Value to_value(const Report& report) {
  Value chain = Value::object();
  for (const auto& [role, digest] : report.chain) chain.set(role, "sha256:" + digest);
  Value rows = Value::array();
  for (const Row& row : report.rows)
    rows.push(Value::object({{"id", row.gate->id},
                             {"stage", row.gate->stage},
                             {"title", row.gate->title},
                             {"status", row.gate->status},
                             {"command", *row.gate->command == '\0' ? Value() : Value(row.gate->command)},
                             {"on_road", row.gate->on_road},
                             {"state", state_name(row.state)},
                             {"emulated", row.emulated},
                             {"record", row.record.empty() ? Value() : Value(row.record)},
                             {"note", row.note}}));
  return Value::object({{"schema", "calkit.gate/1"},
                        {"require", report.require == Require::kC2 ? "c2" : "c3"},
                        {"records", report.records},
                        {"chain", std::move(chain)},
                        {"gates", std::move(rows)},
                        {"findings", Value::list(report.findings)}});
}

std::string to_text(const Report& report) {
  std::size_t width = 0;
  for (const Row& row : report.rows) width = std::max(width, std::string_view(row.gate->title).size());
  std::string out =
      fmt::format("{:<4} {:<5} {:<{}}  {:<6} {:<10}  {}\n", "gate", "stage", "what", width, "status", "state", "by");
  for (const Row& row : report.rows) {
    const std::string by =
        row.state == State::kSatisfied ? fmt::format("{}{}", row.record, row.emulated ? " [emulated]" : "") : row.note;
    out += fmt::format("{:<4} {:<5} {:<{}}  {:<6} {:<10}  {}\n", row.gate->id, row.gate->stage, row.gate->title, width,
                       row.gate->status, state_name(row.state), by);
  }
  out += fmt::format("{} records read", report.records);
  for (const auto& [role, digest] : report.chain) out += fmt::format(", {} {}", role, digest.substr(0, 12));
  return out + "\n";
}

void record(const Report& report, manifest::Evidence& evidence) {
  const auto count = [&](State state) {
    return static_cast<double>(
        std::count_if(report.rows.begin(), report.rows.end(), [&](const Row& row) { return row.state == state; }));
  };
  for (const State state :
       {State::kSatisfied, State::kFailed, State::kIncomplete, State::kStale, State::kMissing, State::kOpen})
    evidence.figures.push_back({fmt::format("gates_{}", state_name(state)), count(state), "gates", report.rows.size(),
                                "read from the evidence records"});
  evidence.verdict = report.verdict;
  evidence.findings = report.findings;
  evidence.summary = report.summary;
  evidence.details = to_value(report);
}

}  // namespace calkit::gate
