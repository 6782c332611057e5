#include "custom.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "calkit/base/files.h"
#include "calkit/onnx/io.h"

namespace calkit::passes {
namespace {

using manifest::CustomOperand;
using Nodes = std::map<std::string, std::vector<const onnx::Node*>>;

void collect(const std::vector<onnx::Node>& nodes, Nodes& out) {
  for (const onnx::Node& node : nodes) {
    if (!node.domain.empty() && node.domain != "ai.onnx") out[node.domain + ":" + node.op_type].push_back(&node);
    for (const auto& attribute : node.attributes)
      for (const auto& graph : attribute.graphs) collect(graph->nodes, out);
  }
}

Nodes custom_nodes(const onnx::Model& model) {
  Nodes out;
  collect(model.graph.nodes, out);
  for (const auto& function : model.functions) collect(function.nodes, out);
  return out;
}

std::set<std::string> functions_of(const onnx::Model& model) {
  std::set<std::string> out;
  for (const auto& function : model.functions) out.insert(function.domain + ":" + function.name);
  return out;
}

/// The function of a description, with those it calls.
Status add_body(onnx::Model& model, const manifest::Description& description) {
  const auto& op = *description.op;
  const std::filesystem::path folder = description.document->file.parent_path();
  CALKIT_TRY(const Root root, Root::open(folder.empty() ? "." : folder), "reading the body of " + op.name);
  CALKIT_TRY(const auto mapped, root.map(op.body), "reading the body of " + op.name);
  const std::string file = (folder / op.body).string();
  CALKIT_TRY(const onnx::Model body, onnx::load_bytes(mapped->bytes(), file, folder), "reading the body of " + op.name);
  const auto known = functions_of(model);
  bool found = false;
  for (const onnx::Function& function : body.functions) {
    const std::string name = function.domain + ":" + function.name;
    if (name == op.name) {
      found = true;
      if (function.inputs.size() != op.inputs.size() || function.outputs.size() != op.outputs.size())
        return input_error(file, "function " + name,
                           fmt::format("{} inputs and {} outputs", function.inputs.size(), function.outputs.size()),
                           fmt::format("{} and {}, as {} says", op.inputs.size(), op.outputs.size(),
                                       description.document->file.string()));
    }
    if (known.contains(name)) continue;
    model.functions.push_back(function);
    for (const auto& [domain, version] : body.opsets) model.opsets.emplace(domain, version);
    model.opsets.emplace(function.domain, description.document->version);
  }
  if (found) return {};
  return input_error(file, "functions", "none named " + op.name, "a model-local function of that name");
}

/// Types and shapes as the file states them.
std::map<std::string, onnx::ValueInfo> stated(const onnx::Graph& graph) {
  std::map<std::string, onnx::ValueInfo> out;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_info})
    for (const auto& value : *list) out.emplace(value.name, value);
  for (const auto& tensor : graph.initializers) {
    onnx::ValueInfo info{tensor.name, tensor.type, std::vector<onnx::Dim>()};
    for (const std::int64_t extent : tensor.dims) info.shape->push_back(onnx::Dim::of(extent));
    out.insert_or_assign(tensor.name, std::move(info));
  }
  return out;
}

/// Numbers that a symbol of the description has been so far, in one node.
using Extents = std::map<std::string, std::int64_t>;

std::string fault(const CustomOperand& operand, const onnx::ValueInfo& value, bool broadcasts, Extents& extents) {
  const std::string type = onnx::element_type_name(value.type);
  if (value.type != 0 && std::find(operand.types.begin(), operand.types.end(), type) == operand.types.end())
    return fmt::format("'{}' is {}; described: {}", operand.name, type, fmt::join(operand.types, ", "));
  if (!operand.shape || !value.shape || broadcasts) return "";
  if (value.shape->size() != operand.shape->size())
    return fmt::format("'{}' has rank {}; described: {}", operand.name, value.shape->size(), operand.shape->size());
  for (std::size_t axis = 0; axis < value.shape->size(); ++axis) {
    const auto* found = std::get_if<std::int64_t>(&(*value.shape)[axis].value);
    const std::string& wanted = (*operand.shape)[axis];
    if (!found) continue;
    const bool is_number = wanted[0] >= '0' && wanted[0] <= '9';
    const std::int64_t extent = is_number ? std::stoll(wanted) : extents.emplace(wanted, *found).first->second;
    if (extent != *found)
      return fmt::format("axis {} of '{}' is {}; described: {}", axis, operand.name, *found,
                         is_number ? wanted : fmt::format("{} = {}", wanted, extent));
  }
  return "";
}

