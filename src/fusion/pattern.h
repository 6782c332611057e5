#pragma once
// Small graphs that are looked for in large ones; private to the module.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calkit/onnx/model.h"

namespace calkit::fusion {

/// Who makes and who reads each value of a graph, and what is known of it.
class View {
 public:
  explicit View(const onnx::Graph& graph);

  const onnx::Graph& graph() const { return graph_; }
  /// The node that makes a value, and which of its outputs it is.
  struct Source {
    std::size_t node = 0, output = 0;
  };
  std::optional<Source> source(const std::string& value) const;
  const std::vector<std::size_t>& readers(const std::string& value) const;  ///< nodes, graphs inside them counted too
  bool is_output(const std::string& value) const { return outputs_.contains(value); }
  /// An initialiser that no caller may replace. Its data may be absent.
  const onnx::Initializer* initializer(const std::string& value) const;
  /// Of such an initialiser or of a Constant node; nullopt: the value is no constant, or has no data.
  std::optional<Tensor> constant(const std::string& value) const;
  std::optional<std::vector<std::int64_t>> constant_ints(const std::string& value) const;
  onnx::ElementType type(const std::string& value) const;                       ///< 0: unknown
  std::optional<std::vector<onnx::Dim>> shape(const std::string& value) const;  ///< nullopt: unknown
  bool same_shape(const std::string& a, const std::string& b) const;            ///< both known, every extent equal

 private:
  const onnx::Graph& graph_;
  std::unordered_map<std::string, Source> sources_;
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;
  std::unordered_map<std::string, const onnx::Initializer*> initializers_;
  std::unordered_map<std::string, const onnx::ValueInfo*> infos_;
  std::set<std::string> outputs_;
};

/// A pattern is a list of nodes in which every value has a name of its own. Values that no node makes are its inputs;
/// one whose name begins with '=' has to be a constant. Constant nodes stand for that very value. Attributes have to be
/// the same, defaults included; one that refers to another name (`ref`) takes what is there. A Cast to the type that a
/// value has already may be missing. The last node is where the search begins.
struct Pattern {
  std::vector<onnx::Node> nodes;
  std::set<std::string> outputs;  ///< values that others may read
  std::set<std::string> kept;     ///< first outputs of nodes that stay in the graph
};
Pattern pattern_of(const onnx::Function& function);

/// A pattern found in a graph.
struct Match {
  std::map<std::string, std::string> values;          ///< pattern's name -> graph's name
  std::map<std::string, onnx::Attribute> attributes;  ///< by what a `ref` names
  std::set<std::size_t> nodes;                        ///< of the graph, those kept included
  std::set<std::size_t> gone;                         ///< those that the fusion takes out
  std::string_view failed;  ///< operators and wiring fit, but this precondition does not hold; empty: all do
  const std::string& value(const std::string& name) const { return values.at(name); }
};

/// nullopt: the node does not begin the pattern. Otherwise `failed` may name one of the preconditions that every
/// pattern has: "attributes", "constants", "operands" (one value in several places), "readers" (nobody else reads what
/// disappears).
std::optional<Match> match(const Pattern& pattern, const View& view, std::size_t node);

}  // namespace calkit::fusion
