// Scan (from opset 9 on): states, and sequences that are taken apart and put together slice by slice.
#include <fmt/format.h>

#include <cstring>

#include "control.h"

namespace calkit::exec {
namespace {

class ScanControl : public Control {
 public:
  ScanControl(const onnx::Node& node, Bodies bodies, Budget& budget)
      : node_(node), bodies_(std::move(bodies)), budget_(budget) {}

  Status prepare() {
    const auto& graph = bodies_.begin()->second.program->graph();
    const std::int64_t sequences = node_.int_or("num_scan_inputs", 0);
    if (sequences < 1 || sequences > static_cast<std::int64_t>(node_.inputs.size()))
      return fault(fmt::format("num_scan_inputs {}", sequences), fmt::format("1 to {}", node_.inputs.size()));
    sequences_ = static_cast<std::size_t>(sequences);
    states_ = node_.inputs.size() - sequences_;
    if (graph.inputs.size() != node_.inputs.size() || graph.outputs.size() < states_ ||
        graph.outputs.size() < node_.outputs.size())
      return fault(fmt::format("a body of {} inputs and {} outputs", graph.inputs.size(), graph.outputs.size()),
                   fmt::format("{} and {}", node_.inputs.size(), node_.outputs.size()));
    scans_ = graph.outputs.size() - states_;
    CALKIT_TRY(in_axes_, numbers("scan_input_axes", sequences_));
    CALKIT_TRY(in_directions_, numbers("scan_input_directions", sequences_));
    CALKIT_TRY(out_axes_, numbers("scan_output_axes", scans_));
    CALKIT_TRY(out_directions_, numbers("scan_output_directions", scans_));
    return {};
  }

  Result<std::vector<Tensor>> run(std::span<const Tensor* const> inputs) override {
    Body& body = bodies_.begin()->second;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      if (inputs[i] == nullptr) return fault(fmt::format("input {} left out", i), "a tensor");
    CALKIT_TRY(const std::int64_t turns, count_turns(inputs));
    std::vector<Tensor> state;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) state.push_back(*inputs[i]);
    std::vector<std::vector<Tensor>> slices(scans_);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      CALKIT_CHECK_OK(budget_.spend(node_));
      for (std::size_t i = 0; i < sequences_; ++i) {
        CALKIT_TRY(state[states_ + i],
                   slice(*inputs[states_ + i], axes_[i], in_directions_[i] != 0 ? turns - 1 - turn : turn));
      }
      CALKIT_TRY(auto made, body.program->run(state, inputs.subspan(body.first_capture)),
                 fmt::format("in turn {} of {}", turn, node_label(node_)));
      for (std::size_t i = 0; i < states_; ++i) state[i] = std::move(made[i]);
      for (std::size_t i = 0; i < scans_; ++i) slices[i].push_back(std::move(made[states_ + i]));
    }
    std::vector<Tensor> out(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(states_));
    for (std::size_t i = 0; i < scans_; ++i) {
      const auto rank = slices[i].empty() ? 0 : static_cast<std::int64_t>(slices[i].front().rank()) + 1;
      const std::int64_t axis = out_axes_[i] < 0 ? out_axes_[i] + rank : out_axes_[i];
      if (axis < 0) return fault(fmt::format("scan_output_axes {}", out_axes_[i]), "an axis of the output");
      CALKIT_TRY(Tensor made, stack(node_, budget_, slices[i], static_cast<std::size_t>(axis), out_directions_[i] != 0,
                                    body.program->graph().outputs[states_ + i]));
      out.push_back(std::move(made));
    }
    return out;
  }

 private:
  Error fault(std::string found, std::string allowed) const {
    return input_error("graph", node_label(node_), found, allowed);
  }

  Result<std::vector<std::int64_t>> numbers(const char* name, std::size_t count) const {
    const auto* attribute = node_.attribute(name);
    if (attribute == nullptr) return std::vector<std::int64_t>(count, 0);
    if (attribute->ints.size() != count)
      return fault(fmt::format("{} of {} numbers", name, attribute->ints.size()), fmt::format("{}", count));
    return attribute->ints;
  }

  Result<std::int64_t> count_turns(std::span<const Tensor* const> inputs) {
    std::int64_t turns = -1;
    axes_.clear();
    for (std::size_t i = 0; i < sequences_; ++i) {
      const Tensor& sequence = *inputs[states_ + i];
      const auto rank = static_cast<std::int64_t>(sequence.rank());
      const std::int64_t axis = in_axes_[i] < 0 ? in_axes_[i] + rank : in_axes_[i];
      if (axis < 0 || axis >= rank)
        return fault(fmt::format("scan_input_axes {}", in_axes_[i]), "an axis of " + tensor_text(sequence));
      if (turns >= 0 && sequence.dim(axis) != turns)
        return fault("scan input " + tensor_text(sequence), fmt::format("{} slices as the first has", turns));
      turns = sequence.dim(axis);
      axes_.push_back(static_cast<std::size_t>(axis));
    }
    return turns;
  }

  Result<Tensor> slice(const Tensor& x, std::size_t axis, std::int64_t index) {
    Shape shape = x.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    CALKIT_TRY(Tensor y, budget_.allocate(node_, x.dtype(), shape));
    const std::size_t outer = extent(x.shape(), 0, axis);
    const std::size_t run = outer == 0 ? 0 : y.bytes() / outer;
    const std::size_t step = run * static_cast<std::size_t>(x.shape()[axis]);
    for (std::size_t block = 0; block < outer && run > 0; ++block)
      std::memcpy(y.mutable_raw() + block * run, x.raw() + block * step + static_cast<std::size_t>(index) * run, run);
    return y;
  }

  const onnx::Node& node_;
  Bodies bodies_;
  Budget& budget_;
  std::size_t states_ = 0, sequences_ = 0, scans_ = 0;
  std::vector<std::int64_t> in_axes_, in_directions_, out_axes_, out_directions_;
  std::vector<std::size_t> axes_;  // of this run's sequences, counted from the front
};

}  // namespace

Result<std::unique_ptr<Control>> make_scan(const onnx::Node& node, Control::Bodies bodies, Budget& budget) {
  auto out = std::make_unique<ScanControl>(node, std::move(bodies), budget);
  CALKIT_CHECK_OK(out->prepare());
  return std::unique_ptr<Control>(std::move(out));
}

}  // namespace calkit::exec
