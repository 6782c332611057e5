#include <fmt/format.h>

#include "calkit/inventory/inventory.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::vector<std::string> graphs;
};

// Graphs of an export are known to the ledger by their folder too, as pack knows them.
Status add_inputs(const std::filesystem::path& graph, manifest::Evidence& evidence) {
  CALKIT_TRY(auto file, manifest::evidence_file("graph", graph));
  evidence.inputs.push_back(std::move(file));
  const std::filesystem::path folder = graph.parent_path().empty() ? "." : graph.parent_path();
  if (!std::filesystem::is_regular_file(folder / "contract.json")) return {};
  for (const manifest::EvidenceFile& known : evidence.inputs)
    if (known.role == "onnx" && known.path == folder.string()) return {};
  CALKIT_TRY(auto input, manifest::evidence_file("onnx", folder));
  evidence.inputs.push_back(std::move(input));
  return {};
}

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("onnx-inventory", common.argv);
  std::vector<inventory::Inventory> inventories;
  std::string text;
  std::uint64_t nodes = 0, errors = 0;
  for (const std::string& graph : opt.graphs) {
    CALKIT_TRY(auto taken, inventory::take_inventory(graph));
    if (common.evidence_dir != "none") CALKIT_CHECK_OK(add_inputs(graph, evidence));
    text += (text.empty() ? "" : "\n") + inventory::to_text(taken);
    nodes += taken.nodes;
    for (const inventory::Finding& finding : taken.findings) {
      if (finding.severity != inventory::Finding::Severity::kError) continue;
      ++errors;
      evidence.findings.push_back(graph + ": " + finding.text);
    }
    inventories.push_back(std::move(taken));
  }
  evidence.figures = {
      {"nodes", static_cast<double>(nodes), "nodes", inventories.size(), "counted over all levels of all graphs"}};
  evidence.verdict = errors == 0 ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  const auto counted = [](std::uint64_t count, const char* word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
  };
  evidence.summary =
      fmt::format("{}, {}, {}", counted(inventories.size(), "graph"), counted(nodes, "node"), counted(errors, "error"));
  evidence.details = inventory::to_document(inventories);
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_onnx_inventory(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(root, "onnx-inventory", "What is in these ONNX files: operators, shapes, types, bytes.",
                              "  calkit onnx-inventory onnx/prefill.onnx onnx/decode.onnx\n"
                              "  calkit onnx-inventory any.onnx --json | jq .op_counts",
                              [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("GRAPH", opt->graphs, "ONNX files, ours or anyone's")->required();
}

}  // namespace calkit::cli
