#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace calkit::fusion {
namespace {

std::vector<Rule> rules_of(std::string_view id, std::optional<std::int64_t> top_k) {
  if (id == "flash-attention") return attention_rules();
  if (id == "qkv-rope-kv-scatter") return rope_rules();
  if (id == "moe-experts") return expert_rules();
  if (id == "rmsnorm-quantise-gemm") return projection_rules();
  if (id == "swiglu-down-residual") return gate_rules();
  return head_rules(top_k.value_or(0));
}

/// Values that a node moves through memory.
void add_traffic(const onnx::Node& node, const View& view, std::vector<std::string>& out) {
  for (const char* view_op : {"Reshape", "Unsqueeze", "Squeeze", "Shape", "Constant", "Identity", "Dispatch"})
    if (node.op_type == view_op) return;
  const bool turns_weight = node.op_type == "Transpose" && view.initializer(node.inputs[0]) != nullptr;
  if (turns_weight) return;
  if (node.op_type == "RopeScatterPast") {  // new rows are written where they belong, the past stays where it is
    for (const std::size_t i : {0, 1, 2, 3, 4, 1, 2}) out.push_back(node.inputs[i]);
    out.push_back(node.outputs[0]);
    return;
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool table = i == 0 && node.op_type == "Gather" && node.domain.empty();
    const std::string& name = table ? node.outputs[0] : node.inputs[i];
    if (!name.empty()) out.push_back(name);
  }
  for (const std::string& name : node.outputs)
    if (!name.empty()) out.push_back(name);
}

/// Where a rule did not fuse, by the value at which its search began.
struct Place {
  std::string op_type;
  Refusal refusal;
};
using Places = std::map<std::string, Place>;

/// One rule over the whole graph, from its end: what a place takes is not taken twice.
class Application {
 public:
  explicit Application(onnx::Graph& graph) : graph_(graph) {}

  void run(const Rule& rule, std::vector<Site>& sites, Places& refused) {
    const View view(graph_);
    Names names(graph_);
    std::set<std::size_t> gone;
    std::vector<onnx::Node> made;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      auto found = match(rule.pattern, view, i);
      if (!found || std::any_of(found->gone.begin(), found->gone.end(), [&](auto n) { return gone.contains(n); }))
        continue;
      if (found->failed.empty() && rule.check) found->failed = rule.check(*found, view);
      if (found->failed == kElsewhere) continue;
      if (!found->failed.empty()) {
        const onnx::Node& node = graph_.nodes[i];
        refused.insert_or_assign(node.outputs.front(), Place{node.op_type, {node.name, found->failed}});
        continue;
      }
      Site site;
      for (const std::size_t taken : found->gone) add_traffic(graph_.nodes[taken], view, site.before);
      for (onnx::Node& node : rule.make(*found, view, names)) {
        add_traffic(node, view, site.after);
        if (node.domain == kDomain) site.kernels.push_back(node.op_type);
        made.push_back(std::move(node));
      }
      sites.push_back(std::move(site));
      gone.insert(found->gone.begin(), found->gone.end());
    }
    std::size_t at = 0;
    std::erase_if(graph_.nodes, [&](const onnx::Node&) { return gone.contains(at++); });
    std::move(made.begin(), made.end(), std::back_inserter(graph_.nodes));
  }

 private:
  onnx::Graph& graph_;
};

/// A place that a later rule took is no refusal.
std::vector<Refusal> still_there(const onnx::Graph& graph, const Places& refused) {
  std::vector<Refusal> out;
  for (const auto& node : graph.nodes)
    if (const auto found = node.outputs.empty() ? refused.end() : refused.find(node.outputs.front());
        found != refused.end() && found->second.op_type == node.op_type)
      out.push_back(found->second.refusal);
  return out;
}

/// Calls of the domain that a graph has already are what this version of it says.
Status check_calls(const onnx::Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (node.domain != kDomain) continue;
    const std::string place = fmt::format("{} '{}'", node.op_type, node.name);
    const onnx::Function* function = kernel_function(node.op_type);
    if (function == nullptr)
      return input_error("graph", place, "an operator that the domain does not have", "those of docs/formats/fusion.md",
                         "fuse the graph it was made of with this version");
    if (node.inputs.size() != function->inputs.size() || node.outputs.size() != function->outputs.size())
      return input_error("graph", place, fmt::format("{} inputs, {} outputs", node.inputs.size(), node.outputs.size()),
                         fmt::format("{} and {}", function->inputs.size(), function->outputs.size()),
                         "fuse the graph it was made of with this version");
  }
  return {};
}

