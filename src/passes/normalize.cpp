#include "calkit/passes/normalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "calkit/onnx/io.h"
#include "custom.h"
#include "feeds.h"
#include "files.h"
#include "prove.h"

namespace calkit::passes {
namespace {

constexpr double kHalfLimit = 1e-5;  // of outputs in 16 bits

/// One graph on its way.
struct Work {
  std::string name;  ///< "prefill"
  std::filesystem::path file;
  onnx::Model raw, now;
  std::vector<Feed> feeds;
  Answers answers;  ///< of the raw graph
  GraphReport report;
};

bool within(const onnx::Model& model, const Proof& proof, double limit) {
  std::map<std::string, onnx::ElementType> types;
  for (const auto& output : model.graph.outputs) types[output.name] = output.type;
  return std::all_of(proof.outputs.begin(), proof.outputs.end(), [&](const OutputProof& output) {
    const onnx::ElementType type = types[output.output];
    return output.nmse <= (type == 10 || type == 16 ? std::max(limit, kHalfLimit) : limit);
  });
}

class Normalizer {
 public:
  Normalizer(const Options& options, Report& report) : options_(options), report_(report) {}

  Status load(Work& work) {
    tell("reading", work);
    CALKIT_TRY(work.raw, onnx::load(work.file));
    CALKIT_TRY(work.report.custom, admit_custom_operators(work.raw, work.file, options_.operators));
    work.now = work.raw;
    work.report.name = work.name;
    const auto opset = work.raw.opsets.find("");
    work.report.opset_before = opset == work.raw.opsets.end() ? 0 : opset->second;
    if (chosen_.prompts.empty()) {
      CALKIT_TRY(chosen_, choose_prompts(options_.baseline, options_.prompts, work.raw));
    }
    report_.feeds_from = chosen_.from;
    for (const PromptTokens& prompt : chosen_.prompts) {
      CALKIT_TRY(Feed feed, feed_for(work.raw, prompt), "reading " + work.file.string());
      work.feeds.push_back(std::move(feed));
    }
    tell("running the raw graph of", work);
    CALKIT_TRY(work.answers, answers_of(work.raw, work.feeds, options_.threads), work.file.string());
    return {};
  }

  Status run(Work& work) {
    using Pass = std::function<Result<Outcome>(onnx::Model)>;
    std::vector<std::pair<const char*, Pass>> passes;
    passes.emplace_back("IR version", [](onnx::Model m) -> Result<Outcome> { return raise_ir(std::move(m)); });
    if (options_.opset)
      passes.emplace_back("opset", [this](onnx::Model m) { return change_opset(std::move(m), *options_.opset); });
    passes.emplace_back("fold constants", [](onnx::Model m) { return fold_constants(std::move(m)); });
    passes.emplace_back("dead code", [](onnx::Model m) -> Result<Outcome> { return remove_dead_code(std::move(m)); });
    passes.emplace_back("same constants",
                        [](onnx::Model m) -> Result<Outcome> { return merge_constants(std::move(m)); });
    passes.emplace_back("shapes", [](onnx::Model m) { return infer(std::move(m)); });
    passes.emplace_back("idle nodes", [](onnx::Model m) -> Result<Outcome> { return remove_idle_nodes(std::move(m)); });
    passes.emplace_back("order", [](onnx::Model m) -> Result<Outcome> { return put_in_order(std::move(m)); });
    for (const auto& [name, pass] : passes) {
      CALKIT_TRY(const bool holds, step(work, name, pass), fmt::format("{}, pass '{}'", work.file.string(), name));
      if (!holds) break;
    }
    const auto opset = work.now.opsets.find("");
    work.report.opset_after = opset == work.now.opsets.end() ? 0 : opset->second;
    return {};
  }

  Status prove_pair(const Work& prefill, const Work& decode) {
    tell("comparing decode steps with", prefill);
    std::vector<std::vector<std::int64_t>> ids;
    std::vector<std::string> names;
    for (const PromptTokens& prompt : chosen_.prompts) ids.push_back(prompt.ids), names.push_back(prompt.id);
    const bool half = prefill.now.graph.outputs.empty() || prefill.now.graph.outputs[0].type != 1;
    CALKIT_TRY(report_.steps, prove_steps(prefill.now, decode.now, ids, names, options_.threads,
                                          half ? std::max(options_.limit, 100 * kHalfLimit) : 10 * options_.limit));
    return {};
  }

