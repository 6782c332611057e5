#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/process.h"
#include "calkit/base/text.h"
#include "calkit/passes/fuse.h"

namespace calkit::passes {
namespace {

/// Where formulas are shown as numbers.
const inventory::Bindings kPoint = {{"B", 1}, {"S", 512}, {"P", 512}};
constexpr const char* kPointText = "B = 1, S = 512, P = 512";

Value text_or_null(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

template <class T>
Value or_null(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

Value counts_value(const std::map<std::string, std::uint64_t>& counts) {
  Value out = Value::object({});
  for (const auto& [name, count] : counts) out.set(name, count);
  return out;
}

Value refusals_value(const std::vector<fusion::Refusal>& refused) {
  Value out = Value::array();
  for (const auto& refusal : refused)
    out.push(Value::object({{"node", refusal.node}, {"precondition", std::string(refusal.precondition)}}));
  return out;
}

Value outputs_value(const std::vector<OutputProof>& outputs) {
  Value out = Value::array();
  for (const OutputProof& output : outputs)
    out.push(Value::object({{"output", output.output},
                            {"values", output.values},
                            {"identical", output.identical},
                            {"max_abs", output.max_abs},
                            {"nmse", output.nmse}}));
  return out;
}

Value formula_value(const inventory::Formula& formula) {
  if (!formula.known())
    return Value::object({{"formula", Value()}, {"at", Value()}, {"reason", "a shape is not known"}});
  const auto number = formula.at(kPoint).number();
  return Value::object({{"formula", formula.text()}, {"at", or_null(number)}});
}

Value fusion_value(const FusionReport& fusion) {
  Value proof = Value::object({{"feeds", Value::array()}, {"outputs", Value::array()}});
  if (fusion.proof) {
    Value feeds = Value::array();
    for (const std::string& feed : fusion.proof->feeds) feeds.push(feed);
    proof = Value::object({{"feeds", std::move(feeds)}, {"outputs", outputs_value(fusion.proof->outputs)}});
  } else {
    proof.set("reason", fusion.no_proof);
  }
  return Value::object({{"fusion", fusion.id},
                        {"kernels", counts_value(fusion.kernels)},
                        {"refused", refusals_value(fusion.refused)},
                        {"dram_bytes", Value::object({{"before", formula_value(fusion.traffic.before)},
                                                      {"after", formula_value(fusion.traffic.after)}})},
                        {"nmse_limit", fusion.limit},
                        {"proof", std::move(proof)},
                        {"holds", fusion.holds}});
}

Value kernel_value(const KernelReport& kernel) {
  Value shapes = Value::array(), constants = Value::array();
  for (const std::string& shape : kernel.shapes) shapes.push(shape);
  for (const std::string& name : kernel.constants) constants.push(name);
  return Value::object({{"kernel", kernel.kernel},
                        {"fusion", kernel.fusion},
                        {"calls", kernel.count},
                        {"node", kernel.node},
                        {"operands", std::move(shapes)},
                        {"constants", std::move(constants)},
                        {"golden", kernel.golden},
                        {"sram_bytes", or_null(kernel.sram_bytes)},
                        {"outputs", outputs_value(kernel.outputs)},
                        {"nmse_limit", kernel.limit},
                        {"holds", kernel.holds}});
}

Value quantization_value(const std::optional<QuantizationReport>& quantization) {
  if (!quantization) return {};
  return Value::object({{"scheme", "w8a8"},
                        {"projections", quantization->projections},
                        {"values_quantized", quantization->tokens_quantized},
                        {"refused", refusals_value(quantization->refused)},
                        {"logits_nmse", or_null(quantization->logits_nmse)},
                        {"feeds", quantization->feeds},
                        {"same_top", quantization->same_top}});
}

Value graph_value(const FusedGraph& graph) {
  Value fusions = Value::array(), kernels = Value::array();
  for (const FusionReport& fusion : graph.fusions) fusions.push(fusion_value(fusion));
  for (const KernelReport& kernel : graph.kernels) kernels.push(kernel_value(kernel));
  return Value::object({{"name", graph.name},
                        {"file", text_or_null(graph.file)},
                        {"raw_sha256", "sha256:" + graph.raw_sha256},
                        {"sha256", graph.sha256.empty() ? Value() : Value("sha256:" + graph.sha256)},
                        {"nodes", Value::array({graph.nodes_before, graph.nodes_after})},
                        {"vendor_nodes", or_null(graph.vendor_nodes)},
                        {"counts", counts_value(graph.groups)},
                        {"quantization", quantization_value(graph.quantization)},
                        {"fusions", std::move(fusions)},
                        {"kernels", std::move(kernels)}});
}

/// Times are of this run and this host, so they stand apart from what equal inputs give again.
Value env_value(const FuseReport& report) {
  const HostFacts host = host_facts();
  Value performance = Value::array();
  for (const FusedGraph& graph : report.graphs)
    for (const KernelReport& kernel : graph.kernels)
      if (kernel.kernel_ms)
        performance.push(Value::object({{"graph", graph.name},
                                        {"kernel", kernel.kernel},
                                        {"function_ms", or_null(kernel.function_ms)},
                                        {"kernel_ms", or_null(kernel.kernel_ms)}}));
  return Value::object(
      {{"cpu", host.cpu}, {"device", "emulated: times are this CPU's"}, {"performance", std::move(performance)}});
}

std::string bytes_text(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.3g} MB", bytes / 1e6) : fmt::format("{:.4g} GB", bytes / 1e9);
}

std::string traffic_text(const Traffic& traffic) {
  const auto before = traffic.before.at(kPoint).number(), after = traffic.after.at(kPoint).number();
  if (!before || !after || *before <= 0) return "";
  return fmt::format("; {} instead of {} through memory", bytes_text(*after), bytes_text(*before));
}

std::string refusals_text(const std::vector<fusion::Refusal>& refused) {
  std::map<std::string_view, std::pair<int, std::string>> by_reason;
  for (const auto& refusal : refused) {
    auto& entry = by_reason[refusal.precondition];
    if (entry.first++ == 0) entry.second = refusal.node;
  }
  std::string out;
  for (const auto& [reason, entry] : by_reason)
    out += fmt::format("    not fused: {} ({}), such as '{}'\n", entry.first, reason, printable(entry.second, 80));
  return out;
}

std::string fusion_text(const FusionReport& fusion) {
  std::string what;
  for (const auto& [kernel, count] : fusion.kernels)
    what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count, kernel);
  std::string proof = fusion.no_proof;
  if (fusion.proof)
    proof = fmt::format("{} over {} feeds{}",
                        fusion.proof->identical() ? "every output identical"
                                                  : fmt::format("NMSE at most {:.2g}", fusion.proof->worst_nmse()),
                        fusion.proof->feeds.size(), fusion.holds ? "" : ": NOT THE SAME");
  else if (!fusion.kernels.empty())
    proof = "not proven: " + proof;
  const std::string done = what.empty() ? "" : what + traffic_text(fusion.traffic) + "; ";
  return fmt::format("  {:<21}  {}{}\n", fusion.id, done, proof) + refusals_text(fusion.refused);
}

std::string quantization_text(const QuantizationReport& told) {
  std::string out = fmt::format("  {:<21}  {} projections, {} values quantised token by token", "w8a8",
                                told.projections, told.tokens_quantized);
  if (told.logits_nmse)
    out += fmt::format("; logits NMSE {:.2g}, same top token {} of {} feeds (told, not judged)", *told.logits_nmse,
                       told.same_top, told.feeds);
  return out + "\n" + refusals_text(told.refused);
}

std::string kernel_text(const KernelReport& kernel) {
  double worst = 0;
  bool identical = true;
  for (const OutputProof& output : kernel.outputs) {
    worst = std::max(worst, output.nmse);
    identical = identical && output.identical;
  }
  std::string out =
      fmt::format("    {:<21}  {}", kernel.kernel, identical ? "identical" : fmt::format("NMSE {:.2g}", worst));
  if (!kernel.holds) out += fmt::format(": OUT OF BOUND ({:.2g})", kernel.limit);
  if (kernel.sram_bytes)
    out += fmt::format("; {:.1f} KiB of SRAM a block", static_cast<double>(*kernel.sram_bytes) / 1024);
  return out + "\n";
}

std::string graph_text(const FusedGraph& graph) {
  std::string out = fmt::format("{}: {} nodes instead of {}", graph.name, graph.nodes_after, graph.nodes_before);
  if (graph.vendor_nodes) out += fmt::format("; the vendor's own graph has {}", *graph.vendor_nodes);
  out += "\n";
  std::string groups;
  for (const auto& [group, count] : graph.groups)
    groups += (groups.empty() ? "" : ", ") + fmt::format("{} {}", count, group);
  if (!groups.empty()) out += "  " + groups + "\n";
  if (graph.quantization) out += quantization_text(*graph.quantization);
  for (const FusionReport& fusion : graph.fusions) out += fusion_text(fusion);
  if (!graph.kernels.empty()) out += "  each kernel against its function:\n";
  for (const KernelReport& kernel : graph.kernels) out += kernel_text(kernel);
  if (!graph.file.empty()) out += "  " + graph.file + "\n";
  return out;
}

}  // namespace

Value to_value(const FuseReport& report) {
  Value graphs = Value::array();
  for (const FusedGraph& graph : report.graphs) graphs.push(graph_value(graph));
  return Value::object({{"schema", "calkit.onnx-fuse/1"},
                        {"feeds_from", text_or_null(report.feeds_from)},
                        {"at", kPointText},
                        {"sram_blocks", Value::object({{"tokens", 16},
                                                       {"columns", 64},
                                                       {"keys", 64},
                                                       {"assumed", true},
                                                       {"source", "the vendor has stated no block sizes"}})},
                        {"graphs", std::move(graphs)},
                        {"env", env_value(report)}});
}

std::string to_text(const FuseReport& report) {
  std::string out;
  for (const FusedGraph& graph : report.graphs) out += graph_text(graph);
  return out;
}

}  // namespace calkit::passes
