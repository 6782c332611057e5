#pragma once
// Visits every node of a model once, with the scopes its names live in; private to the module.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calkit/inventory/inventory.h"
#include "fact.h"
#include "judge.h"
#include "parameters.h"

namespace calkit::inventory {

/// "FLOAT[B, S, 256]"; "FLOAT[...]" when the rank is unknown, "?" when nothing is.
std::string value_text(const onnx::ValueInfo& value);
/// Symbols are read as sums and products where they are some.
std::optional<Dims> dims_of(const onnx::ValueInfo& value);

class Walk {
 public:
  Walk(const onnx::Model& model, const manifest::OpSupport& matrix, Inventory& out)
      : model_(model), out_(out), judge_(matrix, model.opsets) {}
  void run();

 private:
  struct Scope {
    Scope* outer = nullptr;
    std::unordered_map<std::string_view, Fact> values;
    Fact* find(std::string_view name);
  };
  struct Body {
    const onnx::Function* function = nullptr;
    std::uint64_t calls = 0;
    bool open = false;  ///< is being visited
  };

  void graph(const onnx::Graph& graph, Scope* outer, const std::string& path);
  void weights(const onnx::Graph& graph, Scope& scope, const std::string& path);
  void stated_shapes(const onnx::Graph& graph, Scope& scope);
  void nodes(const std::vector<onnx::Node>& list, Scope& scope, const std::string& path);
  void node(const onnx::Node& node, Scope& scope, OpCounts& counts);
  void function(Body& body, const onnx::Node* call, Scope* caller);
  Body* body_of(const onnx::Node& node);

  /// What is known of a node's values when it is visited.
  struct View;
  void visit(View& view, const onnx::Node& original, const std::string& op, Scope& scope, OpCounts& counts);
  void follow(View& view, Scope& scope);
  void refine(Fact& known, Fact&& found);
  Family& count(const View& view, const std::string& op);
  void spend(const View& view, const std::string& op, Family& family);
  void tokens(const View& view);
  void layer(const onnx::Graph& graph, Scope& scope);

  void consume(std::string_view name, const std::string& consumer, Scope& scope);
  void close(Scope& scope, const std::string& path);
  void weight(const onnx::Initializer& tensor, const std::string& path);
  OpCounts& level(const std::string& path);
  void finish();

  const onnx::Model& model_;
  Inventory& out_;
  Judge judge_;
  Parameters parameters_;
  std::map<std::string, std::size_t> level_index_;
  std::map<std::string, Family> families_;
  std::unordered_map<const onnx::Node*, Family*> family_of_;
  std::map<std::string, Body> functions_;
  std::set<std::string> roots_;       ///< symbols of the graph's inputs
  const onnx::Node* call_ = nullptr;  ///< whose function is being visited
  bool counting_ = true;              ///< false while a function's body is visited again
  bool spending_ = true;              ///< false in functions that nobody calls
  int depth_ = 0;                     ///< functions that are open
  std::uint64_t repeated_ = 0;        ///< nodes of bodies that were visited again
  std::int64_t table_elements_ = 0;
  std::vector<std::string> unused_values_, unused_weights_;
  std::uint64_t unused_weight_count_ = 0;
};

}  // namespace calkit::inventory
