#pragma once
// Parts of a graph as graphs of their own; private to the module.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calkit/onnx/model.h"
#include "calkit/tensor/tensor.h"

namespace calkit::passes {

/// What is known of the values of a graph.
struct Known {
  std::map<std::string, onnx::ValueInfo> types;  ///< of all levels
  std::map<std::string, Tensor> values;          ///< of the main graph, in one run
};

/// Indices in ascending order.
using Kept = std::vector<std::size_t>;

/// The model with these nodes of its main graph. What they read of others becomes a constant where its value is known
/// and otherwise an input; what only others read becomes an output, or its Size does where nothing tells its type.
/// nullopt for no nodes and for an input whose type nothing tells.
std::optional<onnx::Model> keep_nodes(const onnx::Model& from, const Kept& kept, const Known& known);

/// The model with these outputs and what they need.
std::optional<onnx::Model> keep_outputs(const onnx::Model& from, const Kept& kept);

/// The model with a constant as an input.
std::optional<onnx::Model> open_constant(const onnx::Model& from, const std::string& name, const Known& known);

/// One branch of the main graph's If node at `index` in the place of it.
std::optional<onnx::Model> take_branch(const onnx::Model& from, std::size_t index, const std::string& branch);

/// A graph inside the main one, by node and graph of a node, from outside in.
using Place = std::vector<std::pair<std::size_t, std::size_t>>;
std::vector<Place> inner_places(const onnx::Model& model);
std::size_t inner_nodes(const onnx::Model& model, const Place& place);
/// The model with these nodes of an inner graph; what they read of others becomes an input of the main graph.
std::optional<onnx::Model> keep_inner_nodes(const onnx::Model& from, const Place& place, const Kept& kept,
                                            const Known& known);

/// Of all levels, functions included.
std::uint64_t count_nodes(const onnx::Model& model);

}  // namespace calkit::passes
