#pragma once
// Attributes of a pattern against those of a node; private to the module.
#include <optional>
#include <string_view>

#include "calkit/onnx/model.h"

namespace calkit::fusion {

/// Of an integer or a float.
std::optional<double> number_of(const onnx::Attribute& attribute);
/// What an attribute is where a node leaves it out; nullopt: the operator has no such default, or nobody needed it yet.
std::optional<double> default_of(const onnx::Node& node, std::string_view name);
/// The node's attribute, stated or not, is the wanted one.
bool same_attribute(const onnx::Node& node, const onnx::Attribute& wanted);

}  // namespace calkit::fusion
