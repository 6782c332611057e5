// Passes that only take away or rearrange.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "calkit/onnx/io.h"
#include "calkit/passes/normalize.h"
#include "names.h"

namespace calkit::passes {
namespace {

constexpr std::int64_t kInputsApart = 4;  // from this IR version on, an initialiser need not be an input

/// Nodes of a graph that its outputs do not need, back to front.
std::uint64_t drop_nodes(onnx::Graph& graph) {
  std::set<std::string> needed;
  for (const auto& output : graph.outputs) needed.insert(output.name);
  std::vector<onnx::Node> kept;
  std::uint64_t dropped = 0;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](const std::string& output) { return needed.contains(output); });
    if (!used) {
      ++dropped;
      continue;
    }
    for (onnx::Graph* inner : graphs_of(*node)) dropped += drop_nodes(*inner);
    add_reads(*node, needed);
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  return dropped;
}

std::set<std::string> all_reads(const onnx::Graph& graph) {
  std::set<std::string> out;
  for (const onnx::Node& node : graph.nodes) add_reads(node, out);
  for (const auto& output : graph.outputs) out.insert(output.name);
  return out;
}

/// Value infos of values that are gone.
void drop_infos(onnx::Graph& graph) {
  std::set<std::string> made;
  for (const onnx::Node& node : graph.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  std::erase_if(graph.value_info, [&](const auto& value) { return !made.contains(value.name); });
}

void count_calls(const std::vector<onnx::Node>& nodes, std::set<std::string>& calls) {
  for (const onnx::Node& node : nodes) {
    calls.insert(node.domain + ":" + node.op_type);
    for (const auto& attribute : node.attributes)
      for (const auto& graph : attribute.graphs) count_calls(graph->nodes, calls);
  }
}

std::uint64_t drop_functions(onnx::Model& model) {
  std::set<std::string> calls;
  count_calls(model.graph.nodes, calls);
  for (std::size_t before = 0; before != calls.size();) {
    before = calls.size();
    for (const auto& function : model.functions)
      if (calls.contains(function.domain + ":" + function.name)) count_calls(function.nodes, calls);
  }
  return std::erase_if(model.functions, [&](const onnx::Function& function) {
    return !calls.contains(function.domain + ":" + function.name);
  });
}

void add_inner_outputs(const onnx::Graph& graph, std::set<std::string>& names) {
  for (const onnx::Node& node : graph.nodes)
    for (const auto& attribute : node.attributes)
      for (const auto& inner : attribute.graphs) {
        for (const auto& output : inner->outputs) names.insert(output.name);
        add_inner_outputs(*inner, names);
      }
}

void add_change(Outcome& out, const char* what, std::uint64_t count) {
  if (count > 0) out.changes.push_back({what, count});
}

}  // namespace

Outcome raise_ir(onnx::Model model) {
  Outcome out{std::move(model), {}};
  if (out.model.ir_version >= kInputsApart) return out;
  out.changes.push_back({"was the version of the IR", static_cast<std::uint64_t>(out.model.ir_version)});
  out.model.ir_version = kInputsApart;
  onnx::Graph& graph = out.model.graph;
  std::set<std::string> constants;
  for (const auto& tensor : graph.initializers) constants.insert(tensor.name);
  add_change(out, "initialisers that were listed as inputs",
             std::erase_if(graph.inputs, [&](const auto& input) { return constants.contains(input.name); }));
  return out;
}

Outcome remove_dead_code(onnx::Model model) {
  Outcome out{std::move(model), {}};
  onnx::Graph& graph = out.model.graph;
  add_change(out, "nodes that no output needs", drop_nodes(graph));
  const auto read = all_reads(graph);
  std::set<std::string> inputs;
  for (const auto& input : graph.inputs) inputs.insert(input.name);
  add_change(out, "initialisers that nobody reads", std::erase_if(graph.initializers, [&](const auto& tensor) {
               return !read.contains(tensor.name) && !inputs.contains(tensor.name);
             }));
  add_change(out, "functions that nobody calls", drop_functions(out.model));
  if (!out.changes.empty()) drop_infos(graph);
  return out;
}

Outcome remove_idle_nodes(onnx::Model model) {
  Outcome out{std::move(model), {}};
  onnx::Graph& graph = out.model.graph;
  std::map<std::string, onnx::ElementType> types;
  for (const auto* list : {&graph.inputs, &graph.value_info})
    for (const auto& value : *list) types[value.name] = value.type;
  for (const auto& tensor : graph.initializers) types[tensor.name] = tensor.type;
  std::set<std::string> fixed;  // names that callers know, and what inner graphs hand out
  for (const auto& output : graph.outputs) fixed.insert(output.name);
  add_inner_outputs(graph, fixed);
  std::map<std::string, std::string> renamed;
  add_change(out, "nodes that change nothing", std::erase_if(graph.nodes, [&](const onnx::Node& node) {
               if (!node.domain.empty() || node.inputs.size() != 1 || fixed.contains(node.outputs[0])) return false;
               const auto type = types.find(node.inputs[0]);
               const bool idle =
                   node.op_type == "Identity" || (node.op_type == "Cast" && type != types.end() && type->second != 0 &&
                                                  node.int_or("to", 0) == type->second);
               if (!idle) return false;
               const auto earlier = renamed.find(node.inputs[0]);
               renamed[node.outputs[0]] = earlier == renamed.end() ? node.inputs[0] : earlier->second;
               return true;
             }));
  if (renamed.empty()) return out;
  rename_reads(graph, renamed);
  drop_infos(graph);
  return out;
}

