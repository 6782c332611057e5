// Several nodes that are one step of a model become one operator of our own.
#include <algorithm>
#include <map>
#include <set>

#include "plan.h"

namespace calkit::exec {
namespace {

// Who makes and who reads each value of a graph.
class Uses {
 public:
  explicit Uses(onnx::Graph& graph) : graph_(graph), gone_(graph.nodes.size(), false) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const auto& name : graph.nodes[i].outputs) maker_[name] = i;
      for (const auto& name : graph.nodes[i].inputs) ++reads_[name];
    }
    for (const auto& output : graph.outputs) ++reads_[output.name];
    for (const auto& initializer : graph.initializers) constants_[initializer.name] = &initializer;
  }

  /// The node that makes a value, if it is of that kind and still there; else nullptr.
  onnx::Node* made_by(const std::string& value, std::string_view op_type, std::string_view domain = "") {
    const auto found = maker_.find(value);
    if (found == maker_.end() || gone_[found->second]) return nullptr;
    onnx::Node& node = graph_.nodes[found->second];
    return node.op_type == op_type && node.domain == domain ? &node : nullptr;
  }
  int reads(const std::string& value) const {
    const auto found = reads_.find(value);
    return found == reads_.end() ? 0 : found->second;
  }
  const onnx::Initializer* constant(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
  }
  void drop(const onnx::Node& node) { gone_[static_cast<std::size_t>(&node - graph_.nodes.data())] = true; }
  void finish() {
    std::size_t at = 0;
    std::erase_if(graph_.nodes, [&](const onnx::Node&) { return gone_[at++]; });
  }

 private:
  onnx::Graph& graph_;
  std::vector<bool> gone_;
  std::map<std::string, std::size_t> maker_;
  std::map<std::string, int> reads_;
  std::map<std::string, const onnx::Initializer*> constants_;
};

bool is_plain(const onnx::Node& node, std::string_view op_type, std::size_t inputs) {
  return node.op_type == op_type && node.domain.empty() && node.inputs.size() == inputs && node.outputs.size() == 1;
}

// Mul(Mul(gate, Sigmoid(gate)), up), the operands of either Mul in any order.
struct Gated {
  onnx::Node *sigmoid = nullptr, *silu = nullptr;
  std::string gate, up;
};
std::optional<Gated> match_gated(Uses& uses, const onnx::Node& product) {
  if (!is_plain(product, "Mul", 2)) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    Gated out;
    out.silu = uses.made_by(product.inputs[side], "Mul");
    if (out.silu == nullptr || uses.reads(product.inputs[side]) != 1) continue;
    for (std::size_t inner = 0; inner < 2; ++inner) {
      out.sigmoid = uses.made_by(out.silu->inputs[inner], "Sigmoid");
      out.gate = out.silu->inputs[1 - inner];
      if (out.sigmoid == nullptr || out.sigmoid->inputs[0] != out.gate || uses.reads(out.sigmoid->outputs[0]) != 1)
        continue;
      out.up = product.inputs[1 - side];
      return out;
    }
  }
  return std::nullopt;
}

// Rows of the weights of a product that may take a bias, or 0.
std::int64_t outputs_of(const Uses& uses, const onnx::Node& product) {
  if (product.inputs.size() != 2) return 0;
  const onnx::Initializer* weight = uses.constant(product.inputs[1]);
  return weight != nullptr && weight->dims.size() == 2 ? weight->dims[0] : 0;
}

void take_bias(Uses& uses, onnx::Node& add) {
  if (!is_plain(add, "Add", 2)) return;
  for (std::size_t side = 0; side < 2; ++side) {
    onnx::Node* product = uses.made_by(add.inputs[side], "MatMulNT", "calkit");
    const std::string bias = add.inputs[1 - side];
    const onnx::Initializer* values = uses.constant(bias);
    if (product == nullptr || uses.reads(add.inputs[side]) != 1 || values == nullptr || values->dims.size() != 1 ||
        values->dims[0] != outputs_of(uses, *product))
      continue;
    add.op_type = "MatMulNT";
    add.domain = "calkit";
    add.inputs = {product->inputs[0], product->inputs[1], bias};
    return uses.drop(*product);
  }
}

