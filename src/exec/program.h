#pragma once
/// A graph made ready to run: kernels, folded constants, and who still reads what. Graphs inside nodes are programs of
/// their own that read values of the graph around them.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "budget.h"

namespace calkit::exec {

class Control;

class Program {
 public:
  struct Context {
    const SessionOptions& options;
    Budget& budget;
    std::int64_t opset;
  };
  using Values = std::vector<std::optional<Tensor>>;  ///< by id

  /// @param graph outlives the program. @param outer the program around it while both are built, or nullptr.
  static Result<std::unique_ptr<Program>> build(const onnx::Graph& graph, const Context& context, Program* outer);
  ~Program();

  const onnx::Graph& graph() const { return graph_; }
  /// Ids, in the program around it, of the values that this one reads from there.
  const std::vector<int>& captures() const { return captures_; }

  /// The main graph: inputs by name; any values as outputs.
  Result<std::vector<Tensor>> run(const std::map<std::string, Tensor>& inputs, std::span<const std::string> outputs);
  /// A graph inside: its inputs in order, then what it captures; all its outputs.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, std::span<const Tensor* const> captured);

  struct Step;
  const std::vector<Step>& steps() const { return steps_; }

 private:
  struct Schedule {
    std::vector<bool> needed;  ///< by step
    std::vector<int> reads;    ///< by value: how often it is still read; outputs once more
  };

  Program(const onnx::Graph& graph, const Context& context, Program* outer);
  int intern(const std::string& name);
  /// The id of a value that exists before the next node, here or around; nothing if there is none.
  std::optional<int> resolve(const std::string& name);
  bool exists(int id) const;

  Status take_initializers();
  Status take_outputs();
  Status add_step(std::size_t index);
  Status make_kernel_of(Step& step, const onnx::Node& node);
  /// Sources of what a kernel packed are told at once: those of a whole model need not be in memory beside the packed.
  void tell_packed(const Step& step) const;
  Status make_control_of(Step& step, const onnx::Node& node);
  Result<bool> fold(Kernel& kernel, const onnx::Node& node, std::span<const Tensor* const> inputs,
                    const std::vector<int>& outputs);

  Schedule schedule(std::vector<int> outputs) const;
  Status check_given(const Schedule& plan, const Values& values) const;
  Result<std::vector<Tensor>> execute(const Schedule& plan, Values values, std::span<const int> outputs);
  Status run_step(Step& step, Values& values);

  const onnx::Graph& graph_;
  Context context_;
  Program* outer_;  ///< nullptr once built
  std::unordered_map<std::string, int> ids_;
  std::vector<std::string> names_;
  Values constants_;
  std::unordered_map<int, const onnx::Initializer*> initializers_;
  std::vector<Step> steps_;
  std::vector<int> producer_;  ///< by id: step, or -1
  std::set<int> given_;        ///< graph inputs and captures
  std::vector<int> inputs_, outputs_, captures_, captured_here_;
  Schedule all_;  ///< for all outputs of a graph inside
};

/// A node with graphs inside.
class Control {
 public:
  struct Body {
    std::unique_ptr<Program> program;
    std::size_t first_capture = 0;  ///< among the step's inputs, behind the node's own
  };
  using Bodies = std::map<std::string, Body, std::less<>>;  ///< by attribute

  virtual ~Control() = default;
  /// @param inputs the node's, then the captured values. @return as many as the node has outputs.
  virtual Result<std::vector<Tensor>> run(std::span<const Tensor* const> inputs) = 0;

  static bool handles(const onnx::Node& node);
  static Result<std::unique_ptr<Control>> make(const onnx::Node& node, Bodies bodies, Budget& budget);
};

struct Program::Step {
  std::size_t node = 0;
  std::unique_ptr<Kernel> kernel;  ///< or
  std::unique_ptr<Control> control;
  ViewKernel* view = nullptr;  ///< the kernel, if it is one
  std::vector<int> inputs, outputs;
};

}  // namespace calkit::exec
