// calkit.fused: LinearTopK. Logits exist for a block of the vocabulary at a time.
#include <fmt/format.h>

#include <algorithm>

#include "float_rows.h"
#include "fused_top_k.h"
#include "linear_call.h"

namespace calkit::exec {
namespace {

class LinearTopKKernel : public Kernel {
 public:
  LinearTopKKernel(const onnx::Node& node, const KernelOptions& options) : node_(node), options_(options) {}

  static Result<std::unique_ptr<Kernel>> make(const onnx::Node& node, std::span<const Tensor* const> constants,
                                              const KernelOptions& options) {
    std::unique_ptr<LinearTopKKernel> out(new LinearTopKKernel(node, options));
    if (constants[1] != nullptr) {
      CALKIT_TRY(out->blocks_, out->take_apart(*constants[1], true));
    }
    return std::unique_ptr<Kernel>(std::move(out));
  }

  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    const Call call{node_, inputs, out};
    CALKIT_TRY(const Tensor* w, call.input(1));
    if (!blocks_.empty()) return run_with(call, *w, blocks_);
    CALKIT_TRY(const Blocks blocks, take_apart(*w, false));
    return run_with(call, *w, blocks);
  }
  std::uint64_t packed_bytes() const override {
    std::uint64_t total = 0;
    for (const auto& block : blocks_) total += block->packed_bytes();
    return total;
  }

 private:
  using Blocks = std::vector<std::shared_ptr<const Linear>>;

  /// Rows of the weights, kHeadBlock at a time; at least one block.
  Result<Blocks> take_apart(const Tensor& given, bool constant) const {
    if (given.rank() != 2 || !has_type(kFloat16Types, given.dtype()))
      return input_error("graph", node_label(node_) + ": input 1", tensor_text(given),
                         types_text(kFloat16Types) + " [V, K]");
    CALKIT_TRY(const Tensor w, given.dtype() == DType::kF16 ? widened(given) : Result<Tensor>(given));
    const auto all = static_cast<std::size_t>(w.dim(0));
    const std::size_t row = static_cast<std::size_t>(w.dim(1)) * dtype_bytes(w.dtype());
    const auto owner = std::make_shared<const Tensor>(w);
    Blocks out;
    for (std::size_t begin = 0; begin < all || out.empty(); begin += kHeadBlock) {
      const Shape shape = {static_cast<std::int64_t>(std::min(kHeadBlock, all - begin)), w.dim(1)};
      const Tensor part = Tensor::borrow(w.dtype(), shape, w.raw() + begin * row, owner);
      std::shared_ptr<const Linear> made;
      if (constant) {
        CALKIT_TRY(made, linear_of(node_, part, options_));
      } else {
        CALKIT_TRY(made, Linear::create(part, options_.threads, false), node_label(node_));
      }
      out.push_back(std::move(made));
    }
    return out;
  }

  // F16 is computed in F32; the logits are ranked as they would be written.
  static Status run_with(const Call& call, const Tensor& w, const Blocks& blocks) {
    CALKIT_TRY(const Tensor* given, call.input(0));
    const DType dtype = given->dtype();
    if (dtype != w.dtype())
      return call.fault(0, tensor_text(*given), fmt::format("{}, as the weights", dtype_name(w.dtype())));
    CALKIT_TRY(const Tensor x, dtype == DType::kF16 ? widened(*given) : Result<Tensor>(*given));
    CALKIT_TRY(const Shape shape, linear_shape(call, x, *blocks.front()));
    CALKIT_TRY(const std::size_t k, read_k(call, w.dim(0)));
    Heads heads(call, shape, k, dtype);
    std::size_t first = 0;
    for (const auto& block : blocks) {
      const auto n = static_cast<std::int64_t>(block->outputs());
      CALKIT_TRY(Tensor logits, Tensor::zeros(x.dtype(), {static_cast<std::int64_t>(heads.rows()), n}));
      CALKIT_CHECK_OK(block->multiply(x.raw(), heads.rows(), logits.mutable_raw()));
      CALKIT_TRY(std::vector<float> wide, to_floats(logits));
      round_row(dtype, wide.data(), wide.size());
      CALKIT_CHECK_OK(heads.add(wide.data(), block->outputs(), first));
      first += block->outputs();
    }
    return heads.write();
  }

  onnx::Node node_;
  KernelOptions options_;
  Blocks blocks_;  ///< where the weights are constant
};

}  // namespace

void register_fused_head(Registry& registry) {
  registry["calkit.fused:LinearTopK"] = {.min_inputs = 2,
                                         .max_inputs = 2,
                                         .attributes = {"k=I"},
                                         .factory = &LinearTopKKernel::make,
                                         .types = kFloat16Types,
                                         .native = kFloat16Types,
                                         .since = 23};
}

}  // namespace calkit::exec
