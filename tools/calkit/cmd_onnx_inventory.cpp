#include <fmt/format.h>

#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/inventory/inventory.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::vector<std::string> graphs, at, outputs, operators;
  std::string support = "emulated", fail_on = "none";
};
struct DiffOptions {
  std::string before, after, evidence_dir = "evidence";
  bool json = false;
  const CLI::App* app = nullptr;
};

using Writer = std::string (*)(const std::vector<inventory::Inventory>&);
struct Output {
  Writer write;
  std::string path;
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

Result<inventory::Bindings> bindings_of(const std::vector<std::string>& texts) {
  inventory::Bindings out;
  for (const std::string& text : texts)
    for (const std::string& part : split(text, ',')) {
      const auto equals = part.rfind('=');
      const auto value = equals == std::string::npos ? std::nullopt : parse_decimal_u64(part.substr(equals + 1));
      if (!value || *value > (1ull << 40) || equals == 0)
        return Error(ErrorKind::kUsage, fmt::format("--at is '{}'; allowed: SYMBOL=N, such as B=1,S=512", part));
      if (!out.emplace(part.substr(0, equals), static_cast<std::int64_t>(*value)).second)
        return Error(ErrorKind::kUsage, fmt::format("--at names {} twice", part.substr(0, equals)));
    }
  return out;
}

Result<std::vector<Output>> outputs_of(const Options& opt) {
  static const std::map<std::string, Writer> writers = {
      {"csv", &inventory::to_csv}, {"markdown", &inventory::to_markdown}, {"html", &inventory::to_html}};
  std::vector<Output> out;
  for (const std::string& text : opt.outputs) {
    const auto equals = text.find('=');
    const auto writer = writers.find(text.substr(0, equals));
    if (equals == std::string::npos || equals + 1 == text.size() || writer == writers.end())
      return Error(ErrorKind::kUsage,
                   fmt::format("--output is '{}'; allowed: csv=FILE, markdown=FILE, html=FILE", text));
    const std::string path = text.substr(equals + 1);
    for (const std::string& graph : opt.graphs)
      if (std::error_code none; std::filesystem::equivalent(path, graph, none))
        return Error(ErrorKind::kUsage, fmt::format("--output {} would replace an input", path), "choose another name");
    out.push_back({writer->second, path});
  }
  return out;
}

inventory::Support::State fail_on_of(const std::string& word) {
  using State = inventory::Support::State;
  return word == "unsupported"    ? State::kUnsupported
         : word == "needs-kernel" ? State::kNeedsKernel
         : word == "cpu"          ? State::kCpu
                                  : State::kFolded;
}

std::string counted(std::uint64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// The text, with each graph's errors in the record.
std::string report(const std::vector<inventory::Inventory>& inventories, manifest::Evidence& evidence) {
  std::string text;
  std::uint64_t nodes = 0, errors = 0;
  for (const auto& taken : inventories) {
    text += (text.empty() ? "" : "\n") + inventory::to_text(taken);
    nodes += taken.nodes;
    for (const inventory::Finding& finding : taken.findings) {
      if (finding.severity != inventory::Finding::Severity::kError) continue;
      ++errors;
      evidence.findings.push_back(taken.file + ": " + finding.text);
    }
  }
  if (inventories.size() == 2) {
    const auto changes = inventory::diff(inventories[0], inventories[1]);
    text += fmt::format("\nfrom {} to {}:\n", inventories[0].file, inventories[1].file) + inventory::to_text(changes);
  }
  evidence.figures = {
      {"nodes", static_cast<double>(nodes), "nodes", inventories.size(), "counted over all levels of all graphs"}};
  evidence.verdict = errors == 0 ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary =
      fmt::format("{}, {}, {}", counted(inventories.size(), "graph"), counted(nodes, "node"), counted(errors, "error"));
  return text;
}

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  if (opt.graphs.empty())
    return Error(ErrorKind::kUsage, "GRAPH is required", "calkit onnx-inventory prefill.onnx decode.onnx");
  inventory::Options options;
  CALKIT_TRY(options.at, bindings_of(opt.at));
  CALKIT_TRY(const auto outputs, outputs_of(opt));
  options.fail_on = fail_on_of(opt.fail_on);
  manifest::OpSupport from_file;
  options.support = &from_file;
  auto evidence = manifest::start_evidence("onnx-inventory", common.argv);
  if (opt.support == "emulated" || opt.support == "calculet-assumed") {
    CALKIT_TRY(options.support, manifest::built_in_op_support(opt.support));
  } else {
    CALKIT_TRY(from_file, manifest::read_op_support(opt.support));
    CALKIT_TRY(auto file, manifest::evidence_file("support", opt.support));
    evidence.inputs.push_back(std::move(file));
  }
  std::vector<manifest::CustomOperators> operators;
  for (const std::string& path : opt.operators) {
    CALKIT_TRY(auto document, manifest::read_custom_operators(path));
    CALKIT_TRY(auto file, manifest::evidence_file("operators", path));
    operators.push_back(std::move(document));
    evidence.inputs.push_back(std::move(file));
  }
  options.operators = &operators;
  std::vector<inventory::Inventory> inventories;
  for (const std::string& graph : opt.graphs) {
    CALKIT_TRY(auto taken, inventory::take_inventory(graph, options));
    if (common.evidence_dir != "none") CALKIT_CHECK_OK(add_inputs(graph, evidence));
    inventories.push_back(std::move(taken));
  }
  const std::string text = report(inventories, evidence);
  evidence.details = inventory::to_document(inventories);
  for (const Output& output : outputs)
    CALKIT_CHECK_OK(write_file(output.path, output.write(inventories)), "writing --output");
  return finish(common, io, std::move(evidence), text);
}

Result<ExitCode> run_diff(const DiffOptions& opt, Common common, Streams io) {
  common.json = common.json || opt.json;
  common.evidence_dir = opt.evidence_dir;
  auto evidence = manifest::start_evidence("onnx-inventory-diff", common.argv);
  CALKIT_TRY(const auto before, inventory::take_inventory(opt.before));
  CALKIT_TRY(const auto after, inventory::take_inventory(opt.after));
  if (common.evidence_dir != "none")
    for (const std::string& graph : {opt.before, opt.after}) {
      CALKIT_TRY(auto file, manifest::evidence_file("graph", graph));
      evidence.inputs.push_back(std::move(file));
    }
  const auto changes = inventory::diff(before, after);
  evidence.verdict = changes.empty() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary = changes.empty() ? "no difference" : counted(changes.size(), "difference");
  evidence.figures = {
      manifest::counted("differences", changes.size(), "differences", "counted in the two inventories")};
  evidence.details = inventory::diff_document(before, after, changes);
  return finish(common, io, std::move(evidence), inventory::to_text(changes));
}

/// Its parent is a command of its own, whose callback would run after that of a command inside it: the parent asks.
CLI::App* add_diff(CLI::App& parent, DiffOptions& opt) {
  CLI::App* app =
      parent.add_subcommand("diff", "What two graphs differ in: operators, families, types, weights, axes.");
  app->footer("  calkit onnx-inventory diff onnx/prefill.onnx onnx/decode.onnx");
  app->add_option("A", opt.before, "the first ONNX file")->required();
  app->add_option("B", opt.after, "the second")->required();
  app->add_flag("--json", opt.json, "print one JSON document on stdout, nothing else");
  app->add_option("--evidence", opt.evidence_dir, "folder for the evidence record; `none` writes none")
      ->type_name("DIR")
      ->capture_default_str();
  return app;
}

}  // namespace

