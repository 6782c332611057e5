// How a program runs: steps in order, values let go after their last reader.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "program.h"

namespace calkit::exec {
namespace {

constexpr int kAbsent = -1;
std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

Status Program::run_step(Step& step, Values& values) {
  const onnx::Node& node = graph_.nodes[step.node];
  CALKIT_CHECK_OK(context_.budget.spend(node));
  std::vector<const Tensor*> in;
  in.reserve(step.inputs.size());
  for (const int id : step.inputs) {
    const auto* value = id == kAbsent ? nullptr : constants_[at(id)] ? &constants_[at(id)] : &values[at(id)];
    if (value != nullptr && !*value)
      return input_error("graph", node_label(node), "value '" + names_[at(id)] + "', which its node did not make",
                         "a value that is there");
    in.push_back(value == nullptr ? nullptr : &**value);
  }
  if (step.control) {
    CALKIT_TRY(auto made, step.control->run(in));
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
      if (step.outputs[i] != kAbsent) values[at(step.outputs[i])] = std::move(made[i]);
    return {};
  }
  if (step.view != nullptr) {
    CALKIT_TRY(Shape shape, step.view->view_shape(in));
    if (step.outputs.empty() || step.outputs[0] == kAbsent) return {};
    values[at(step.outputs[0])] = in[0]->reshaped(std::move(shape));
    return {};
  }
  const OutputAllocator out = [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    CALKIT_TRY(Tensor tensor, context_.budget.allocate(node, dtype, shape));
    // Outputs that the node does not name are written all the same, and let go.
    if (index < step.outputs.size() && step.outputs[index] != kAbsent) values[at(step.outputs[index])] = tensor;
    return tensor;
  };
  return step.kernel->run(in, out);
}

Result<std::vector<Tensor>> Program::execute(const Schedule& plan, Values values, std::span<const int> outputs) {
  std::vector<int> reads = plan.reads;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!plan.needed[i]) continue;
    Step& step = steps_[i];
    CALKIT_CHECK_OK(run_step(step, values));
    for (const int id : step.inputs)
      if (id != kAbsent && --reads[at(id)] == 0) values[at(id)].reset();
    for (const int id : step.outputs)
      if (id != kAbsent && reads[at(id)] == 0) values[at(id)].reset();
  }
  std::vector<Tensor> results;
  for (const int id : outputs) {
    const auto& value = constants_[at(id)] ? constants_[at(id)] : values[at(id)];
    if (!value)
      return input_error("graph", "value '" + names_[at(id)] + "'", "nothing: its node did not make it", "a value");
    results.push_back(*value);
  }
  return results;
}

Status Program::check_given(const Schedule& plan, const Values& values) const {
  for (const int id : given_)
    if (plan.reads[at(id)] > 0 && !values[at(id)])
      return input_error("graph", "input '" + names_[at(id)] + "'", "nothing", "a tensor");
  return {};
}

Result<std::vector<Tensor>> Program::run(const std::map<std::string, Tensor>& inputs,
                                         std::span<const std::string> outputs) {
  std::vector<int> wanted;
  for (const auto& name : outputs) {
    const auto found = ids_.find(name);
    if (found == ids_.end() || !exists(found->second))
      return Error(ErrorKind::kInput, fmt::format("graph: no value '{}' is computed", name),
                   "did you mean '" + nearest_word(name, names_) + "'?");
    wanted.push_back(found->second);
  }
  Values values(names_.size());
  for (const auto& [name, tensor] : inputs) {
    const int id = ids_.at(name);
    if (constants_[at(id)])
      return input_error("graph", "input '" + name + "'", "a tensor for an initializer",
                         "no tensor: its value is fixed");
    values[at(id)] = tensor;
  }
  const Schedule plan = schedule(wanted);
  CALKIT_CHECK_OK(check_given(plan, values));
  return execute(plan, std::move(values), wanted);
}

Result<std::vector<Tensor>> Program::run(std::span<const Tensor> inputs, std::span<const Tensor* const> captured) {
  Values values(names_.size());
  for (std::size_t i = 0; i < inputs.size() && i < inputs_.size(); ++i) values[at(inputs_[i])] = inputs[i];
  for (std::size_t i = 0; i < captured_here_.size(); ++i)
    if (captured[i] != nullptr) values[at(captured_here_[i])] = *captured[i];
  CALKIT_CHECK_OK(check_given(all_, values));
  return execute(all_, std::move(values), outputs_);
}

}  // namespace calkit::exec
