#pragma once
/// onnx-reduce: cuts a graph that fails down to a small one that fails in the same way. The document is
/// calkit.onnx-reduce/1, docs/formats/reduce.md.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"

namespace calkit::passes {

struct ReduceOptions {
  /// A shell command: `{}` stands for the path of a graph, which otherwise becomes its last word. A graph fails if the
  /// command ends with the code it ends with on the whole graph, which must not be 0.
  /// Empty: a graph fails if calkit cannot run it, with the message it gives for the whole graph.
  std::string command;
  std::chrono::milliseconds timeout{60'000};  ///< of one run of the command; a graph that takes longer does not fail
  bool show_output = false;                   ///< of the command, on stderr
  std::function<void(const std::string&)> progress;  ///< told after each step that made the graph smaller
};

struct ReduceStep {
  std::string what;                     ///< "outputs", "nodes", "functions", "branches", "inner nodes", "constants"
  std::uint64_t nodes = 0, checks = 0;  ///< left after it, all levels; made in it
};

struct ReduceReport {
  std::string graph, graph_sha256;
  std::string command;  ///< empty: calkit itself ran the graphs
  int exit_code = 0;    ///< of the command on the whole graph
  std::string message;  ///< of calkit on the whole graph, without a command
  bool valid = true;    ///< ONNX's full check accepts the whole graph, and so every graph that was tried
  std::uint64_t nodes_before = 0, nodes_after = 0;  ///< of all levels, functions included
  std::uint64_t initializers_before = 0, initializers_after = 0;
  std::uint64_t checks = 0;   ///< graphs that the check was run on, the whole one included
  std::uint64_t refused = 0;  ///< graphs that were no valid ONNX and went to no check
  std::vector<ReduceStep> steps;
  struct Left {
    std::string name, op;  ///< "domain:type"
  };
  std::vector<Left> nodes;              ///< of the main graph
  std::vector<std::string> inputs;      ///< of the graph that is left
  std::vector<std::string> cut_inputs;  ///< of these, values that dropped nodes had made
  std::vector<std::string> constants;   ///< values that dropped nodes had made, now initialisers as a run gave them
  std::string reduced, reduced_sha256;  ///< path below the folder that was written
};

/// Writes OUT/reduced.onnx (large weights beside it in weights.bin) and OUT/reduce.json, as a whole or not at all.
/// kInput: no ONNX, a graph that does not fail, a command that does not answer the same twice; kTimeout: a command that
/// takes too long for the whole graph; kIncomplete: what is left does not fail when it is tried again.
Result<ReduceReport> reduce(const std::filesystem::path& graph, const std::filesystem::path& out,
                            const ReduceOptions& options);

Value to_value(const ReduceReport& report);
std::string to_text(const ReduceReport& report);

}  // namespace calkit::passes
