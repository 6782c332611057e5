#pragma once
/// What one run of a session may spend; shared by the graphs inside the graph.
#include <atomic>
#include <memory>

#include "calkit/exec/session.h"
#include "call.h"

namespace calkit::exec {

class Budget {
 public:
  explicit Budget(const SessionOptions& options);
  void start_run() { runs_ = 0; }
  /// One node, or one turn of a loop. kInput beyond the limit, kInterrupted after a signal.
  Status spend(const onnx::Node& node);
  /// A zeroed tensor whose bytes count until the last user lets go of them.
  Result<Tensor> allocate(const onnx::Node& node, DType dtype, const Shape& shape);

 private:
  std::uint64_t max_runs_, max_bytes_, runs_ = 0;
  std::shared_ptr<std::atomic<std::uint64_t>> held_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace calkit::exec
