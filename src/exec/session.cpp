#include "calkit/exec/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/exec/functions.h"
#include "plan.h"
#include "program.h"

namespace calkit::exec {

struct Session::State {
  explicit State(const SessionOptions& chosen) : options(chosen), budget(chosen) {}

  onnx::Model model;
  SessionOptions options;
  Budget budget;
  std::unique_ptr<Program> program;

  Result<std::int64_t> opset() const;
  Status check_inputs(const std::map<std::string, Tensor>& inputs) const;
};

Result<std::int64_t> Session::State::opset() const {
  const auto found = model.opsets.find("");
  const std::int64_t version = found == model.opsets.end() ? 0 : found->second;
  if (version >= kOldestOpset && version <= kNewestOpset) return version;
  return input_error("graph", "/opset_import", fmt::format("ai.onnx version {}", version),
                     fmt::format("{} to {}", kOldestOpset, kNewestOpset));
}

Status Session::State::check_inputs(const std::map<std::string, Tensor>& inputs) const {
  std::vector<std::string> known;
  for (const auto& input : model.graph.inputs) known.push_back(input.name);
  for (const auto& [name, tensor] : inputs)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return input_error("graph", "input '" + name + "'", "no input of that name",
                         fmt::format("{}", fmt::join(known, ", ")));
  std::map<std::string, std::int64_t> symbols;
  for (const auto& input : model.graph.inputs) {
    const auto given = inputs.find(input.name);
    if (given == inputs.end()) continue;  // needed_steps() complains if it is read
    const Tensor& tensor = given->second;
    const std::string field = "input '" + input.name + "'";
    if (input.type != 0 && onnx::from_dtype(tensor.dtype()) != input.type)
      return input_error("graph", field, tensor_text(tensor), onnx::element_type_name(input.type));
    if (!input.shape) continue;
    if (input.shape->size() != tensor.rank())
      return input_error("graph", field, tensor_text(tensor), fmt::format("rank {}", input.shape->size()));
    for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
      const auto& value = (*input.shape)[axis].value;
      const std::int64_t found = tensor.shape()[axis];
      std::int64_t wanted = found;
      if (const auto* number = std::get_if<std::int64_t>(&value)) wanted = *number;
      if (const auto* symbol = std::get_if<std::string>(&value)) wanted = symbols.emplace(*symbol, found).first->second;
      if (wanted != found)
        return input_error("graph", field, tensor_text(tensor),
                           fmt::format("{} ({}) at axis {}", wanted, (*input.shape)[axis].text(), axis));
    }
  }
  return {};
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<Session> Session::create(onnx::Model model, const SessionOptions& options) {
  auto state = std::make_unique<State>(options);
  state->model = std::move(model);
  CALKIT_CHECK_OK(inline_functions(state->model, options.expand_functions));
  CALKIT_TRY(const std::int64_t opset, state->opset());
  onnx::Graph& graph = state->model.graph;
  use_weights_as_stored(graph);
  use_gated_units(graph);
  use_biases(graph);
  CALKIT_CHECK_OK(use_experts(graph));
  CALKIT_TRY(state->program, Program::build(graph, {state->options, state->budget, opset}, nullptr));
  return Session(std::move(state));
}

Result<std::vector<Tensor>> Session::run(const std::map<std::string, Tensor>& inputs,
                                         std::span<const std::string> outputs) {
  CALKIT_CHECK_OK(state_->check_inputs(inputs));
  state_->budget.start_run();
  return state_->program->run(inputs, outputs);
}

const onnx::Model& Session::model() const {
  return state_->model;
}

std::uint64_t Session::packed_bytes() const {
  std::uint64_t total = 0;
  for (const auto& step : state_->program->steps())
    if (step.kernel) total += step.kernel->packed_bytes();
  return total;
}

}  // namespace calkit::exec