std::string fault(const manifest::CustomOperator& op, const onnx::Node& node,
                  const std::map<std::string, onnx::ValueInfo>& values) {
  if (node.inputs.size() != op.inputs.size() || node.outputs.size() != op.outputs.size())
    return fmt::format("{} inputs and {} outputs; described: {} and {}", node.inputs.size(), node.outputs.size(),
                       op.inputs.size(), op.outputs.size());
  Extents extents;
  for (const auto& [names, operands] : {std::pair{&node.inputs, &op.inputs}, {&node.outputs, &op.outputs}})
    for (std::size_t i = 0; i < names->size(); ++i) {
      const auto value = values.find((*names)[i]);
      if (value == values.end()) continue;
      if (std::string out = fault((*operands)[i], value->second, op.broadcasts, extents); !out.empty()) return out;
    }
  return "";
}

Status check_nodes(const onnx::Model& model, const std::filesystem::path& file, const manifest::Description& known,
                   const std::vector<const onnx::Node*>& nodes) {
  const auto values = stated(model.graph);
  for (const onnx::Node* node : nodes)
    if (const std::string text = fault(*known.op, *node, values); !text.empty())
      return input_error(file.string(), fmt::format("node '{}' ({})", node->name, known.op->name), text,
                         "a node as " + known.document->file.string() + " describes it",
                         "correct the description, or the graph");
  return {};
}

std::string counted(const std::string& name, std::size_t nodes) {
  return fmt::format("{} ({} node{})", name, nodes, nodes == 1 ? "" : "s");
}

/// Refuses what cannot be run: operators that mean what their maker says prove nothing.
Status refuse(const std::filesystem::path& file, const std::vector<std::string>& unknown,
              const std::vector<std::string>& bodiless) {
  if (!unknown.empty())
    return input_error(
        file.string(), "operators", fmt::format("{}", fmt::join(unknown, ", ")),
        "operators of ai.onnx, functions that the model itself defines, or operators that --operators describes",
        "export without them, add a function body for each to the model, or describe them");
  if (!bodiless.empty())
    return input_error(file.string(), "operators",
                       fmt::format("{}, described without a body", fmt::join(bodiless, ", ")),
                       "a description with a body, which can be run: nothing is proven without",
                       "add `body` to the description: an ONNX file with a function of that name");
  return {};
}

}  // namespace

Result<std::vector<CustomUse>> admit_custom_operators(onnx::Model& model, const std::filesystem::path& file,
                                                      const std::vector<manifest::CustomOperators>& documents) {
  const auto own = functions_of(model);
  for (bool added = true; added;) {  // a body may call others
    added = false;
    std::vector<std::string> unknown, bodiless;
    const auto known = functions_of(model);
    for (const auto& [name, nodes] : custom_nodes(model)) {
      if (known.contains(name)) continue;
      const auto description = manifest::described(documents, name);
      if (description.op == nullptr) unknown.push_back(counted(name, nodes.size()));
      if (description.op != nullptr && description.op->body.empty()) bodiless.push_back(counted(name, nodes.size()));
    }
    CALKIT_CHECK_OK(refuse(file, unknown, bodiless));
    for (const auto& [name, nodes] : custom_nodes(model)) {
      if (known.contains(name)) continue;
      CALKIT_CHECK_OK(add_body(model, manifest::described(documents, name)));
      added = true;
      break;  // the nodes have moved
    }
  }
  std::vector<CustomUse> out;
  for (const auto& [name, nodes] : custom_nodes(model)) {
    const auto description = manifest::described(documents, name);
    if (description.op != nullptr) CALKIT_CHECK_OK(check_nodes(model, file, description, nodes));
    out.push_back({name, nodes.size(), own.contains(name), description});
  }
  return out;
}

}  // namespace calkit::passes
