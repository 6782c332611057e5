#include "calkit/passes/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/exec/functions.h"
#include "cut.h"
#include "files.h"
#include "minimise.h"
#include "trial.h"

namespace calkit::passes {
namespace {

constexpr std::uint64_t kOutside = 1ull << 20;  // tensors from here on are written beside the graph

class Reducer {
 public:
  Reducer(onnx::Model whole, Trial& trial, const ReduceOptions& options, ReduceReport& report)
      : now_(std::move(whole)), trial_(trial), options_(options), report_(report) {
    for (const auto& input : now_.graph.inputs) inputs_.insert(input.name);
    for (const auto& tensor : now_.graph.initializers) initializers_.insert(tensor.name);
  }

  Result<onnx::Model> run() {
    for (changed_ = true; changed_;) {
      changed_ = false;
      CALKIT_CHECK_OK(step("outputs", &Reducer::outputs));
      CALKIT_CHECK_OK(step("nodes", &Reducer::nodes));
      CALKIT_CHECK_OK(step("functions", &Reducer::functions));
      CALKIT_CHECK_OK(step("branches", &Reducer::branches));
      CALKIT_CHECK_OK(step("inner nodes", &Reducer::inner));
    }
    CALKIT_CHECK_OK(step("constants", &Reducer::constants));
    describe();
    return std::move(now_);
  }

 private:
  Status step(const char* what, Status (Reducer::*work)()) {
    const std::uint64_t before = report_.checks;
    CALKIT_CHECK_OK((this->*work)());
    if (report_.checks == before) return {};
    report_.steps.push_back({what, count_nodes(now_), report_.checks - before});
    if (options_.progress)
      options_.progress(
          fmt::format("{}: {} nodes left, {} graphs tried", what, report_.steps.back().nodes, report_.checks));
    return {};
  }

  /// Takes a graph that fails in the place of the one that is there.
  Result<bool> take(std::optional<onnx::Model> candidate) {
    if (!candidate) return false;
    CALKIT_TRY(const bool fails, trial_.fails(*candidate));
    if (fails) now_ = std::move(*candidate);
    return fails;
  }

  using Make = std::function<std::optional<onnx::Model>(const onnx::Model&, const Kept&)>;
  /// As few of `count` things as possible.
  Status few(std::size_t count, const Make& make) {
    if (count == 0) return {};
    const onnx::Model from = now_;
    CALKIT_TRY(const Kept left,
               minimise(count, [&](const Kept& kept) -> Result<bool> { return take(make(from, kept)); }));
    changed_ = changed_ || (left.size() < count && size_of(now_) < size_of(from));
    return {};
  }

  static std::uint64_t size_of(const onnx::Model& model) { return count_nodes(model) + model.graph.outputs.size(); }

  Status outputs() { return few(now_.graph.outputs.size(), keep_outputs); }
  Status nodes() {
    return few(now_.graph.nodes.size(),
               [this](const onnx::Model& from, const Kept& kept) { return keep_nodes(from, kept, trial_.known()); });
  }
  Status functions() {
    if (now_.functions.empty()) return {};
    onnx::Model candidate = now_;
    if (!exec::inline_functions(candidate, true).ok()) return {};
    CALKIT_TRY(const bool taken, take(std::move(candidate)));
    if (taken) trial_.learn(now_);  // the values of functions have names now
    changed_ = changed_ || taken;
    return {};
  }
  Status branches() {
    for (std::size_t i = 0; i < now_.graph.nodes.size(); ++i)
      for (const char* branch : {"then_branch", "else_branch"}) {
        CALKIT_TRY(const bool taken, take(take_branch(now_, i, branch)));
        changed_ = changed_ || taken;
      }
    return {};
  }
  Status inner() {
    const auto places = inner_places(now_);
    for (auto place = places.rbegin(); place != places.rend(); ++place)  // graphs inside others first
      CALKIT_CHECK_OK(few(inner_nodes(now_, *place), [&](const onnx::Model& from, const Kept& kept) {
        return keep_inner_nodes(from, *place, kept, trial_.known());
      }));
    return {};
  }
  /// What dropped nodes had made is told as an input where its value does not matter.
  Status constants() {
    for (const std::string& name : made_constants())
      CALKIT_CHECK_OK(taken_or_not(open_constant(now_, name, trial_.known())));
    return {};
  }
  Status taken_or_not(std::optional<onnx::Model> candidate) {
    CALKIT_TRY([[maybe_unused]] const bool taken, take(std::move(candidate)));
    return {};
  }

