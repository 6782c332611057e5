#include "fuse_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "calkit/base/process.h"
#include "calkit/exec/functions.h"
#include "calkit/exec/session.h"
#include "calkit/tensor/npz.h"
#include "fuse_cost.h"
#include "prove.h"

namespace calkit::passes {
namespace {

using Clock = std::chrono::steady_clock;

/// The first call of each operator, with how often it is called.
std::map<std::string, std::pair<const onnx::Node*, std::uint64_t>> calls_of(const onnx::Model& model) {
  std::map<std::string, std::pair<const onnx::Node*, std::uint64_t>> out;
  for (const onnx::Node& node : model.graph.nodes) {
    if (node.domain != fusion::kDomain) continue;
    auto& entry = out[node.op_type];
    if (entry.first == nullptr) entry.first = &node;
    ++entry.second;
  }
  return out;
}

const fusion::Fusion& owner_of(const std::string& kernel) {
  for (const fusion::Fusion& entry : fusion::catalogue())
    if (std::find(entry.kernels.begin(), entry.kernels.end(), kernel) != entry.kernels.end()) return entry;
  return fusion::catalogue().front();
}

class Examination {
 public:
  Examination(const onnx::Model& model, const Feed& feed, const FuseOptions& options)
      : model_(model), feed_(feed), options_(options) {
    for (const auto& tensor : model.graph.initializers) constants_[tensor.name] = &tensor;
  }

  /// What every call reads in one run of the graph.
  Status run_graph(const std::vector<const onnx::Node*>& calls) {
    std::set<std::string> wanted;
    for (const onnx::Node* call : calls)
      for (const std::string& name : call->inputs)
        if (!constants_.contains(name) && !feed_.inputs.contains(name)) wanted.insert(name);
    const std::vector<std::string> names(wanted.begin(), wanted.end());
    CALKIT_TRY(auto session, exec::Session::create(model_, session_options(false)));
    CALKIT_TRY(const auto values, session.run(feed_.inputs, names));
    for (std::size_t i = 0; i < names.size(); ++i) operands_.emplace(names[i], values[i]);
    operands_.insert(feed_.inputs.begin(), feed_.inputs.end());
    return {};
  }

  Result<KernelReport> examine(const onnx::Node& call, const std::filesystem::path& golden) {
    KernelReport out;
    out.kernel = call.op_type;
    out.node = call.name;
    out.fusion = owner_of(call.op_type).id;
    const onnx::Model alone = model_of(call, out);
    Feed feed{call.name, {}};
    for (const auto& input : alone.graph.inputs) feed.inputs.emplace(input.name, operands_.at(input.name));
    CALKIT_TRY(const auto function, run(alone, feed, true, out.function_ms));
    CALKIT_TRY(const auto kernel, run(alone, feed, false, out.kernel_ms));
    CALKIT_TRY(Proof proof, prove(alone, {feed}, {function}, {kernel}), "comparing " + out.kernel);
    out.outputs = std::move(proof.outputs);
    out.limit = bound_of(call);
    out.holds = std::all_of(out.outputs.begin(), out.outputs.end(),
                            [&](const OutputProof& output) { return output.identical || output.nmse <= out.limit; });
    CALKIT_CHECK_OK(keep(call, feed, function, kernel, golden));
    return out;
  }

 private:
  exec::SessionOptions session_options(bool expand) const {
    exec::SessionOptions out;
    out.threads = options_.threads;
    out.expand_functions = expand;
    return out;
  }

  double bound_of(const onnx::Node& call) const {
    const fusion::Fusion& entry = owner_of(call.op_type);
    bool half = false;
    for (const std::string& name : call.inputs)
      if (const auto found = operands_.find(name); found != operands_.end())
        half = half || found->second.dtype() == DType::kBF16 || found->second.dtype() == DType::kF16;
    return half ? entry.bound_bf16 : entry.bound_f32;
  }

