#include "calkit/exec/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "calkit/base/document.h"
#include "call.h"
#include "plan.h"

namespace calkit::exec {
namespace {

constexpr int kAbsent = -1;
constexpr std::uint64_t kFoldBytes = 1u << 20;          // what folding may read or make; weights stay as they are
constexpr std::int64_t kMinOpset = 13, kMaxOpset = 28;  // before 13, axes were attributes and Softmax flattened

struct Step {
  std::size_t node = 0;
  std::unique_ptr<Kernel> kernel;
  ViewKernel* view = nullptr;  ///< the kernel, if it is one
  std::vector<int> inputs, outputs;
};

}  // namespace

struct Session::State {
  onnx::Model model;
  SessionOptions options;
  std::unordered_map<std::string, int> ids;
  std::vector<std::string> names;
  std::vector<std::optional<Tensor>> constants;  // by value id
  std::vector<Step> steps;
  std::vector<int> producer;  // by value id: step, or kAbsent
  std::set<int> graph_inputs;

  int intern(const std::string& name) {
    if (name.empty()) return kAbsent;
    const auto [at, fresh] = ids.emplace(name, static_cast<int>(names.size()));
    if (fresh) {
      names.push_back(name);
      constants.emplace_back();
      producer.push_back(kAbsent);
    }
    return at->second;
  }

  Status check_opset() const;
  Status take_initializers();
  Status plan();
  Status add_step(std::size_t index);
  Result<bool> fold(Kernel& kernel, const onnx::Node& node, std::span<const Tensor* const> inputs,
                    const std::vector<int>& outputs);
  void report_packed() const;

  Status check_inputs(const std::map<std::string, Tensor>& inputs) const;
  Result<std::vector<bool>> needed_steps(std::span<const std::string> outputs,
                                         const std::map<std::string, Tensor>& inputs) const;
  Status run_step(Step& step, std::vector<std::optional<Tensor>>& values);
};

Status Session::State::check_opset() const {
  const auto found = model.opsets.find("");
  const std::int64_t version = found == model.opsets.end() ? 0 : found->second;
  if (version >= kMinOpset && version <= kMaxOpset) return {};
  return input_error("graph", "/opset_import", fmt::format("ai.onnx version {}", version),
                     fmt::format("{} to {}", kMinOpset, kMaxOpset));
}

Status Session::State::take_initializers() {
  for (const auto& initializer : model.graph.initializers) {
    if (!initializer.data)
      return input_error("graph", "initializer '" + initializer.name + "'",
                         onnx::element_type_name(initializer.type) + " without data", "values of a supported type");
    const int id = intern(initializer.name);
    if (constants[static_cast<std::size_t>(id)])
      return input_error("graph", "initializer '" + initializer.name + "'", "two of that name", "one");
    constants[static_cast<std::size_t>(id)] = initializer.data;
  }
  for (const auto& input : model.graph.inputs) {
    const int id = intern(input.name);
    // Old files list initialisers among the inputs, too: they are defaults there.
    if (!constants[static_cast<std::size_t>(id)]) graph_inputs.insert(id);
  }
  return {};
}

Status Session::State::plan() {
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) CALKIT_CHECK_OK(add_step(i));
  return {};
}