  std::vector<std::string> made_constants() const {
    std::vector<std::string> out;
    for (const auto& tensor : now_.graph.initializers)
      if (!initializers_.contains(tensor.name) && trial_.known().values.contains(tensor.name))
        out.push_back(tensor.name);
    return out;
  }

  void describe() {
    for (const auto& node : now_.graph.nodes)
      report_.nodes.push_back({node.name, (node.domain.empty() ? "ai.onnx" : node.domain) + ":" + node.op_type});
    for (const auto& input : now_.graph.inputs) {
      if (now_.graph.initializer(input.name) != nullptr) continue;
      report_.inputs.push_back(input.name);
      if (!inputs_.contains(input.name)) report_.cut_inputs.push_back(input.name);
    }
    report_.constants = made_constants();
    report_.nodes_after = count_nodes(now_);
    report_.initializers_after = now_.graph.initializers.size();
  }

  onnx::Model now_;
  Trial& trial_;
  const ReduceOptions& options_;
  ReduceReport& report_;
  std::set<std::string> inputs_, initializers_;  ///< of the whole graph
  bool changed_ = true;
};

Status write_reduced(const onnx::Model& model, const std::filesystem::path& folder, ReduceReport& report) {
  report.reduced = "reduced.onnx";
  onnx::SaveOptions save;
  save.external_from = kOutside;
  save.external_name = "weights.bin";
  CALKIT_CHECK_OK(onnx::save(model, folder / report.reduced, save), "writing the reduced graph");
  if (report.valid) CALKIT_CHECK_OK(onnx::check_file(folder / report.reduced, true), "checking the reduced graph");
  CALKIT_TRY(const FileDigest digest, hash_file(folder / report.reduced));
  report.reduced_sha256 = digest.sha256;
  return write_file(folder / "reduce.json", to_json(to_value(report)) + "\n");
}

}  // namespace

Result<ReduceReport> reduce(const std::filesystem::path& graph, const std::filesystem::path& out,
                            const ReduceOptions& options) {
  CALKIT_CHECK_OK(check_target(out, "reduce.json"));
  CALKIT_TRY(const onnx::Model whole, onnx::load(graph));
  ReduceReport report;
  report.graph = graph.filename().string();
  CALKIT_TRY(const FileDigest digest, hash_file(graph));
  report.graph_sha256 = digest.sha256;
  report.command = options.command;
  report.nodes_before = count_nodes(whole);
  report.initializers_before = whole.graph.initializers.size();
  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the output folder");
  const std::filesystem::path work = stage.path() / "work";
  std::error_code failed;
  std::filesystem::create_directories(work, failed);
  if (failed) return Error(ErrorKind::kIo, fmt::format("{}: {}", work.string(), failed.message()));
  CALKIT_TRY(Trial trial, Trial::begin(graph, whole, work, options, report));
  CALKIT_TRY(const onnx::Model reduced, Reducer(whole, trial, options, report).run());
  CALKIT_TRY(const bool fails, trial.fails(reduced));
  if (!fails)
    return Error(ErrorKind::kIncomplete, "the reduced graph does not fail any more when it is tried again",
                 "the check does not give the same answer each time: fix the seed of what it draws");
  std::filesystem::remove_all(work, failed);
  CALKIT_CHECK_OK(write_reduced(reduced, stage.path(), report));
  CALKIT_CHECK_OK(stage.commit(), "putting the graph in place");
  return report;
}

}  // namespace calkit::passes