void forget_values(onnx::Graph& graph) {
  std::set<std::string> made;
  for (const auto& node : graph.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  std::erase_if(graph.value_info, [&](const auto& value) { return !made.contains(value.name); });
}

/// The logits go, the best of them and their ids come in their place.
void put_choice_among_outputs(onnx::Graph& graph) {
  const View view(graph);
  const auto gone = std::find_if(graph.outputs.begin(), graph.outputs.end(), [&](const onnx::ValueInfo& output) {
    return !view.source(output.name) && output.shape && !output.shape->empty();
  });
  const auto head = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const onnx::Node& node) {
    return node.domain == kDomain && node.op_type.ends_with("LinearTopK") && !view.is_output(node.outputs[0]);
  });
  if (gone == graph.outputs.end() || head == graph.nodes.end()) return;
  onnx::ValueInfo values = *gone, ids = *gone;
  values.name = head->outputs[0];
  ids.name = head->outputs[1];
  ids.type = onnx::from_dtype(DType::kI64);
  values.shape->back() = ids.shape->back() = onnx::Dim::of(head->attribute("k")->ints.front());
  *gone = std::move(values);
  graph.outputs.insert(gone + 1, std::move(ids));
}

void add_functions(onnx::Model& model) {
  std::set<std::string> called;
  for (const auto& node : model.graph.nodes)
    if (node.domain == kDomain) called.insert(node.op_type);
  // Others stay: inner graphs and other functions may call them.
  std::erase_if(model.functions,
                [&](const auto& function) { return function.domain == kDomain && called.contains(function.name); });
  for (const auto& function : kernel_functions())
    if (called.contains(function.name)) model.functions.push_back(function);
  if (!called.empty()) model.opsets[kDomain] = kDomainVersion;
}

}  // namespace

Names::Names(const onnx::Graph& graph) {
  for (const auto& input : graph.inputs) taken_.insert(input.name);
  for (const auto& tensor : graph.initializers) taken_.insert(tensor.name);
  for (const auto& node : graph.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
}

std::string Names::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

onnx::Node call(const Match& match, std::string_view kernel, const std::map<std::string, std::string>& renamed) {
  const onnx::Function& function = *kernel_function(kernel);
  const auto value = [&](const std::string& name) {
    const auto other = renamed.find(name);
    return other != renamed.end() ? other->second : match.value(name);
  };
  onnx::Node out;
  out.op_type = function.name;
  out.domain = kDomain;
  for (const std::string& name : function.inputs) out.inputs.push_back(value(name));
  for (const std::string& name : function.outputs) out.outputs.push_back(value(name));
  out.name = out.outputs.front();
  for (const std::string& name : function.attribute_names)
    if (const auto found = match.attributes.find(name); found != match.attributes.end()) {
      out.attributes.push_back(found->second);
      out.attributes.back().name = name;
    }
  return out;
}

Rule rule_of(std::string_view kernel, std::function<std::string_view(const Match&, const View&)> check) {
  Rule out;
  out.pattern = pattern_of(*kernel_function(kernel));
  out.check = std::move(check);
  out.make = [name = std::string(kernel)](const Match& match, const View&, Names&) {
    return std::vector{call(match, name)};
  };
  return out;
}

Status check_id(std::string_view id) {
  std::string ids;
  for (const Fusion& fusion : catalogue()) {
    if (fusion.id == id) return {};
    ids += (ids.empty() ? "" : ", ") + std::string(fusion.id);
  }
  return Error(ErrorKind::kUsage, fmt::format("there is no fusion '{}'; there are: {}", id, ids));
}

Result<Applied> apply(std::string_view id, onnx::Model model, std::optional<std::int64_t> top_k) {
  CALKIT_CHECK_OK(check_id(id));
  const auto opset = model.opsets.find("");
  if (opset == model.opsets.end() || opset->second < kOpset)
    return input_error("graph", "/opset_import",
                       fmt::format("ai.onnx version {}", opset == model.opsets.end() ? 0 : opset->second),
                       fmt::format("{} and later", kOpset),
                       fmt::format("convert it first: calkit onnx-normalize GRAPH --opset {} --out DIR", kOpset));
  CALKIT_CHECK_OK(check_calls(model.graph));
  Applied out;
  Places refused;
  if (id != "head-topk" || top_k)
    for (const Rule& rule : rules_of(id, top_k)) Application(model.graph).run(rule, out.sites, refused);
  if (id == "head-topk") put_choice_among_outputs(model.graph);
  out.refused = still_there(model.graph, refused);
  forget_values(model.graph);
  add_functions(model);
  out.model = std::move(model);
  return out;
}

}  // namespace calkit::fusion
