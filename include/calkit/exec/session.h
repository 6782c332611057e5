#pragma once
/// Runs an ONNX model on the CPU.
/// Numerics: F32 computes in F32. BF16 rounds (nearest even) after every operator, accumulates in F32; RMSNormalization
/// normalises in F32, rounds, then multiplies by the weight; softmax is F32. Deterministic for a given thread count.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calkit/exec/kernel.h"
#include "calkit/onnx/model.h"

namespace calkit::exec {

struct SessionOptions {
  int threads = 1;
  /// Nodes that one run may execute, each turn of a loop counting: a graph can ask for 2^63 turns. kInput beyond it.
  std::uint64_t max_node_runs = 100'000'000;
  /// Bytes that the values of one run may hold at a time; 0: the memory of this host. kInput beyond it.
  std::uint64_t max_bytes = 0;
  /// true: every function of the model is replaced by its nodes, even where there is a kernel for it: calls of
  /// calkit.fused whose function is calkit's own.
  bool expand_functions = false;
  /// Shared by sessions over the same weights; empty: the session packs for itself.
  std::shared_ptr<LinearCache> linear_cache;
  /// Called when a constant's source bytes have been packed and are not needed any more.
  std::function<void(const onnx::Initializer&)> constant_packed;
};

class Session {
 public:
  /// Takes the graph (weights may be borrowed from mapped files, which then must stay open), folds constants, packs
  /// weights.
  static Result<Session> create(onnx::Model model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// @param inputs by graph input name; dtype and rank are checked, symbols must agree.
  /// @param outputs names of any values of the graph: graph outputs, or inner values as probes.
  /// @return in the order of `outputs`.
  Result<std::vector<Tensor>> run(const std::map<std::string, Tensor>& inputs, std::span<const std::string> outputs);

  const onnx::Model& model() const;
  std::uint64_t packed_bytes() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit::exec