Status Session::State::add_step(std::size_t index) {
  const onnx::Node& node = model.graph.nodes[index];
  Step step;
  step.node = index;
  std::vector<const Tensor*> known;
  bool all_known = true;
  for (const auto& name : node.inputs) {
    const int id = intern(name);
    step.inputs.push_back(id);
    const bool made = id == kAbsent || constants[static_cast<std::size_t>(id)] || graph_inputs.contains(id) ||
                      producer[static_cast<std::size_t>(id)] != kAbsent;
    if (!made)
      return input_error("graph", node_label(node), "value '" + name + "', which nothing before it makes",
                         "a graph input, an initializer or an earlier node's output");
    const Tensor* value = id == kAbsent                             ? nullptr
                          : constants[static_cast<std::size_t>(id)] ? &*constants[static_cast<std::size_t>(id)]
                                                                    : nullptr;
    known.push_back(value);
    all_known = all_known && (id == kAbsent || value != nullptr);
  }
  for (const auto& name : node.outputs) {
    const int id = intern(name);
    step.outputs.push_back(id);
    if (id != kAbsent && (constants[static_cast<std::size_t>(id)] || graph_inputs.contains(id) ||
                          producer[static_cast<std::size_t>(id)] != kAbsent))
      return input_error("graph", node_label(node), "value '" + name + "' a second time", "each value made once");
  }
  const KernelOptions kernel_options{options.threads, options.linear_cache};
  // intern() may have moved the constants: take their addresses again.
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] != nullptr) known[i] = &*constants[static_cast<std::size_t>(step.inputs[i])];
  CALKIT_TRY(step.kernel, make_kernel(node, known, kernel_options));
  if (all_known) {
    CALKIT_TRY(const bool folded, fold(*step.kernel, node, known, step.outputs));
    if (folded) return {};
  }
  step.view = dynamic_cast<ViewKernel*>(step.kernel.get());
  for (const int id : step.outputs)
    if (id != kAbsent) producer[static_cast<std::size_t>(id)] = static_cast<int>(steps.size());
  steps.push_back(std::move(step));
  return {};
}

Result<bool> Session::State::fold(Kernel& kernel, const onnx::Node& node, std::span<const Tensor* const> inputs,
                                  const std::vector<int>& outputs) {
  for (const Tensor* input : inputs)
    if (input != nullptr && input->bytes() > kFoldBytes && node.op_type != "Shape") return false;
  bool too_large = false;
  std::vector<std::optional<Tensor>> made(outputs.size());
  const OutputAllocator out = [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    std::uint64_t bytes = dtype_bytes(dtype);
    for (const std::int64_t extent : shape)
      if (extent > 0 && __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) bytes = UINT64_MAX;
    too_large = too_large || bytes > kFoldBytes;
    if (too_large) return Error(ErrorKind::kIncomplete, "too large to fold");
    CALKIT_TRY(Tensor tensor, Tensor::zeros(dtype, shape));
    made[index] = tensor;
    return tensor;
  };
  const Status status = kernel.run(inputs, out);
  if (too_large) return false;
  if (!status.ok()) return Error(status.error());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != kAbsent && made[i]) constants[static_cast<std::size_t>(outputs[i])] = made[i];
  return true;
}

void Session::State::report_packed() const {
  if (!options.constant_packed) return;
  std::set<std::string> packed;
  for (const Step& step : steps) {
    const auto& inputs = model.graph.nodes[step.node].inputs;
    if (step.kernel->packed_bytes() > 0 && inputs.size() > 1) packed.insert(inputs.begin() + 1, inputs.end());
  }
  for (const auto& initializer : model.graph.initializers)
    if (packed.contains(initializer.name)) options.constant_packed(initializer);
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

Result<std::vector<bool>> Session::State::needed_steps(std::span<const std::string> outputs,
                                                       const std::map<std::string, Tensor>& inputs) const {
  std::vector<bool> needed(steps.size(), false);
  std::vector<int> open;
  for (const auto& name : outputs) {
    const auto found = ids.find(name);
    if (found == ids.end() ||
        (!constants[static_cast<std::size_t>(found->second)] && !graph_inputs.contains(found->second) &&
         producer[static_cast<std::size_t>(found->second)] == kAbsent))
      return Error(ErrorKind::kInput, fmt::format("graph: no value '{}' is computed", name),
                   "did you mean '" + nearest_word(name, names) + "'?");
    open.push_back(found->second);
  }
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (id == kAbsent || constants[static_cast<std::size_t>(id)]) continue;
    const int step = producer[static_cast<std::size_t>(id)];
    if (step == kAbsent) {
      const std::string& name = names[static_cast<std::size_t>(id)];
      if (!inputs.contains(name)) return input_error("graph", "input '" + name + "'", "nothing", "a tensor");
      continue;
    }
    if (needed[static_cast<std::size_t>(step)]) continue;
    needed[static_cast<std::size_t>(step)] = true;
    const auto& from = steps[static_cast<std::size_t>(step)].inputs;
    open.insert(open.end(), from.begin(), from.end());
  }
  return needed;
}

