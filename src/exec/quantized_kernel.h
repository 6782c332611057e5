#pragma once
/// A kernel over a QuantizedLinear, operands 2 and 3 of its node, that is made once where they are constant.
#include <optional>

#include "quantized_linear.h"

namespace calkit::exec {

template <Status (*kRun)(const Call&, const QuantizedLinear&, int)>
class QuantizedKernel : public Kernel {
 public:
  QuantizedKernel(const onnx::Node& node, int threads) : node_(node), threads_(threads) {}

  static Result<std::unique_ptr<Kernel>> make(const onnx::Node& node, std::span<const Tensor* const> constants,
                                              const KernelOptions& options) {
    std::unique_ptr<QuantizedKernel> out(new QuantizedKernel(node, options.threads));
    if (constants[kWeight] != nullptr && constants[kScale] != nullptr) {
      CALKIT_TRY(out->linear_, QuantizedLinear::create(node, *constants[kWeight], *constants[kScale]));
    }
    return std::unique_ptr<Kernel>(std::move(out));
  }

  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    const Call call{node_, inputs, out};
    if (linear_) return kRun(call, *linear_, threads_);
    CALKIT_TRY(const Tensor* w, call.input(kWeight));
    CALKIT_TRY(const Tensor* scale, call.input(kScale));
    CALKIT_TRY(const QuantizedLinear linear, QuantizedLinear::create(node_, *w, *scale));
    return kRun(call, linear, threads_);
  }

 private:
  static constexpr std::size_t kWeight = 2, kScale = 3;

  onnx::Node node_;
  int threads_;
  std::optional<QuantizedLinear> linear_;
};

}  // namespace calkit::exec
