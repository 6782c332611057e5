#pragma once
// Whether a graph fails as the whole one does; private to the module.
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "calkit/onnx/io.h"
#include "calkit/passes/reduce.h"
#include "cut.h"
#include "feeds.h"

namespace calkit::passes {

class Trial {
 public:
  /// Finds out how the whole graph fails. @param work folder for graphs on their way
  static Result<Trial> begin(const std::filesystem::path& file, const onnx::Model& whole, std::filesystem::path work,
                             const ReduceOptions& options, ReduceReport& report);

  /// False for a graph that does not fail, fails in another way, or is no valid ONNX although the whole one is.
  Result<bool> fails(const onnx::Model& model);

  /// Finds types and values of a graph with other names; fails() has been asked about it last.
  void learn(const onnx::Model& model);
  /// Types of all levels, and values of the main graph as far as it runs on the drawn inputs.
  const Known& known() const { return known_; }

 private:
  Trial(std::filesystem::path work, const ReduceOptions& options, ReduceReport& report)
      : work_(std::move(work)), options_(&options), report_(&report) {}

  Status begin_command(const std::filesystem::path& file);
  Status begin_run(const std::filesystem::path& file, const onnx::Model& whole);
  /// The code of the command; nullopt after a timeout.
  Result<std::optional<int>> answer(const std::filesystem::path& graph) const;
  Status write(const onnx::Model& model, const std::filesystem::path& path);
  /// What calkit says to the graph; empty: it runs.
  std::string complaint(const onnx::Model& model) const;

  std::filesystem::path work_;
  const ReduceOptions* options_;
  ReduceReport* report_;
  Known known_;
  PromptTokens prompt_;
  std::map<std::string, onnx::ExternalRange> places_;  ///< of the whole graph's weights
  bool placed_ = false;
};

}  // namespace calkit::passes