Status Session::State::run_step(Step& step, std::vector<std::optional<Tensor>>& values) {
  std::vector<const Tensor*> in;
  in.reserve(step.inputs.size());
  for (const int id : step.inputs) {
    if (id == kAbsent) {
      in.push_back(nullptr);
      continue;
    }
    const auto& constant = constants[static_cast<std::size_t>(id)];
    in.push_back(constant ? &*constant : &*values[static_cast<std::size_t>(id)]);
  }
  if (step.view != nullptr) {
    CALKIT_TRY(Shape shape, step.view->view_shape(in));
    values[static_cast<std::size_t>(step.outputs[0])] = in[0]->reshaped(std::move(shape));
    return {};
  }
  const OutputAllocator out = [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    if (index >= step.outputs.size() || step.outputs[index] == kAbsent)
      return Error(ErrorKind::kInternal, fmt::format("{} writes output {}, which nobody reads",
                                                     node_label(model.graph.nodes[step.node]), index));
    CALKIT_TRY(Tensor tensor, Tensor::zeros(dtype, shape), node_label(model.graph.nodes[step.node]));
    values[static_cast<std::size_t>(step.outputs[index])] = tensor;
    return tensor;
  };
  return step.kernel->run(in, out);
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<Session> Session::create(onnx::Model model, const SessionOptions& options) {
  auto state = std::make_unique<State>();
  state->model = std::move(model);
  state->options = options;
  CALKIT_CHECK_OK(state->check_opset());
  use_weights_as_stored(state->model.graph);
  use_gated_units(state->model.graph);
  use_biases(state->model.graph);
  CALKIT_CHECK_OK(use_experts(state->model.graph));
  CALKIT_CHECK_OK(state->take_initializers());
  CALKIT_CHECK_OK(state->plan());
  state->report_packed();
  return Session(std::move(state));
}

Result<std::vector<Tensor>> Session::run(const std::map<std::string, Tensor>& inputs,
                                         std::span<const std::string> outputs) {
  State& s = *state_;
  CALKIT_CHECK_OK(s.check_inputs(inputs));
  CALKIT_TRY(const auto needed, s.needed_steps(outputs, inputs));
  std::vector<std::optional<Tensor>> values(s.names.size());
  for (const auto& [name, tensor] : inputs) values[static_cast<std::size_t>(s.ids.at(name))] = tensor;
  // How often each value is still read; the outputs asked for are read once more at the end.
  std::vector<int> reads(s.names.size(), 0);
  for (std::size_t i = 0; i < s.steps.size(); ++i)
    if (needed[i])
      for (const int id : s.steps[i].inputs)
        if (id != kAbsent) ++reads[static_cast<std::size_t>(id)];
  for (const auto& name : outputs) ++reads[static_cast<std::size_t>(s.ids.at(name))];
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    if (!needed[i]) continue;
    Step& step = s.steps[i];
    CALKIT_CHECK_OK(s.run_step(step, values));
    for (const int id : step.inputs)
      if (id != kAbsent && --reads[static_cast<std::size_t>(id)] == 0) values[static_cast<std::size_t>(id)].reset();
    for (const int id : step.outputs)
      if (id != kAbsent && reads[static_cast<std::size_t>(id)] == 0) values[static_cast<std::size_t>(id)].reset();
  }
  std::vector<Tensor> results;
  for (const auto& name : outputs) {
    const auto id = static_cast<std::size_t>(s.ids.at(name));
    results.push_back(s.constants[id] ? *s.constants[id] : *values[id]);
  }
  return results;
}

const onnx::Model& Session::model() const {
  return state_->model;
}

std::uint64_t Session::packed_bytes() const {
  std::uint64_t total = 0;
  for (const Step& step : state_->steps) total += step.kernel->packed_bytes();
  return total;
}

}  // namespace calkit::exec
