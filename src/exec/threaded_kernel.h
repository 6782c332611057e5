#pragma once
/// A kernel that keeps nothing but the number of threads it may use.
#include "call.h"

namespace calkit::exec {

template <Status (*kRun)(const Call&, int)>
class ThreadedKernel : public Kernel {
 public:
  ThreadedKernel(const onnx::Node& node, int threads) : node_(node), threads_(threads) {}
  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    return kRun(Call{node_, inputs, out}, threads_);
  }
  static Result<std::unique_ptr<Kernel>> make(const onnx::Node& node, std::span<const Tensor* const>,
                                              const KernelOptions& options) {
    return std::unique_ptr<Kernel>(new ThreadedKernel(node, options.threads));
  }

 private:
  onnx::Node node_;
  int threads_;
};

}  // namespace calkit::exec
