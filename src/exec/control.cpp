// If and Loop. Scan is in control_scan.cpp.
#include "control.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "calkit/base/checked.h"

namespace calkit::exec {
namespace {

Error control_error(const onnx::Node& node, std::string found, std::string allowed) {
  return input_error("graph", node_label(node), found, allowed);
}

Result<bool> read_condition(const onnx::Node& node, const Tensor* value) {
  if (value == nullptr) return true;
  if (value->dtype() != DType::kBool || value->elements() != 1)
    return control_error(node, "condition " + tensor_text(*value), "one bool");
  return value->data<std::uint8_t>()[0] != 0;
}

class IfControl : public Control {
 public:
  IfControl(const onnx::Node& node, Bodies bodies) : node_(node), bodies_(std::move(bodies)) {}
  Result<std::vector<Tensor>> run(std::span<const Tensor* const> inputs) override {
    CALKIT_TRY(const bool yes, read_condition(node_, inputs[0]));
    Body& body = bodies_.find(yes ? "then_branch" : "else_branch")->second;
    CALKIT_TRY(auto made, body.program->run({}, inputs.subspan(body.first_capture)), "in " + node_label(node_));
    return made;
  }

 private:
  const onnx::Node& node_;
  Bodies bodies_;
};

// Trips and condition, both optional, then the carried values. The body takes the turn's number, the condition and the
// carried values; it gives the condition, the carried values, and a slice of each scan output.
class LoopControl : public Control {
 public:
  LoopControl(const onnx::Node& node, Bodies bodies, Budget& budget)
      : node_(node), bodies_(std::move(bodies)), budget_(budget) {}

  Result<std::vector<Tensor>> run(std::span<const Tensor* const> inputs) override {
    Body& body = bodies_.begin()->second;
    const std::size_t carried = node_.inputs.size() < 2 ? 0 : node_.inputs.size() - 2;
    CALKIT_TRY(const std::int64_t trips, read_trips(node_.inputs.empty() ? nullptr : inputs[0]));
    CALKIT_TRY(bool going, read_condition(node_, node_.inputs.size() > 1 ? inputs[1] : nullptr));
    std::vector<Tensor> state(2);
    for (std::size_t i = 0; i < carried; ++i) {
      if (inputs[2 + i] == nullptr) return control_error(node_, "a carried value left out", "a tensor");
      state.push_back(*inputs[2 + i]);
    }
    std::vector<std::vector<Tensor>> scans(body.program->graph().outputs.size() - 1 - carried);
    for (std::int64_t turn = 0; going && turn < trips; ++turn) {
      CALKIT_CHECK_OK(budget_.spend(node_));
      state[0] = Tensor::of<std::int64_t>({}, {turn});
      state[1] = Tensor::of<bool>({}, {true});
      CALKIT_TRY(auto made, body.program->run(state, inputs.subspan(body.first_capture)),
                 fmt::format("in turn {} of {}", turn, node_label(node_)));
      CALKIT_TRY(going, read_condition(node_, &made[0]));
      for (std::size_t i = 0; i < carried; ++i) state[2 + i] = std::move(made[1 + i]);
      for (std::size_t i = 0; i < scans.size(); ++i) scans[i].push_back(std::move(made[1 + carried + i]));
    }
    std::vector<Tensor> out(state.begin() + 2, state.end());
    for (std::size_t i = 0; i < scans.size(); ++i) {
      CALKIT_TRY(Tensor stacked,
                 stack(node_, budget_, scans[i], 0, false, body.program->graph().outputs[1 + carried + i]));
      out.push_back(std::move(stacked));
    }
    out.resize(std::max(out.size(), node_.outputs.size()));
    return out;
  }

 private:
  Result<std::int64_t> read_trips(const Tensor* value) const {
    if (value == nullptr) return INT64_MAX;
    if (value->dtype() != DType::kI64 || value->elements() != 1)
      return control_error(node_, "trip count " + tensor_text(*value), "one i64");
    return value->data<std::int64_t>()[0];
  }