  /// The call alone: computed operands are inputs, constants stay constants.
  onnx::Model model_of(const onnx::Node& call, KernelReport& report) const {
    onnx::Model out;
    out.ir_version = model_.ir_version;
    out.opsets = model_.opsets;
    out.functions = model_.functions;
    out.graph.name = call.op_type;
    out.graph.nodes = {call};
    std::map<std::string, Shape> shapes;
    std::size_t unit = sizeof(float);
    const auto& names = fusion::kernel_function(call.op_type)->inputs;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const std::string& name = call.inputs[i];
      if (const auto constant = constants_.find(name); constant != constants_.end()) {
        shapes[names[i]] = constant->second->dims;
        if (std::find(report.constants.begin(), report.constants.end(), name) != report.constants.end()) continue;
        out.graph.initializers.push_back(*constant->second);
        report.constants.push_back(name);
        continue;
      }
      const Tensor& value = operands_.at(name);
      shapes[names[i]] = value.shape();
      if (value.dtype() == DType::kBF16 || value.dtype() == DType::kF16) unit = sizeof(std::uint16_t);
      report.shapes.push_back(fmt::format("{} {} {}", names[i], dtype_name(value.dtype()), shape_text(value.shape())));
      if (std::any_of(out.graph.inputs.begin(), out.graph.inputs.end(),
                      [&](const auto& in) { return in.name == name; }))
        continue;
      onnx::ValueInfo input{name, onnx::from_dtype(value.dtype()), std::vector<onnx::Dim>()};
      for (const std::int64_t extent : value.shape()) input.shape->push_back(onnx::Dim::of(extent));
      out.graph.inputs.push_back(std::move(input));
    }
    for (const std::string& name : call.outputs) out.graph.outputs.push_back({name, 0, std::nullopt});
    const auto* k = call.attribute("k");
    report.sram_bytes = sram_bytes(call.op_type, shapes, unit, k != nullptr && !k->ints.empty() ? k->ints.front() : 0);
    return out;
  }

  Result<std::vector<Tensor>> run(const onnx::Model& alone, const Feed& feed, bool expand, std::optional<double>& ms) {
    CALKIT_TRY(auto session, exec::Session::create(alone, session_options(expand)), "preparing " + alone.graph.name);
    std::vector<std::string> names;
    for (const auto& output : alone.graph.outputs) names.push_back(output.name);
    CALKIT_TRY(auto answer, session.run(feed.inputs, names), "running " + alone.graph.name);
    std::vector<double> times;
    for (int i = 0; i < options_.repeats; ++i) {
      if (interrupted()) return interrupted_error();
      const auto start = Clock::now();
      CALKIT_TRY(const auto again, session.run(feed.inputs, names));
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    if (!times.empty()) {
      std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
      ms = times[times.size() / 2];
    }
    return answer;
  }

  static Status keep(const onnx::Node& call, const Feed& feed, const std::vector<Tensor>& function,
                     const std::vector<Tensor>& kernel, const std::filesystem::path& golden) {
    const onnx::Function& signature = *fusion::kernel_function(call.op_type);
    std::vector<std::pair<std::string, Tensor>> members;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      if (const auto operand = feed.inputs.find(call.inputs[i]); operand != feed.inputs.end())
        members.emplace_back("in." + signature.inputs[i], operand->second);
    for (std::size_t i = 0; i < function.size(); ++i) {
      members.emplace_back("function." + signature.outputs[i], function[i]);
      members.emplace_back("kernel." + signature.outputs[i], kernel[i]);
    }
    return write_npz(golden, members);
  }

  const onnx::Model& model_;
  const Feed& feed_;
  const FuseOptions& options_;
  std::map<std::string, const onnx::Initializer*> constants_;
  std::map<std::string, Tensor> operands_;
};

}  // namespace

Result<std::vector<KernelReport>> examine_kernels(const onnx::Model& fused, const std::string& graph, const Feed& feed,
                                                  const FuseOptions& options, const std::filesystem::path& folder) {
  const auto calls = calls_of(fused);
  std::vector<const onnx::Node*> nodes;
  for (const auto& [name, entry] : calls) nodes.push_back(entry.first);
  Examination examination(fused, feed, options);
  CALKIT_CHECK_OK(examination.run_graph(nodes));
  std::vector<KernelReport> out;
  for (const auto& [name, entry] : calls) {
    if (options.progress) options.progress(fmt::format("holding {} of {} against its function", name, graph));
    const std::string golden = fmt::format("goldens/{}.{}.npz", graph, name);
    CALKIT_TRY(KernelReport report, examination.examine(*entry.first, folder / golden), graph);
    report.golden = golden;
    report.count = entry.second;
    out.push_back(std::move(report));
  }
  return out;
}

Status check_functions(const onnx::Model& model) {
  for (const auto& function : model.functions)
    if (function.domain == fusion::kDomain && !exec::has_fused_kernel(function))
      return input_error("graph", fmt::format("function {}:{}", function.domain, function.name),
                         "a body that is not this version's", "the body that onnx-fuse writes",
                         "fuse the graph it was made of with this version, or give the function another domain");
  return {};
}

}  // namespace calkit::passes
