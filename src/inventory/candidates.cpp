#include "candidates.h"

#include <algorithm>
#include <unordered_map>

namespace calkit::inventory {
namespace {

using onnx::Node;

constexpr std::size_t kMaxReaders = 64;  // values of the patterns have a few; looking stays linear

class Search {
 public:
  explicit Search(const onnx::Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      for (const std::string& output : node.outputs) producer_[output] = &node;
      for (const std::string& input : node.inputs)
        if (!input.empty()) readers_[input].push_back(&node);
    }
    for (const auto& tensor : graph.initializers) tensors_[tensor.name] = &tensor;
    for (const auto& output : graph.outputs) outputs_.emplace(output.name, true);
  }

  std::vector<Candidate> run() {
    for (const Node& node : graph_.nodes) look(node);
    std::vector<Candidate> out;
    for (const char* name : {"RMSNorm", "LayerNorm", "RoPE", "attention", "SwiGLU", "MoE router", "lm_head"})
      if (const auto found = found_.find(name); found != found_.end()) out.push_back(found->second);
    return out;
  }

 private:
  void look(const Node& node) {
    const std::string& op = node.op_type;
    if (op == "RMSNormalization" || op == "SimplifiedLayerNormalization" || op == "SkipSimplifiedLayerNormalization")
      tell("RMSNorm", true, node);
    if (op == "LayerNormalization") tell("LayerNorm", true, node);
    if (op == "ReduceMean" && is_root_mean_square(node)) tell("RMSNorm", false, node);
    if (op == "RotaryEmbedding") tell("RoPE", true, node);
    if (op == "Concat" && is_rotation(node)) tell("RoPE", false, node);
    if (op == "Attention" || op == "GroupQueryAttention" || op == "MultiHeadAttention") tell("attention", true, node);
    if (op == "Softmax" && is_attention(node)) tell("attention", false, node);
    if (op == "Sigmoid" && is_gate(node, true)) tell("SwiGLU", false, node);
    if (op == "Swish" && is_gate(node, false)) tell("SwiGLU", false, node);
    if (op == "SwiGLU") tell("SwiGLU", true, node);
    if (op == "MoE" || op == "QMoE") tell("MoE router", true, node);
    if (op == "TopK" && reaches_back(node.inputs.front(), {"Softmax", "Sigmoid", "MatMul", "Gemm"}, 3))
      tell("MoE router", false, node);
    if ((op == "MatMul" || op == "Gemm") && is_head(node)) tell("lm_head", false, node);
  }

  void tell(const char* pattern, bool fused, const Node& node) {
    Candidate& out = found_[pattern];
    if (out.pattern.empty()) out.example = node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
    out.pattern = pattern;
    ++(fused ? out.fused : out.spelt_out);
  }

  const Node* producer(const std::string& value) const {
    const auto found = producer_.find(value);
    return found == producer_.end() ? nullptr : found->second;
  }
  /// The only reader of that operator; nullptr: none or several.
  const Node* reader(const Node& node, std::string_view op) const {
    if (node.outputs.empty()) return nullptr;
    const auto list = readers_.find(node.outputs[0]);
    if (list == readers_.end() || list->second.size() > kMaxReaders) return nullptr;
    const Node* out = nullptr;
    for (const Node* candidate : list->second) {
      if (candidate->op_type != op) continue;
      if (out && out != candidate) return nullptr;
      out = candidate;
    }
    return out;
  }

  /// mean(x^2) + eps, then its square root.
  bool is_root_mean_square(const Node& mean) const {
    const Node* square = mean.inputs.empty() ? nullptr : producer(mean.inputs[0]);
    const bool squared =
        square && (square->op_type == "Pow" ||
                   (square->op_type == "Mul" && square->inputs.size() == 2 && square->inputs[0] == square->inputs[1]));
    const Node* add = squared ? reader(mean, "Add") : nullptr;
    const Node* centred = squared && !square->inputs.empty() ? producer(square->inputs[0]) : nullptr;
    if (centred && centred->op_type == "Sub") return false;  // a LayerNorm
    return add && reader(*add, "Sqrt");
  }