  const onnx::Node& node_;
  Bodies bodies_;
  Budget& budget_;
};

// The graphs that the node must have, and how many inputs and outputs each.
struct Form {
  std::vector<const char*> graphs;
  std::vector<std::string_view> attributes;
};
Form form_of(const onnx::Node& node) {
  if (node.op_type == "If") return {{"then_branch", "else_branch"}, {}};
  if (node.op_type == "Loop") return {{"body"}, {}};
  return {
      {"body"},
      {"num_scan_inputs", "scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"}};
}

Status check_form(const onnx::Node& node, const Control::Bodies& bodies) {
  const Form form = form_of(node);
  for (const char* name : form.graphs)
    if (!bodies.contains(name)) return control_error(node, fmt::format("no graph '{}'", name), "one");
  for (const auto& attribute : node.attributes)
    if (!bodies.contains(attribute.name) &&
        std::find(form.attributes.begin(), form.attributes.end(), attribute.name) == form.attributes.end())
      return control_error(node, "attribute '" + attribute.name + "'", fmt::format("{}", fmt::join(form.graphs, ", ")));
  if (bodies.size() != form.graphs.size()) return control_error(node, "another graph", "the operator's own");
  if (node.inputs.empty() && node.op_type != "Loop") return control_error(node, "no inputs", "one or more");
  return {};
}

// Loop and If: as many inputs and outputs as the node has.
Status check_counts(const onnx::Node& node, const Control::Bodies& bodies) {
  for (const auto& [name, body] : bodies) {
    const auto& graph = body.program->graph();
    const std::size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
    const bool loop = node.op_type == "Loop";
    const std::size_t inputs = loop ? 2 + carried : 0, outputs = loop ? 1 + node.outputs.size() : node.outputs.size();
    const bool fits = graph.inputs.size() == inputs && graph.outputs.size() >= outputs &&
                      (!loop || graph.outputs.size() >= 1 + carried);
    if (!fits)
      return control_error(
          node, fmt::format("graph '{}' of {} inputs and {} outputs", name, graph.inputs.size(), graph.outputs.size()),
          fmt::format("{} inputs and {} outputs", inputs, outputs));
  }
  return {};
}

}  // namespace

Result<Tensor> stack(const onnx::Node& node, Budget& budget, const std::vector<Tensor>& slices, std::size_t axis,
                     bool backwards, const onnx::ValueInfo& described) {
  const auto count = static_cast<std::int64_t>(slices.size());
  if (slices.empty()) {  // no turn was made: all that is known is what the graph says
    Shape shape = {0};
    for (const auto& dim : described.shape.value_or(std::vector<onnx::Dim>{})) {
      const auto* number = std::get_if<std::int64_t>(&dim.value);
      shape.push_back(number == nullptr ? 0 : *number);
    }
    return budget.allocate(node, onnx::to_dtype(described.type).value_or(DType::kF32), shape);
  }
  const Tensor& first = slices.front();
  for (const Tensor& slice : slices)
    if (slice.shape() != first.shape() || slice.dtype() != first.dtype())
      return control_error(node, "scan output " + tensor_text(slice), tensor_text(first) + " as in the first turn");
  if (axis > first.rank())
    return control_error(node, fmt::format("scan axis {}", axis), fmt::format("0 to {}", first.rank()));
  Shape shape = first.shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), count);
  CALKIT_TRY(Tensor y, budget.allocate(node, first.dtype(), shape));
  const std::size_t outer = extent(first.shape(), 0, axis);
  const std::size_t run = outer == 0 ? 0 : first.bytes() / outer;
  std::byte* to = y.mutable_raw();
  for (std::size_t block = 0; block < outer && run > 0; ++block)
    for (std::size_t i = 0; i < slices.size(); ++i, to += run)
      std::memcpy(to, slices[backwards ? slices.size() - 1 - i : i].raw() + block * run, run);
  return y;
}

bool Control::handles(const onnx::Node& node) {
  return node.domain.empty() && (node.op_type == "If" || node.op_type == "Loop" || node.op_type == "Scan");
}

Result<std::unique_ptr<Control>> Control::make(const onnx::Node& node, Bodies bodies, Budget& budget) {
  CALKIT_CHECK_OK(check_form(node, bodies));
  if (node.op_type == "Scan") return make_scan(node, std::move(bodies), budget);
  CALKIT_CHECK_OK(check_counts(node, bodies));
  if (node.op_type == "If") return std::unique_ptr<Control>(new IfControl(node, std::move(bodies)));
  return std::unique_ptr<Control>(new LoopControl(node, std::move(bodies), budget));
}

}  // namespace calkit::exec
