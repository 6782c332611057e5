#pragma once
// ONNX's own shape inference, kept from what it cannot take; private to the module.
#include <set>
#include <string>

#include "convert.h"

namespace calkit::onnx {

/// Infers in place. @return why it gave up, or empty.
std::string infer(::onnx::ModelProto& proto);

/// The same for a file that anybody made.
struct Inference {
  std::string note;                   ///< why it gave up, or what does not fit together
  std::vector<std::string> problems;  ///< nodes that break their operator's definition, types that contradict
};
Inference infer_and_judge(::onnx::ModelProto& proto);
/// Versions that the linked ONNX does not know, one sentence each.
std::vector<std::string> version_problems(const Model& model);

/// Symbols that the file itself uses.
void collect_symbols(const Graph& graph, std::set<std::string>& out);
/// The inference names each axis it does not know ("unk__7"); those are unknown to us too.
void forget_new_symbols(Graph& graph, const std::set<std::string>& known);

/// Small tensors carry shapes and axes, which the inference reads; the others are told by type and dims alone.
void add_initializer(const Initializer& tensor, ::onnx::GraphProto& graph);

}  // namespace calkit::onnx