Outcome merge_constants(onnx::Model model) {
  Outcome out{std::move(model), {}};
  onnx::Graph& graph = out.model.graph;
  std::set<std::string> fixed;  // names that callers know
  for (const auto& input : graph.inputs) fixed.insert(input.name);
  for (const auto& output : graph.outputs) fixed.insert(output.name);
  using Key = std::tuple<onnx::ElementType, std::vector<std::int64_t>, std::uint64_t>;
  std::map<Key, std::vector<const onnx::Initializer*>> seen;
  std::map<std::string, std::string> renamed;
  for (const onnx::Initializer& tensor : graph.initializers) {
    if (!tensor.data || fixed.contains(tensor.name)) continue;
    auto& alike = seen[{tensor.type, tensor.dims, tensor.bytes}];
    const auto twin = std::find_if(alike.begin(), alike.end(), [&](const onnx::Initializer* other) {
      return other->data->dtype() == tensor.data->dtype() &&
             (other->data->raw() == tensor.data->raw() ||
              std::memcmp(other->data->raw(), tensor.data->raw(), tensor.data->bytes()) == 0);
    });
    if (twin == alike.end())
      alike.push_back(&tensor);
    else
      renamed[tensor.name] = (*twin)->name;
  }
  if (renamed.empty()) return out;
  std::erase_if(graph.initializers, [&](const auto& tensor) { return renamed.contains(tensor.name); });
  rename_reads(graph, renamed);
  add_change(out, "initialisers that were there already", renamed.size());
  return out;
}

Result<Outcome> change_opset(onnx::Model model, std::int64_t version) {
  const auto known = model.opsets.find("");
  Outcome out;
  if (known != model.opsets.end() && known->second == version) {
    out.model = std::move(model);
    return out;
  }
  const std::uint64_t from = known == model.opsets.end() ? 0 : static_cast<std::uint64_t>(known->second);
  CALKIT_TRY(out.model, onnx::convert_opset(model, version));
  out.changes.push_back({"was the version of ai.onnx", from});
  return out;
}

namespace {

/// ONNX's inference gives up on Reshape to [-1, N]. Where the operand's last extent is N, the first one is the product
/// of the others: [B, S, N] becomes [B*S, N].
bool name_merged_axes(onnx::Graph& graph) {
  std::map<std::string, std::vector<onnx::Dim>> shapes;
  for (const auto* list : {&graph.inputs, &graph.value_info})
    for (const auto& value : *list)
      if (value.shape) shapes[value.name] = *value.shape;
  std::map<std::string, std::string> merged;
  for (const onnx::Node& node : graph.nodes) {
    if (node.op_type != "Reshape" || !node.domain.empty() || node.inputs.size() != 2) continue;
    const auto from = shapes.find(node.inputs[0]), to = shapes.find(node.outputs[0]);
    if (from == shapes.end() || to == shapes.end() || to->second.size() != 2 || from->second.size() < 2) continue;
    if (!std::holds_alternative<std::monostate>(to->second[0].value) ||
        from->second.back().value != to->second[1].value)
      continue;
    std::string product;
    for (std::size_t axis = 0; axis + 1 < from->second.size(); ++axis) {
      const onnx::Dim& dim = from->second[axis];
      if (dim.value == onnx::Dim::of(1).value) continue;
      const bool simple =
          !std::holds_alternative<std::monostate>(dim.value) && dim.text().find_first_of("+-*/ ") == std::string::npos;
      product += simple ? (product.empty() ? "" : "*") + dim.text() : "?";
    }
    if (!product.empty() && product.find('?') == std::string::npos) merged[node.outputs[0]] = product;
  }
  for (auto& value : graph.value_info)
    if (const auto found = merged.find(value.name); found != merged.end())
      (*value.shape)[0] = onnx::Dim::symbol(found->second);
  return !merged.empty();
}

}  // namespace

Result<Outcome> infer(onnx::Model model) {
  std::map<std::string, std::string> before;
  const auto text = [](const onnx::ValueInfo& value) {
    std::string out = std::to_string(value.type) + (value.shape ? "[" : "?");
    if (value.shape)
      for (const onnx::Dim& dim : *value.shape) out += dim.text() + ",";
    return out;
  };
  for (const auto& value : model.graph.value_info) before[value.name] = text(value);
  Outcome out;
  CALKIT_TRY(out.model, onnx::infer_shapes(model));
  if (name_merged_axes(out.model.graph)) {
    CALKIT_TRY(out.model, onnx::infer_shapes(out.model));
  }
  std::uint64_t fresh = 0;
  for (const auto& value : out.model.graph.value_info) {
    const auto known = before.find(value.name);
    fresh += known == before.end() || known->second != text(value);
  }
  add_change(out, "values whose shape is known now", fresh);
  return out;
}

}  // namespace calkit::passes
