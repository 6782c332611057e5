#pragma once
// Visits every node of a model once, with the scopes its names live in; private to the module.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calkit/inventory/inventory.h"

namespace calkit::inventory {

std::string op_key(const onnx::Node& node);
/// "FLOAT[B, S, 256]"; "FLOAT[...]" when the rank is unknown, "?" when nothing is.
std::string value_text(const onnx::ValueInfo& value);

class Walk {
 public:
  Walk(const onnx::Model& model, Inventory& out) : model_(model), out_(out) {}
  void run();

 private:
  struct Known {
    std::string producer;    ///< op key, "(input)", "(initializer)"
    std::string text = "?";  ///< type and shape
    std::string type = "?";
    bool has_shape = false, is_output = false;
    std::uint64_t consumers = 0;
    const onnx::Initializer* weight = nullptr;
    std::set<std::string> readers;  ///< operators that read the weight
  };
  struct Scope {
    Scope* outer = nullptr;
    std::unordered_map<std::string_view, Known> values;
    Known* find(std::string_view name);
  };

  void graph(const onnx::Graph& graph, Scope* outer, const std::string& path);
  void function(const onnx::Function& function);
  void nodes(const std::vector<onnx::Node>& list, Scope& scope, const std::string& path);
  void node(const onnx::Node& node, Scope& scope, OpCounts& counts);
  void consume(std::string_view name, const std::string& consumer, Scope& scope);
  void close(Scope& scope, const std::string& path);
  void weight(const onnx::Initializer& tensor, const std::string& path);
  OpCounts& level(const std::string& path);
  void finish();

  const onnx::Model& model_;
  Inventory& out_;
  std::map<std::string, std::size_t> level_index_;
  std::map<std::string, Family> families_;
  std::vector<std::string> unused_values_, unused_weights_;
  std::uint64_t unused_weight_count_ = 0;
};

}  // namespace calkit::inventory
