#pragma once
// Who reads what in a graph and below it; private to the module.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "calkit/onnx/model.h"

namespace calkit::passes {

/// Names that the nodes of a graph read from outside their own list: their inputs, and what graphs inside them take
/// from around. May hold names that the inner graphs make themselves.
void add_reads(const onnx::Node& node, std::set<std::string>& names);
std::set<std::string> reads_of(const onnx::Node& node);

/// Inner graphs of a node.
std::vector<onnx::Graph*> graphs_of(onnx::Node& node);

/// Replaces a name wherever it is read, in inner graphs too.
void rename_reads(onnx::Graph& graph, const std::map<std::string, std::string>& names);

}  // namespace calkit::passes