// One expert of a layer, walking back from the ScatterND that adds its answers; model/graph_experts.cpp builds it.
struct ExpertNodes {
  std::vector<onnx::Node*> nodes;
  std::string tokens, experts, weights, sum;  ///< what it reads: rows, chosen experts, their weights, the sum so far
  std::string gate, up, down;                 ///< its weights
  std::int64_t number = 0;
};

class ExpertMatcher {
 public:
  explicit ExpertMatcher(Uses& uses) : uses_(uses) {}

  std::optional<ExpertNodes> match(onnx::Node& scatter) {
    found_ = {};
    found_.nodes.push_back(&scatter);
    const auto* reduction = scatter.attribute("reduction");
    if (!is_plain(scatter, "ScatterND", 3) || reduction == nullptr || reduction->s != "add") return std::nullopt;
    found_.sum = scatter.inputs[0];
    const onnx::Node* rows_column = take(scatter.inputs[1], "Unsqueeze");
    const onnx::Node* weighted = take(scatter.inputs[2], "Mul");
    if (rows_column == nullptr || weighted == nullptr) return std::nullopt;
    if (!match_rows(rows_column->inputs[0]) || !match_weight(weighted->inputs[1]) || !match_mlp(weighted->inputs[0]))
      return std::nullopt;
    return found_;
  }

 private:
  const onnx::Node* take(const std::string& value, std::string_view op_type, std::string_view domain = "") {
    onnx::Node* node = uses_.made_by(value, op_type, domain);
    if (node != nullptr && std::find(found_.nodes.begin(), found_.nodes.end(), node) == found_.nodes.end())
      found_.nodes.push_back(node);
    return node;
  }

  std::optional<std::int64_t> number_of(const std::string& name) const {
    const onnx::Initializer* constant = uses_.constant(name);
    if (constant == nullptr || !constant->data || constant->data->dtype() != DType::kI64 ||
        constant->data->elements() != 1)
      return std::nullopt;
    return constant->data->data<std::int64_t>()[0];
  }

  bool match_rows(const std::string& value) {
    const onnx::Node* rows = take(value, "Gather");
    if (rows == nullptr || number_of(rows->inputs[1]) != 0 || rows->int_or("axis", 0) != 0) return false;
    const onnx::Node* where = take(rows->inputs[0], "NonZero");
    const onnx::Node* equal = where == nullptr ? nullptr : take(where->inputs[0], "Equal");
    if (equal == nullptr) return false;
    const auto number = number_of(equal->inputs[1]);
    if (!number) return false;
    found_.number = *number;
    found_.experts = equal->inputs[0];
    rows_ = value;
    where_ = rows->inputs[0];
    return true;
  }

  bool match_weight(const std::string& value) {
    const onnx::Node* column = take(value, "Unsqueeze");
    const onnx::Node* gathered = column == nullptr ? nullptr : take(column->inputs[0], "GatherND");
    if (gathered == nullptr || gathered->int_or("batch_dims", 0) != 0) return false;
    const onnx::Node* pairs = take(gathered->inputs[1], "Transpose");
    found_.weights = gathered->inputs[0];
    return pairs != nullptr && pairs->inputs[0] == where_;
  }

  bool match_mlp(const std::string& value) {
    const onnx::Node* down = take(value, "MatMulNT", "calkit");
    const onnx::Node* gated = down == nullptr ? nullptr : take(down->inputs[0], "SwiGLU", "calkit");
    if (gated == nullptr) return false;
    const onnx::Node* gate = take(gated->inputs[0], "MatMulNT", "calkit");
    const onnx::Node* up = take(gated->inputs[1], "MatMulNT", "calkit");
    if (gate == nullptr || up == nullptr || gate->inputs[0] != up->inputs[0]) return false;
    if (gate->inputs.size() != 2 || up->inputs.size() != 2 || down->inputs.size() != 2) return false;
    const onnx::Node* in = take(gate->inputs[0], "Gather");
    if (in == nullptr || in->inputs[1] != rows_ || in->int_or("axis", 0) != 0) return false;
    found_.tokens = in->inputs[0];
    found_.gate = gate->inputs[1];
    found_.up = up->inputs[1];
    found_.down = down->inputs[1];
    return uses_.constant(found_.gate) && uses_.constant(found_.up) && uses_.constant(found_.down);
  }

