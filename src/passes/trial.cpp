#include "trial.h"

#include <fmt/format.h>

#include "calkit/base/child.h"
#include "calkit/base/process.h"
#include "calkit/exec/session.h"

namespace calkit::passes {
namespace {

constexpr const char* kGraph = "graph.onnx";
constexpr std::uint64_t kMostBytes = 64ull << 20;  // of a value that is kept to become a constant

std::string command_for(const std::string& command, const std::filesystem::path& graph) {
  const std::string word = shell_word(graph.string());
  std::string out = command;
  std::size_t at = out.find("{}");
  if (at == std::string::npos) return out + " " + word;
  for (; at != std::string::npos; at = out.find("{}", at + word.size())) out.replace(at, 2, word);
  return out;
}

/// The first nodes of the main graph, all their values as outputs; empty where they cannot be run.
std::map<std::string, Tensor> run_first(const onnx::Model& whole, std::size_t count, const Feed& feed) {
  onnx::Model model = whole;
  model.graph.nodes.resize(count);
  std::vector<std::string> names;
  for (const onnx::Node& node : model.graph.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) names.push_back(output);
  model.graph.outputs.clear();
  for (const std::string& name : names) model.graph.outputs.push_back({name, 0, std::nullopt});
  auto session = exec::Session::create(std::move(model), {});
  if (!session.ok()) return {};
  auto values = session->run(feed.inputs, names);
  std::map<std::string, Tensor> out;
  if (!values.ok()) return out;
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((*values)[i].bytes() <= kMostBytes) out.emplace(names[i], std::move((*values)[i]));
  return out;
}

/// Values of as many nodes, from the first one on, as can be run.
std::map<std::string, Tensor> run_as_far_as_possible(const onnx::Model& whole, const Feed& feed) {
  std::map<std::string, Tensor> out;
  std::size_t good = 0, bad = whole.graph.nodes.size() + 1;
  for (std::size_t count = bad - 1; good + 1 < bad && !interrupted(); count = good + (bad - good) / 2) {
    auto values = run_first(whole, count, feed);
    if (values.empty()) {
      bad = count;
      continue;
    }
    good = count;
    out = std::move(values);
  }
  return out;
}

void add_types(const onnx::Graph& graph, std::map<std::string, onnx::ValueInfo>& types) {
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_info})
    for (const auto& value : *list) {
      auto& known = types[value.name];
      if (known.type == 0 || !known.shape) known = value;
    }
  for (const onnx::Node& node : graph.nodes)
    for (const auto& attribute : node.attributes)
      for (const auto& inner : attribute.graphs) add_types(*inner, types);
}

}  // namespace

Result<Trial> Trial::begin(const std::filesystem::path& file, const onnx::Model& whole, std::filesystem::path work,
                           const ReduceOptions& options, ReduceReport& report) {
  Trial out(std::move(work), options, report);
  out.prompt_ = drawn_prompts(1, vocabulary(whole)).front();
  report.valid = onnx::check_file(file, true).ok();
  CALKIT_CHECK_OK(options.command.empty() ? out.begin_run(file, whole) : out.begin_command(file));
  CALKIT_TRY(const bool fails, out.fails(whole), "trying a copy of the graph");
  if (!fails)
    return input_error(file.string(), "", "a copy of the graph that does not fail as the file does",
                       "a fault that is in the graph itself",
                       "it may be in how the file is written, or the command looks at the path");
  out.learn(whole);
  return out;
}

Status Trial::begin_command(const std::filesystem::path& file) {
  std::optional<int> first;
  for (int run = 0; run < 2; ++run) {
    CALKIT_TRY(const std::optional<int> code, answer(file));
    ++report_->checks;
    if (!code)
      return Error(ErrorKind::kTimeout,
                   fmt::format("--check: the command took longer than {} s for {}", options_->timeout.count() / 1000,
                               file.string()),
                   "give it more time with --timeout");
    if (*code == 126 || *code == 127)
      return input_error("--check", "", fmt::format("a command that cannot be started (exit {})", *code),
                         "a command of this machine's shell", "try it on the graph by hand");
    if (*code == 0)
      return input_error(file.string(), "", "a graph for which the command of --check ends with 0",
                         "one for which it fails: any other exit code", "--verbose shows what the command says");
    if (run > 0 && code != first)
      return input_error("--check", "", fmt::format("exit {}, then exit {} for the same graph", *first, *code),
                         "the same answer each time", "fix the seed of what the command draws");
    first = code;
  }
  report_->exit_code = *first;
  return {};
}

Status Trial::begin_run(const std::filesystem::path& file, const onnx::Model& whole) {
  report_->message = complaint(whole);
  ++report_->checks;
  if (!report_->message.empty()) return {};
  return input_error(file.string(), "", "a graph that calkit can run", "one that fails",
                     "with --check COMMAND another program says what fails");
}

void Trial::learn(const onnx::Model& model) {
  add_types(model.graph, known_.types);
  if (const auto outline = onnx::load_outline(work_ / kGraph); outline.ok())
    add_types(outline->model.graph, known_.types);
  if (const auto feed = feed_for(model, prompt_); feed.ok()) known_.values.merge(run_as_far_as_possible(model, *feed));
}

Result<std::optional<int>> Trial::answer(const std::filesystem::path& graph) const {
  CALKIT_TRY(const ChildExit ended,
             run_shell(command_for(options_->command, graph), options_->timeout, options_->show_output));
  return ended.timed_out ? std::nullopt : std::optional(ended.code);
}

Status Trial::write(const onnx::Model& model, const std::filesystem::path& path) {
  onnx::SaveOptions save;
  save.shared = &places_;
  if (!placed_ || !places_.empty()) save.external_name = "weights.bin";
  placed_ = true;  // the whole graph comes first; later ones refer to its weights
  return onnx::save(model, path, save);
}

std::string Trial::complaint(const onnx::Model& model) const {
  auto session = exec::Session::create(model, {});
  if (!session.ok()) return session.error().message;
  auto feed = feed_for(model, prompt_);
  if (!feed.ok()) return feed.error().message;
  for (auto& [name, tensor] : feed->inputs)
    if (const auto value = known_.values.find(name); value != known_.values.end()) tensor = value->second;
  std::vector<std::string> outputs;
  for (const auto& output : model.graph.outputs) outputs.push_back(output.name);
  const auto values = session->run(feed->inputs, outputs);
  return values.ok() ? "" : values.error().message;
}

Result<bool> Trial::fails(const onnx::Model& model) {
  if (interrupted()) return interrupted_error();
  const auto refuse = [this] {
    ++report_->refused;
    return false;
  };
  if (!onnx::structure_problems(model).empty()) return refuse();
  const auto path = work_ / kGraph;
  if (const Status written = write(model, path); !written.ok()) {
    if (written.error().kind != ErrorKind::kInput) return written.error();
    return refuse();
  }
  if (report_->valid && !onnx::check_file(path, true).ok()) return refuse();
  ++report_->checks;
  if (options_->command.empty()) return complaint(model) == report_->message;
  CALKIT_TRY(const std::optional<int> code, answer(path));
  return code == report_->exit_code;
}

}  // namespace calkit::passes
