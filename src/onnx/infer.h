#pragma once
// ONNX's own shape inference, kept from what it cannot take; private to the module.
#include <set>
#include <string>

#include "convert.h"

namespace calkit::onnx {

/// Infers in place. @return why it gave up, or empty.
std::string infer(::onnx::ModelProto& proto);

/// Symbols that the file itself uses.
void collect_symbols(const Graph& graph, std::set<std::string>& out);
/// The inference names each axis it does not know ("unk__7"); those are unknown to us too.
void forget_new_symbols(Graph& graph, const std::set<std::string>& known);

/// Small tensors carry shapes and axes, which the inference reads; the others are told by type and dims alone.
void add_initializer(const Initializer& tensor, ::onnx::GraphProto& graph);

}  // namespace calkit::onnx
