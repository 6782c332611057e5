#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/passes/reduce.h"

namespace calkit::passes {
namespace {

constexpr std::size_t kShown = 8;  // of a list, in the text

Value list_value(const std::vector<std::string>& names) {
  Value out = Value::array();
  for (const std::string& name : names) out.push(name);
  return out;
}

std::string list_line(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string out = fmt::format("  {}: ", what);
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    out += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(names[i]));
  if (names.size() > kShown) out += fmt::format(" and {} more", names.size() - kShown);
  return out + "\n";
}

}  // namespace

Value to_value(const ReduceReport& report) {
  Value nodes = Value::array(), steps = Value::array();
  for (const auto& node : report.nodes) nodes.push(Value::object({{"name", node.name}, {"op", node.op}}));
  for (const auto& step : report.steps)
    steps.push(Value::object({{"what", step.what}, {"nodes", step.nodes}, {"checks", step.checks}}));
  const bool own = report.command.empty();
  Value check = Value::object({{"command", own ? Value() : Value(report.command)},
                               {"exit_code", own ? Value() : Value(report.exit_code)},
                               {"message", own ? Value(report.message) : Value()}});
  return Value::object({{"schema", "calkit.onnx-reduce/1"},
                        {"graph", report.graph},
                        {"graph_sha256", "sha256:" + report.graph_sha256},
                        {"valid", report.valid},
                        {"fails", std::move(check)},
                        {"nodes", Value::array({report.nodes_before, report.nodes_after})},
                        {"initializers", Value::array({report.initializers_before, report.initializers_after})},
                        {"checks", report.checks},
                        {"refused", report.refused},
                        {"steps", std::move(steps)},
                        {"left", std::move(nodes)},
                        {"inputs", list_value(report.inputs)},
                        {"cut_inputs", list_value(report.cut_inputs)},
                        {"constants", list_value(report.constants)},
                        {"reduced", report.reduced},
                        {"reduced_sha256", "sha256:" + report.reduced_sha256}});
}

std::string to_text(const ReduceReport& report) {
  std::string out = fmt::format("{}: {} -> {} nodes, {} -> {} initialisers; {} graphs tried\n",
                                printable(report.graph, 200), report.nodes_before, report.nodes_after,
                                report.initializers_before, report.initializers_after, report.checks);
  out += report.command.empty()
             ? fmt::format("  fails as the whole graph does: {}\n", printable(report.message, 300))
             : fmt::format("  fails as the whole graph does: exit {} of the command\n", report.exit_code);
  for (std::size_t i = 0; i < std::min(kShown, report.nodes.size()); ++i)
    out += fmt::format("  left: {} '{}'\n", printable(report.nodes[i].op), printable(report.nodes[i].name, 200));
  if (report.nodes.size() > kShown) out += fmt::format("  left: {} more nodes\n", report.nodes.size() - kShown);
  out += list_line("inputs", report.inputs);
  out += list_line("constants, as a run of the whole graph gave them", report.constants);
  if (!report.valid) out += "  ONNX's full check refuses the whole graph, so it was not asked about the others\n";
  return out + fmt::format("  {}\n", report.reduced);
}

}  // namespace calkit::passes