void add_onnx_inventory(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  auto diff = std::make_shared<DiffOptions>();
  CLI::App* app = add_command(root, "onnx-inventory", "What is in these ONNX files: operators, shapes, types, bytes.",
                              "  calkit onnx-inventory onnx/prefill.onnx onnx/decode.onnx\n"
                              "  calkit onnx-inventory any.onnx --json | jq .op_counts\n"
                              "  calkit onnx-inventory any.onnx --at B=1,S=512 --output html=inventory.html\n"
                              "  calkit onnx-inventory any.onnx --support calculet-assumed --fail-on unsupported\n"
                              "  calkit onnx-inventory diff onnx/prefill.onnx onnx/decode.onnx",
                              [opt, diff](const Common& common, Streams io) {
                                return diff->app->parsed() ? run_diff(*diff, common, io) : run(*opt, common, io);
                              });
  app->add_option("GRAPH", opt->graphs, "ONNX files, ours or anyone's");
  app->add_option("--support", opt->support, "operator support matrix: emulated, calculet-assumed or a file")
      ->type_name("MATRIX")
      ->capture_default_str();
  app->add_option("--operators", opt->operators, "what operators of other domains mean; repeatable")->type_name("FILE");
  app->add_option("--fail-on", opt->fail_on, "mildest state that fails: cpu, needs-kernel, unsupported or none")
      ->check(CLI::IsMember({"cpu", "needs-kernel", "unsupported", "none"}))
      ->type_name("STATE")
      ->capture_default_str();
  app->add_option("--at", opt->at, "where formulas are evaluated: B=1,S=512; repeatable")->type_name("SYMBOL=N,...");
  app->add_option("--output", opt->outputs, "also write csv=FILE, markdown=FILE or html=FILE; repeatable")
      ->type_name("FORMAT=FILE");
  diff->app = add_diff(*app, *diff);
}

}  // namespace calkit::cli
