// calkit.fused: GroupedDense. Rows are grouped by the expert that they chose; no weights are copied.
#include <fmt/format.h>

#include <cstring>

#include "linear_call.h"

namespace calkit::exec {
namespace {

using Experts = std::vector<std::shared_ptr<const Linear>>;

/// One row of x for one choice, and where its answer goes.
struct Choice {
  std::size_t from = 0, to = 0;
};

class GroupedDenseKernel : public Kernel {
 public:
  GroupedDenseKernel(const onnx::Node& node, const KernelOptions& options) : node_(node), options_(options) {}

  static Result<std::unique_ptr<Kernel>> make(const onnx::Node& node, std::span<const Tensor* const> constants,
                                              const KernelOptions& options) {
    std::unique_ptr<GroupedDenseKernel> out(new GroupedDenseKernel(node, options));
    if (constants[0] != nullptr) {
      CALKIT_TRY(out->experts_, out->take_apart(*constants[0], true));
    }
    return std::unique_ptr<Kernel>(std::move(out));
  }

  Status run(std::span<const Tensor* const> inputs, const OutputAllocator& out) override {
    const Call call{node_, inputs, out};
    CALKIT_TRY(const Tensor* stack, call.input(0));
    if (!experts_.empty()) return run_with(call, *stack, experts_);
    CALKIT_TRY(const Experts experts, take_apart(*stack, false));
    return run_with(call, *stack, experts);
  }

  std::uint64_t packed_bytes() const override {
    std::uint64_t total = 0;
    for (const auto& expert : experts_) total += expert->packed_bytes();
    return total;
  }

 private:
  /// The matrices [N, K] of a stack [E, N, K], each a view of its bytes.
  Result<Experts> take_apart(const Tensor& stack, bool constant) const {
    if (stack.rank() != 3 || !has_type(kLinearTypes, stack.dtype()))
      return input_error("graph", node_label(node_) + ": input 0", tensor_text(stack), "f32 or bf16 [E, N, K]");
    const Shape shape = {stack.dim(1), stack.dim(2)};
    const std::size_t bytes = extent(shape, 0, 2) * dtype_bytes(stack.dtype());
    const auto owner = std::make_shared<const Tensor>(stack);
    Experts out;
    for (std::int64_t i = 0; i < stack.dim(0); ++i) {
      const Tensor w = Tensor::borrow(stack.dtype(), shape, stack.raw() + static_cast<std::size_t>(i) * bytes, owner);
      std::shared_ptr<const Linear> made;
      if (constant) {
        CALKIT_TRY(made, linear_of(node_, w, options_));
      } else {
        CALKIT_TRY(made, Linear::create(w, options_.threads, false), node_label(node_));
      }
      out.push_back(std::move(made));
    }
    return out;
  }

  // columns [T, 1, K, 1]: a row for all choices of a token, or [T, k, K, 1]: one for each.
  static Status check_columns(const Call& call, const Tensor& stack, const Tensor& experts, const Tensor& columns) {
    if (experts.rank() != 2) return call.fault(1, tensor_text(experts), "[T, k]");
    const bool fits = columns.rank() == 4 && columns.dtype() == stack.dtype() && columns.dim(0) == experts.dim(0) &&
                      (columns.dim(1) == 1 || columns.dim(1) == experts.dim(1)) && columns.dim(2) == stack.dim(2) &&
                      columns.dim(3) == 1;
    if (fits) return {};
    return call.fault(2, tensor_text(columns),
                      fmt::format("{} [{}, 1 or {}, {}, 1]", dtype_name(stack.dtype()), experts.dim(0), experts.dim(1),
                                  stack.dim(2)));
  }

  /// By expert the rows that chose it.
  static Result<std::vector<std::vector<Choice>>> group(const Call& call, std::size_t experts, std::size_t per_token,
                                                        bool shared_row) {
    CALKIT_TRY(const auto numbers, call.ints(1));
    const auto limit = static_cast<std::int64_t>(experts);
    std::vector<std::vector<Choice>> out(experts);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < -limit || numbers[i] >= limit)
        return call.fault(1, fmt::format("expert {}", numbers[i]), fmt::format("an index into {} experts", limit));
      const auto expert = static_cast<std::size_t>(numbers[i] < 0 ? numbers[i] + limit : numbers[i]);
      out[expert].push_back({shared_row ? i / per_token : i, i});
    }
    return out;
  }

  static Status run_with(const Call& call, const Tensor& stack, const Experts& experts) {
    CALKIT_TRY(const Tensor* chosen, call.input(1));
    CALKIT_TRY(const Tensor* columns, call.input(2));
    CALKIT_CHECK_OK(check_columns(call, stack, *chosen, *columns));
    const auto per_token = static_cast<std::size_t>(chosen->dim(1));
    CALKIT_TRY(const auto groups, group(call, experts.size(), per_token, columns->dim(1) == 1));
    CALKIT_TRY(Tensor y, call.out(0, stack.dtype(), {chosen->dim(0), chosen->dim(1), stack.dim(1), 1}));
    const std::size_t unit = dtype_bytes(stack.dtype());
    const std::size_t in = static_cast<std::size_t>(stack.dim(2)) * unit;
    const std::size_t out = static_cast<std::size_t>(stack.dim(1)) * unit;
    if (out == 0) return {};
    std::vector<std::byte> rows, answers;
    for (std::size_t expert = 0; expert < groups.size(); ++expert) {
      const auto& choices = groups[expert];
      rows.resize(choices.size() * in);
      answers.resize(choices.size() * out);
      for (std::size_t i = 0; in > 0 && i < choices.size(); ++i)
        std::memcpy(rows.data() + i * in, columns->raw() + choices[i].from * in, in);
      CALKIT_CHECK_OK(experts[expert]->multiply(rows.data(), choices.size(), answers.data()));
      for (std::size_t i = 0; i < choices.size(); ++i)
        std::memcpy(y.mutable_raw() + choices[i].to * out, answers.data() + i * out, out);
    }
    return {};
  }

  onnx::Node node_;
  KernelOptions options_;
  Experts experts_;  ///< where the stack is constant
};

}  // namespace

void register_fused_grouped(Registry& registry) {
  registry["calkit.fused:GroupedDense"] = {.min_inputs = 3,
                                           .max_inputs = 3,
                                           .factory = &GroupedDenseKernel::make,
                                           .types = kFloat16Types,
                                           .native = kLinearTypes,
                                           .same = 0b101,
                                           .since = 23};
}

}  // namespace calkit::exec
