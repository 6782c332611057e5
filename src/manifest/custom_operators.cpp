#include "calkit/manifest/custom_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "element_types.h"

namespace calkit::manifest {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 48;

Result<std::string> sentence(const Cursor& at, std::string_view key) {
  CALKIT_TRY(std::string out, at.string(key));
  if (out.empty()) return at.error(fmt::format("an empty {}", key), "a text");
  return out;
}

bool is_symbol(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<std::vector<std::string>> extents_of(const Cursor& list) {
  std::vector<std::string> out;
  CALKIT_TRY(const auto items, list.items());
  for (const Cursor& item : items) {
    if (item.value().if_int()) {
      CALKIT_TRY(const std::int64_t extent, item.as_int(0, kMostExtent));
      out.push_back(fmt::format("{}", extent));
      continue;
    }
    CALKIT_TRY(std::string symbol, item.as_string());
    if (!is_symbol(symbol))
      return item.error(fmt::format("\"{}\"", printable(symbol)), "a number or a symbol such as B");
    out.push_back(std::move(symbol));
  }
  return out;
}

Result<std::vector<CustomOperand>> operands_of(const Cursor& at, std::string_view key) {
  std::vector<CustomOperand> out;
  std::set<std::string> seen;
  CALKIT_TRY(const Cursor list, at.at(key));
  CALKIT_TRY(const auto items, list.items());
  for (const Cursor& item : items) {
    CALKIT_CHECK_OK(item.only({"name", "types", "shape"}));
    CustomOperand operand;
    CALKIT_TRY(operand.name, sentence(item, "name"));
    if (!seen.insert(operand.name).second)
      return item.error(fmt::format("a second '{}'", operand.name), "each name once");
    CALKIT_CHECK_OK(item.at("types").ok() ? Status() : Status(item.at("types").error()));
    CALKIT_TRY(operand.types, types_of(item));
    if (const auto shape = item.find("shape")) {
      CALKIT_TRY(operand.shape, extents_of(*shape));
    }
    out.push_back(std::move(operand));
  }
  return out;
}

Status read_bound(const Cursor& at, CustomOperator& out) {
  CALKIT_TRY(const Cursor bound, at.at("error_bound"));
  CALKIT_CHECK_OK(bound.only({"nmse", "max_abs", "reason"}));
  CALKIT_TRY(out.nmse, bound.number("nmse"));
  CALKIT_TRY(out.max_abs, bound.number("max_abs"));
  CALKIT_TRY(out.bound_reason, sentence(bound, "reason"));
  if (out.nmse < 0 || out.max_abs < 0)
    return bound.error(fmt::format("nmse {} and max_abs {}", out.nmse, out.max_abs), "0 or more");
  return {};
}

Result<CustomOperator> read_operator(const Cursor& at, const std::string& domain) {
  CALKIT_CHECK_OK(
      at.only({"name", "semantics", "inputs", "outputs", "broadcasting", "error_bound", "status", "source", "body"}));
  CustomOperator out;
  CALKIT_TRY(const std::string name, sentence(at, "name"));
  if (!is_symbol(name)) return at.error(fmt::format("operator \"{}\"", printable(name)), "its type without the domain");
  out.name = domain + ":" + name;
  CALKIT_TRY(out.semantics, sentence(at, "semantics"));
  CALKIT_TRY(out.inputs, operands_of(at, "inputs"));
  CALKIT_TRY(out.outputs, operands_of(at, "outputs"));
  if (out.outputs.empty()) return at.error("no outputs", "at least one");
  CALKIT_TRY(const Cursor broadcasting, at.at("broadcasting"));
  CALKIT_TRY(const std::string word, broadcasting.as_word({"none", "numpy"}));
  out.broadcasts = word == "numpy";
  CALKIT_CHECK_OK(read_bound(at, out));
  CALKIT_TRY(const Cursor status, at.at("status"));
  CALKIT_TRY(out.status, status.as_word({"C0", "C1", "C2", "C3", "C4"}));
  CALKIT_TRY(out.source, sentence(at, "source"));
  if (at.find("body")) {
    CALKIT_TRY(out.body, sentence(at, "body"));
    if (const std::string reason = unsafe_path_reason(out.body); !reason.empty())
      return at.error(fmt::format("body \"{}\": {}", printable(out.body), reason), "a file in this document's folder");
  }
  return out;
}

Result<CustomOperators> read_document(const Cursor& root) {
  CALKIT_CHECK_OK(root.only({"schema", "domain", "version", "operators"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY([[maybe_unused]] const std::string word, schema.as_word({"calkit.custom-operators/1"}));
  CustomOperators out;
  out.file = root.file();
  CALKIT_TRY(out.domain, sentence(root, "domain"));
  if (out.domain == "ai.onnx")
    return root.error("domain ai.onnx", "a domain of your own: ONNX says what its operators mean");
  CALKIT_TRY(out.version, root.integer("version", 1, 1'000'000));
  CALKIT_TRY(const Cursor list, root.at("operators"));
  CALKIT_TRY(const auto items, list.items());
  if (items.empty()) return list.error("no operators", "at least one");
  for (const Cursor& item : items) {
    CALKIT_TRY(CustomOperator op, read_operator(item, out.domain));
    for (const CustomOperator& known : out.operators)
      if (known.name == op.name) return item.error(fmt::format("a second description of {}", op.name), "one each");
    out.operators.push_back(std::move(op));
  }
  return out;
}

Value operands_value(const std::vector<CustomOperand>& operands) {
  Value out = Value::array();
  for (const CustomOperand& operand : operands)
    out.push(Value::object({{"name", operand.name},
                            {"types", Value::list(operand.types)},
                            {"shape", operand.shape ? Value::list(*operand.shape) : Value()}}));
  return out;
}

}  // namespace

Result<CustomOperators> read_custom_operators(const std::filesystem::path& path) {
  CALKIT_TRY(const Value document, read_yaml(path), "reading descriptions of operators");
  return read_document(Cursor(document, path.string()));
}

Description described(const std::vector<CustomOperators>& documents, const std::string& name) {
  for (const CustomOperators& document : documents)
    for (const CustomOperator& op : document.operators)
      if (op.name == name) return {&document, &op};
  return {};
}

Value to_value(const Description& description) {
  if (description.op == nullptr) return {};
  const CustomOperator& op = *description.op;
  return Value::object(
      {{"file", description.document->file.string()},
       {"version", description.document->version},
       {"semantics", op.semantics},
       {"inputs", operands_value(op.inputs)},
       {"outputs", operands_value(op.outputs)},
       {"broadcasting", op.broadcasts ? "numpy" : "none"},
       {"error_bound", Value::object({{"nmse", op.nmse}, {"max_abs", op.max_abs}, {"reason", op.bound_reason}})},
       {"status", op.status},
       {"source", op.source},
       {"body", op.body.empty() ? Value() : Value(op.body)}});
}

}  // namespace calkit::manifest
