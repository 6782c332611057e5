// calkit.fused: Linear, LinearAdd and LinearAddAdd. The product is rounded, then each sum, as the operators' functions
// do; a constant bias is added in F32 before the product is rounded, as MatMul with a bias is everywhere in exec.
#include <fmt/format.h>

#include "elementwise.h"
#include "linear_call.h"

namespace calkit::exec {
namespace {

constexpr std::size_t kFirstAddend = 2;

template <class T>
void add_rows(Tensor& y, const Tensor& addend) {
  const auto from = addend.data<T>();
  auto to = y.mutable_data<T>();
  for (std::size_t at = 0; at < to.size(); at += from.size())
    for (std::size_t i = 0; i < from.size(); ++i) put(to[at + i], wide(to[at + i]) + wide(from[i]));
}

// y += operand `index`: a row [n] or as many rows as y has.
Status add_operand(const Call& call, std::size_t index, Tensor& y) {
  CALKIT_TRY(const Tensor* addend, call.input(index));
  if (addend->dtype() != y.dtype() || (addend->shape() != y.shape() && addend->shape() != Shape{y.dim(-1)}))
    return call.fault(index, tensor_text(*addend),
                      fmt::format("{} {} or [{}]", dtype_name(y.dtype()), shape_text(y.shape()), y.dim(-1)));
  if (addend->elements() == 0) return {};
  if (y.dtype() == DType::kF32)
    add_rows<float>(y, *addend);
  else
    add_rows<BF16>(y, *addend);
  return {};
}

class FusedLinearKernel : public Kernel {
 public:
  FusedLinearKernel(const onnx::Node& node, int threads) : node_(node), threads_(threads) {}

  static Result<std::unique_ptr<Kernel>> make(const onnx::Node& node, std::span<const Tensor* const> constants,
                                              const KernelOptions& options) {
    std::unique_ptr<FusedLinearKernel> out(new FusedLinearKernel(node, options.threads));
    if (constants[1] != nullptr) {
      CALKIT_TRY(out->linear_, linear_of(node, *constants[1], options));
      const Tensor* addend = constants.size() > kFirstAddend ? constants[kFirstAddend] : nullptr;
      if (addend != nullptr && addend->dtype() == out->linear_->dtype() &&
          addend->shape() == Shape{static_cast<std::int64_t>(out->linear_->outputs())}) {
        CALKIT_TRY(out->bias_, to_floats(*addend));
      }
    }
    return std::unique_ptr<Kernel>(std::move(out));
  }

  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    const Call call{node_, inputs, out};
    CALKIT_TRY(const Tensor* x, call.input(0));
    std::shared_ptr<const Linear> linear = linear_;
    if (!linear) {
      CALKIT_TRY(const Tensor* w, call.input(1));
      CALKIT_TRY(linear, Linear::create(*w, threads_, false), node_label(node_));
    }
    CALKIT_TRY(Tensor y, apply_linear(call, *x, *linear, bias_));
    for (std::size_t i = kFirstAddend + (bias_.empty() ? 0 : 1); i < inputs.size(); ++i)
      CALKIT_CHECK_OK(add_operand(call, i, y));
    return {};
  }
  std::uint64_t packed_bytes() const override { return linear_ ? linear_->packed_bytes() : 0; }

 private:
  onnx::Node node_;
  int threads_;
  std::shared_ptr<const Linear> linear_;  ///< where the weights are constant
  std::vector<float> bias_;               ///< where operand 2 is a constant row
};

}  // namespace

void register_fused_linear(Registry& registry) {
  const char* names[] = {"calkit.fused:Linear", "calkit.fused:LinearAdd", "calkit.fused:LinearAddAdd"};
  for (std::size_t addends = 0; addends < 3; ++addends)
    registry[names[addends]] = {.min_inputs = kFirstAddend + addends,
                                .max_inputs = kFirstAddend + addends,
                                .factory = &FusedLinearKernel::make,
                                .types = kFloat16Types,
                                .native = kLinearTypes,
                                .same = kEach,
                                .since = 23};
}

}  // namespace calkit::exec