 private:
  void tell(const char* what, const Work& work) const {
    if (options_.progress) options_.progress(fmt::format("{} {}", what, work.file.string()));
  }
  Result<bool> step(Work& work, const char* name, const std::function<Result<Outcome>(onnx::Model)>& pass) {
    if (interrupted()) return interrupted_error();
    PassReport made;
    made.name = name;
    made.nodes_before = work.now.graph.nodes.size();
    made.initializers_before = work.now.graph.initializers.size();
    CALKIT_TRY(Outcome outcome, pass(std::move(work.now)));
    work.now = std::move(outcome.model);
    made.nodes_after = work.now.graph.nodes.size();
    made.initializers_after = work.now.graph.initializers.size();
    made.changes = std::move(outcome.changes);
    if (!made.changes.empty()) {
      tell(fmt::format("running after '{}'", name).c_str(), work);
      CALKIT_TRY(const Answers answers, answers_of(work.now, work.feeds, options_.threads));
      CALKIT_TRY(made.proof, prove(work.raw, work.feeds, work.answers, answers));
      made.holds = within(work.raw, *made.proof, options_.limit);
    }
    work.report.passes.push_back(std::move(made));
    return work.report.passes.back().holds;
  }

  const Options& options_;
  Report& report_;
  Prompts chosen_;
};

/// The files of the raw graphs, as they are: graphs, external data, the contract.
Status copy_raw(const std::vector<Work>& works, const std::filesystem::path& to) {
  std::set<std::filesystem::path> files;
  for (const Work& work : works) {
    const std::filesystem::path folder = work.file.parent_path();
    files.insert(work.file);
    for (const auto& tensor : work.raw.graph.initializers)
      if (!tensor.location.empty()) files.insert(folder / tensor.location);
    if (works.size() > 1) files.insert(folder / kContract);
  }
  const std::filesystem::path folder = works[0].file.parent_path();
  for (const auto& file : files) {
    if (interrupted()) return interrupted_error();
    const auto target = to / std::filesystem::relative(file, folder.empty() ? "." : folder);
    std::error_code failed;
    std::filesystem::create_directories(target.parent_path(), failed);
    if (!failed) std::filesystem::copy_file(file, target, failed);
    if (failed)
      return Error(ErrorKind::kInput, fmt::format("copying {}: {}", file.string(), failed.message()),
                   "is there room for a copy?");
  }
  return {};
}

Status write_graphs(std::vector<Work>& works, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder / "raw", failed);
  std::filesystem::create_directories(folder / "normalized", failed);
  CALKIT_CHECK_OK(copy_raw(works, folder / "raw"));
  std::vector<GraphFile> files;
  for (Work& work : works) {
    work.report.raw = "raw/" + work.file.filename().string();
    work.report.normalized = "normalized/" + work.name + ".onnx";
    files.push_back({work.name, &work.now});
  }
  CALKIT_CHECK_OK(write_pair(files, folder / "normalized"));
  for (Work& work : works) {
    CALKIT_TRY(const FileDigest raw, hash_file(folder / work.report.raw));
    CALKIT_TRY(const FileDigest normalized, hash_file(folder / work.report.normalized));
    work.report.raw_sha256 = raw.sha256;
    work.report.normalized_sha256 = normalized.sha256;
  }
  return {};
}

}  // namespace

bool Report::passed() const {
  const bool steps_hold = std::all_of(steps.begin(), steps.end(), [](const StepProof& step) { return step.holds; });
  return steps_hold && std::all_of(graphs.begin(), graphs.end(), [](const GraphReport& graph) {
           return std::all_of(graph.passes.begin(), graph.passes.end(),
                              [](const PassReport& pass) { return pass.holds; });
         });
}

Result<Report> normalize(const std::filesystem::path& source, const std::filesystem::path& out,
                         const Options& options) {
  CALKIT_CHECK_OK(check_target(out, "passes.json"));
  CALKIT_TRY(const auto sources, graphs_of(source));
  std::vector<Work> works(sources.size());
  for (std::size_t i = 0; i < works.size(); ++i) works[i].name = sources[i].stem().string(), works[i].file = sources[i];
  Report report;
  Normalizer normalizer(options, report);
  for (Work& work : works) {
    CALKIT_CHECK_OK(normalizer.load(work));
    CALKIT_CHECK_OK(normalizer.run(work));
  }
  if (works.size() == 2) CALKIT_CHECK_OK(normalizer.prove_pair(works[0], works[1]));
  const auto collect = [&] {
    report.graphs.clear();
    for (const Work& work : works) report.graphs.push_back(work.report);
  };
  collect();
  if (!report.passed()) return report;  // a graph that changed its meaning is not written
  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the output folder");
  CALKIT_CHECK_OK(write_graphs(works, stage.path()));
  collect();
  CALKIT_CHECK_OK(write_file(stage.path() / "passes.json", to_json(to_value(report)) + "\n"));
  CALKIT_CHECK_OK(stage.commit(), "putting the graphs in place");
  return report;
}

}  // namespace calkit::passes
