#pragma once
/// Parts that Loop and Scan share.
#include "program.h"

namespace calkit::exec {

/// Slices of equal shape along a new axis. @param described what the graph says of a slice, for the case of none.
Result<Tensor> stack(const onnx::Node& node, Budget& budget, const std::vector<Tensor>& slices, std::size_t axis,
                     bool backwards, const onnx::ValueInfo& described);

Result<std::unique_ptr<Control>> make_scan(const onnx::Node& node, Control::Bodies bodies, Budget& budget);

}  // namespace calkit::exec