  Uses& uses_;
  ExpertNodes found_;
  std::string rows_, where_;
};

// A value that is zero everywhere: Expand of a constant of one element that is 0.
bool is_zero(Uses& uses, const std::string& value) {
  const onnx::Node* expand = uses.made_by(value, "Expand");
  const onnx::Initializer* zero = expand == nullptr ? nullptr : uses.constant(expand->inputs[0]);
  if (zero == nullptr || !zero->data || zero->data->elements() != 1) return false;
  const std::byte* bytes = zero->data->raw();
  return std::all_of(bytes, bytes + zero->data->bytes(), [](std::byte b) { return b == std::byte{0}; });
}

// All experts of the layer whose last ScatterND this is, numbered from 0; nothing if any of them is of another form.
std::optional<std::vector<ExpertNodes>> match_layer(Uses& uses, onnx::Node& last) {
  std::vector<ExpertNodes> chain;
  for (onnx::Node* scatter = &last; scatter != nullptr; scatter = uses.made_by(chain.back().sum, "ScatterND")) {
    auto expert = ExpertMatcher(uses).match(*scatter);
    if (!expert) return std::nullopt;
    chain.push_back(std::move(*expert));
  }
  std::reverse(chain.begin(), chain.end());
  if (!is_zero(uses, chain.front().sum)) return std::nullopt;
  std::map<std::string, int> inside;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const ExpertNodes &expert = chain[i], &first = chain.front();
    if (expert.number != static_cast<std::int64_t>(i) || expert.tokens != first.tokens ||
        expert.experts != first.experts || expert.weights != first.weights)
      return std::nullopt;
    for (const onnx::Node* node : expert.nodes)
      for (const auto& name : node->inputs) ++inside[name];
  }
  for (const auto& expert : chain)  // nobody else may read what goes away
    for (const onnx::Node* node : expert.nodes)
      if (node != &last && uses.reads(node->outputs[0]) != inside[node->outputs[0]]) return std::nullopt;
  return chain;
}

}  // namespace

void use_gated_units(onnx::Graph& graph) {
  Uses uses(graph);
  for (auto& node : graph.nodes) {
    const auto gated = match_gated(uses, node);
    if (!gated) continue;
    uses.drop(*gated->sigmoid);
    uses.drop(*gated->silu);
    node.op_type = "SwiGLU";
    node.domain = "calkit";
    node.inputs = {gated->gate, gated->up};
  }
  uses.finish();
}

void use_biases(onnx::Graph& graph) {
  Uses uses(graph);
  for (auto& node : graph.nodes) take_bias(uses, node);
  uses.finish();
}

void use_experts(onnx::Graph& graph) {
  Uses uses(graph);
  std::set<std::string> continued;  // sums that another ScatterND goes on with
  for (const auto& node : graph.nodes)
    if (is_plain(node, "ScatterND", 3)) continued.insert(node.inputs[0]);
  for (auto& node : graph.nodes) {
    if (!is_plain(node, "ScatterND", 3) || continued.contains(node.outputs[0])) continue;
    const auto chain = match_layer(uses, node);
    if (!chain) continue;
    std::vector<std::string> inputs = {chain->front().tokens, chain->front().experts, chain->front().weights};
    for (const auto& expert : *chain) {
      inputs.insert(inputs.end(), {expert.gate, expert.up, expert.down});
      for (const onnx::Node* gone : expert.nodes)
        if (gone != &node) uses.drop(*gone);
    }
    node.op_type = "Experts";
    node.domain = "calkit";
    node.inputs = std::move(inputs);
    node.attributes.clear();
  }
  uses.finish();
}

}  // namespace calkit::exec
