// How a graph is made ready: names become numbers, constants are folded, kernels are made.
#include "program.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/checked.h"

namespace calkit::exec {
namespace {

constexpr int kAbsent = -1;
constexpr std::uint64_t kFoldBytes = 1u << 20;  // what folding may read or make; weights stay as they are

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

Program::Program(const onnx::Graph& graph, const Context& context, Program* outer)
    : graph_(graph), context_(context), outer_(outer) {}
Program::~Program() = default;

Result<std::unique_ptr<Program>> Program::build(const onnx::Graph& graph, const Context& context, Program* outer) {
  std::unique_ptr<Program> out(new Program(graph, context, outer));
  CALKIT_CHECK_OK(out->take_initializers());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) CALKIT_CHECK_OK(out->add_step(i));
  if (outer != nullptr) CALKIT_CHECK_OK(out->take_outputs());
  out->outer_ = nullptr;
  return out;
}

int Program::intern(const std::string& name) {
  if (name.empty()) return kAbsent;
  const auto [found, fresh] = ids_.emplace(name, static_cast<int>(names_.size()));
  if (fresh) {
    names_.push_back(name);
    constants_.emplace_back();
    producer_.push_back(kAbsent);
  }
  return found->second;
}

bool Program::exists(int id) const {
  return constants_[at(id)].has_value() || given_.contains(id) || producer_[at(id)] != kAbsent;
}

std::optional<int> Program::resolve(const std::string& name) {
  if (const auto found = ids_.find(name); found != ids_.end() && exists(found->second)) return found->second;
  if (outer_ == nullptr) return std::nullopt;
  const auto around = outer_->resolve(name);
  if (!around) return std::nullopt;
  const int id = intern(name);
  if (outer_->constants_[at(*around)]) {
    constants_[at(id)] = outer_->constants_[at(*around)];
  } else {
    given_.insert(id);
    captures_.push_back(*around);
    captured_here_.push_back(id);
  }
  return id;
}

Status Program::take_initializers() {
  for (const auto& initializer : graph_.initializers) {
    if (!initializer.data)
      return input_error("graph", "initializer '" + initializer.name + "'",
                         onnx::element_type_name(initializer.type) + " without data", "values of a supported type");
    const int id = intern(initializer.name);
    if (id == kAbsent) return input_error("graph", "initializer ''", "no name", "a name");
    if (constants_[at(id)])
      return input_error("graph", "initializer '" + initializer.name + "'", "two of that name", "one");
    constants_[at(id)] = initializer.data;
    initializers_[id] = &initializer;
  }
  for (const auto& input : graph_.inputs) {
    const int id = intern(input.name);
    if (id == kAbsent) return input_error("graph", "input ''", "no name", "a name");
    // Old files list initialisers among the inputs, too: they are defaults there.
    if (!constants_[at(id)] && !given_.insert(id).second)
      return input_error("graph", "input '" + input.name + "'", "two of that name", "one");
    inputs_.push_back(id);
  }
  return {};
}

Status Program::take_outputs() {
  for (const auto& output : graph_.outputs) {
    const auto id = resolve(output.name);
    if (!id)
      return input_error("graph", "output '" + output.name + "'", "a value that nothing makes",
                         "a value of this graph or of the one around it");
    outputs_.push_back(*id);
  }
  all_ = schedule(outputs_);
  return {};
}

Status Program::add_step(std::size_t index) {
  const onnx::Node& node = graph_.nodes[index];
  Step step;
  step.node = index;
  for (const auto& name : node.inputs) {
    const auto id = name.empty() ? std::optional(kAbsent) : resolve(name);
    if (!id)
      return input_error("graph", node_label(node), "value '" + name + "', which nothing before it makes",
                         "a graph input, an initializer or an earlier node's output");
    step.inputs.push_back(*id);
  }
  if (Control::handles(node)) CALKIT_CHECK_OK(make_control_of(step, node));
  for (const auto& name : node.outputs) {
    const int id = intern(name);
    step.outputs.push_back(id);
    if (id != kAbsent && exists(id))
      return input_error("graph", node_label(node), "value '" + name + "' a second time", "each value made once");
  }
  if (!step.control) {
    CALKIT_CHECK_OK(make_kernel_of(step, node));
    if (!step.kernel) return {};  // folded
  }
  for (const int id : step.outputs) {
    if (id == kAbsent) continue;
    if (producer_[at(id)] != kAbsent)
      return input_error("graph", node_label(node), "value '" + names_[at(id)] + "' a second time",
                         "each value made once");
    producer_[at(id)] = static_cast<int>(steps_.size());
  }
  steps_.push_back(std::move(step));
  return {};
}

void Program::tell_packed(const Step& step) const {
  if (!context_.options.constant_packed || step.kernel->packed_bytes() == 0) return;
  for (std::size_t i = 1; i < step.inputs.size(); ++i)
    if (const auto found = initializers_.find(step.inputs[i]); found != initializers_.end())
      context_.options.constant_packed(*found->second);
}

Status Program::make_kernel_of(Step& step, const onnx::Node& node) {
  std::vector<const Tensor*> known;
  bool all_known = true;
  for (const int id : step.inputs) {
    known.push_back(id == kAbsent || !constants_[at(id)] ? nullptr : &*constants_[at(id)]);
    all_known = all_known && (id == kAbsent || known.back() != nullptr);
  }
  CALKIT_TRY(step.kernel,
             make_kernel(node, known, {context_.options.threads, context_.options.linear_cache, context_.opset}));
  tell_packed(step);
  step.view = dynamic_cast<ViewKernel*>(step.kernel.get());
  if (!all_known) return {};
  CALKIT_TRY(const bool folded, fold(*step.kernel, node, known, step.outputs));
  if (folded) step.kernel.reset();
  return {};
}

Status Program::make_control_of(Step& step, const onnx::Node& node) {
  Control::Bodies bodies;
  for (const auto& attribute : node.attributes) {
    if (attribute.kind != onnx::Attribute::Kind::kGraph || attribute.graphs.size() != 1) continue;
    Control::Body body;
    CALKIT_TRY(body.program, build(*attribute.graphs.front(), context_, this), "in " + node_label(node));
    body.first_capture = step.inputs.size();
    step.inputs.insert(step.inputs.end(), body.program->captures().begin(), body.program->captures().end());
    bodies.insert_or_assign(attribute.name, std::move(body));
  }
  CALKIT_TRY(step.control, Control::make(node, std::move(bodies), context_.budget));
  return {};
}

Result<bool> Program::fold(Kernel& kernel, const onnx::Node& node, std::span<const Tensor* const> inputs,
                           const std::vector<int>& outputs) {
  for (const Tensor* input : inputs)
    if (input != nullptr && input->bytes() > kFoldBytes && node.op_type != "Shape") return false;
  bool too_large = false;
  Values made(outputs.size());
  const OutputAllocator out = [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    too_large = too_large || checked_product(shape, dtype_bytes(dtype)).value_or(UINT64_MAX) > kFoldBytes;
    if (too_large) return Error(ErrorKind::kIncomplete, "too large to fold");
    CALKIT_TRY(Tensor tensor, Tensor::zeros(dtype, shape));
    if (index < made.size()) made[index] = tensor;
    return tensor;
  };
  const Status status = kernel.run(inputs, out);
  if (too_large) return false;
  if (!status.ok()) return Error(status.error());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != kAbsent && made[i]) constants_[at(outputs[i])] = made[i];
  return true;
}

Program::Schedule Program::schedule(std::vector<int> outputs) const {
  Schedule out{std::vector<bool>(steps_.size(), false), std::vector<int>(names_.size(), 0)};
  for (const int id : outputs) ++out.reads[at(id)];
  while (!outputs.empty()) {
    const int id = outputs.back();
    outputs.pop_back();
    const int step = id == kAbsent || constants_[at(id)] ? kAbsent : producer_[at(id)];
    if (step == kAbsent || out.needed[at(step)]) continue;
    out.needed[at(step)] = true;
    const auto& from = steps_[at(step)].inputs;
    for (const int read : from)
      if (read != kAbsent) ++out.reads[at(read)];
    outputs.insert(outputs.end(), from.begin(), from.end());
  }
  return out;
}

}  // namespace calkit::exec