  /// concat(-b, a) * sin + x * cos
  bool is_rotation(const Node& concat) const {
    const Node* first = concat.inputs.empty() ? nullptr : producer(concat.inputs[0]);
    const Node* product = first && first->op_type == "Neg" ? reader(concat, "Mul") : nullptr;
    return product && reader(*product, "Add");
  }

  /// softmax(q k) v, with scales, masks and casts between.
  bool is_attention(const Node& softmax) const {
    if (softmax.inputs.empty() || !reaches_back(softmax.inputs[0], {"MatMul"}, 5)) return false;
    const Node* at = &softmax;
    for (int steps = 0; steps < 4 && at; ++steps) {
      if (reader(*at, "MatMul")) return true;
      const Node* next = nullptr;
      for (const char* op : {"Cast", "Where", "Dropout", "Identity", "IsNaN"})
        if (!next) next = reader(*at, op);
      if (next && next->op_type == "IsNaN") next = reader(*at, "Where");
      at = next;
    }
    return false;
  }

  /// x * sigmoid(x), times something else.
  bool is_gate(const Node& node, bool times_itself) const {
    const Node* silu = &node;
    if (times_itself) {
      silu = reader(node, "Mul");
      if (!silu || node.inputs.empty()) return false;
      if (std::find(silu->inputs.begin(), silu->inputs.end(), node.inputs[0]) == silu->inputs.end()) return false;
    }
    return reader(*silu, "Mul") != nullptr;
  }

  /// A path over first inputs, through what does not compute a product.
  bool reaches_back(const std::string& value, std::initializer_list<std::string_view> ops, int steps) const {
    const Node* at = producer(value);
    for (int i = 0; i < steps && at; ++i) {
      if (std::find(ops.begin(), ops.end(), at->op_type) != ops.end()) return true;
      const std::size_t next = at->op_type == "Where" && at->inputs.size() > 2 && !producer(at->inputs[1]) ? 2
                               : at->op_type == "Where"                                                    ? 1
                                                                                                           : 0;
      at = at->inputs.size() > next ? producer(at->inputs[next]) : nullptr;
    }
    return false;
  }

  /// A weight of the largest dims there are, whose product leaves the graph.
  bool is_head(const Node& node) const {
    if (node.inputs.size() < 2 || node.outputs.empty() || vocabulary() == 0) return false;
    const auto* weight = tensor_behind(node.inputs[1]);
    if (!weight || weight->dims.size() != 2) return false;
    if (weight->dims[0] != vocabulary() && weight->dims[1] != vocabulary()) return false;
    std::string value = node.outputs[0];
    for (int i = 0; i < 6; ++i) {
      if (outputs_.contains(value)) return true;
      const auto list = readers_.find(value);
      if (list == readers_.end() || list->second.size() != 1 || list->second[0]->outputs.empty()) return false;
      value = list->second[0]->outputs[0];
    }
    return false;
  }

  const onnx::Initializer* tensor_behind(const std::string& value) const {
    if (const auto found = tensors_.find(value); found != tensors_.end()) return found->second;
    const Node* node = producer(value);
    if (!node || node->inputs.empty() || (node->op_type != "Transpose" && node->op_type != "Cast")) return nullptr;
    const auto found = tensors_.find(node->inputs[0]);
    return found == tensors_.end() ? nullptr : found->second;
  }

  /// Rows of the largest table that a Gather reads.
  std::int64_t vocabulary() const {
    if (vocabulary_ >= 0) return vocabulary_;
    vocabulary_ = 0;
    for (const Node& node : graph_.nodes) {
      if (node.op_type != "Gather" || node.inputs.empty()) continue;
      const auto* table = tensor_behind(node.inputs[0]);
      if (table && table->dims.size() == 2) vocabulary_ = std::max(vocabulary_, table->dims[0]);
    }
    return vocabulary_;
  }

  const onnx::Graph& graph_;
  std::unordered_map<std::string_view, const Node*> producer_;
  std::unordered_map<std::string_view, std::vector<const Node*>> readers_;
  std::unordered_map<std::string_view, const onnx::Initializer*> tensors_;
  std::unordered_map<std::string_view, bool> outputs_;
  std::map<std::string, Candidate> found_;
  mutable std::int64_t vocabulary_ = -1;
};

}  // namespace

std::vector<Candidate> find_candidates(const onnx::Graph& graph) {
  return Search(graph).run();
}

}  // namespace calkit::inventory
