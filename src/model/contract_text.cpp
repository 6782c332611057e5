#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/model/contract_check.h"

namespace calkit::model {
namespace {

Value port_values(const std::vector<Port>& ports) {
  Value out = Value::array();
  for (const Port& port : ports) {
    Value shape;
    if (port.value.shape) {
      shape = Value::array();
      for (const onnx::Dim& dim : *port.value.shape) {
        if (const auto* number = std::get_if<std::int64_t>(&dim.value))
          shape.push(*number);
        else
          shape.push(dim.text());
      }
    }
    out.push(Value::object({{"name", port.value.name},
                            {"type", onnx::element_type_name(port.value.type)},
                            {"shape", std::move(shape)},
                            {"role", role_name(port.role)},
                            {"layer", port.layer ? Value(*port.layer) : Value()}}));
  }
  return out;
}

Value axis_value(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

std::string port_lines(const char* title, const std::vector<Port>& ports) {
  std::string out = fmt::format("{}:\n", title);
  std::size_t width = 0;
  for (const Port& port : ports) width = std::max(width, printable(port.value.name).size());
  for (const Port& port : ports) {
    std::string shape;
    if (port.value.shape)
      for (const onnx::Dim& dim : *port.value.shape) shape += (shape.empty() ? "" : ", ") + printable(dim.text());
    out +=
        fmt::format("  {:<{}}  {}{}  {}{}\n", printable(port.value.name), width,
                    onnx::element_type_name(port.value.type), port.value.shape ? "[" + shape + "]" : " of unknown rank",
                    role_name(port.role), port.layer ? fmt::format(", layer {}", *port.layer) : "");
  }
  return out;
}

}  // namespace

Value to_value(const ContractCheck& check) {
  Value findings = Value::array();
  for (const ContractFinding& finding : check.findings)
    findings.push(Value::object({{"severity", finding.error ? "error" : "note"},
                                 {"item", finding.item},
                                 {"found", finding.found},
                                 {"allowed", finding.allowed},
                                 {"fix", finding.fix.empty() ? Value() : Value(finding.fix)}}));
  return Value::object(
      {{"schema", "calkit.onnx-contract-check/1"},
       {"file", check.file},
       {"phase", phase_name(check.phase)},
       {"axes", Value::object(
                    {{"B", axis_value(check.batch)}, {"S", axis_value(check.tokens)}, {"P", axis_value(check.past)}})},
       {"inputs", port_values(check.inputs)},
       {"outputs", port_values(check.outputs)},
       {"findings", std::move(findings)}});
}

std::string to_text(const ContractCheck& check) {
  const auto axis = [](const std::string& text) { return text.empty() ? std::string("none") : printable(text); };
  std::string out = fmt::format("{}: {}; B is {}, S is {}, P is {}\n", printable(check.file, 400),
                                phase_name(check.phase), axis(check.batch), axis(check.tokens), axis(check.past));
  out += port_lines("inputs", check.inputs) + port_lines("outputs", check.outputs);
  for (const ContractFinding& finding : check.findings) {
    out += fmt::format("{}: {}: found {}; allowed: {}\n", finding.error ? "error" : "note", finding.item, finding.found,
                       finding.allowed);
    if (!finding.fix.empty()) out += fmt::format("  fix: {}\n", finding.fix);
  }
  return out;
}

}  // namespace calkit::model
