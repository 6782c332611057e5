// ReduceSum, ReduceMean and the like. Elements are taken in the order of the operand.
#include <algorithm>
#include <cmath>

#include "call.h"
#include "reduce_rules.h"

namespace calkit::exec {
namespace {

// The axes that go: the operand's or the attribute's; all of them where there are none.
Result<std::vector<bool>> reduced_axes(const Call& call, std::size_t rank) {
  std::vector<bool> out(rank, false);
  CALKIT_TRY(const auto given, call.ints_or_attribute(1, "axes"));
  for (const std::int64_t axis : given.value_or(Shape())) {
    CALKIT_TRY(const std::size_t normal, normal_axis(call, axis, rank));
    out[normal] = true;
  }
  const bool none = !given || given->empty();
  if (none && call.node.int_or("noop_with_empty_axes", 0) == 0) out.assign(rank, true);
  return out;
}

// Where each element of the operand goes.
class Walk {
 public:
  Walk(const Shape& shape, const std::vector<bool>& reduced) : shape_(shape), at_(shape.size(), 0) {
    Shape full = shape;
    for (std::size_t axis = 0; axis < full.size(); ++axis)
      if (reduced[axis]) full[axis] = 1;
    strides_ = strides_of(full);
    for (std::size_t axis = 0; axis < full.size(); ++axis)
      if (reduced[axis]) strides_[axis] = 0;
  }
  std::size_t to() const { return to_; }
  void next() {
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      to_ += strides_[axis];
      if (++at_[axis] < shape_[axis]) return;
      to_ -= strides_[axis] * static_cast<std::size_t>(shape_[axis]);
      at_[axis] = 0;
    }
  }

 private:
  const Shape& shape_;
  std::vector<std::size_t> strides_;
  std::vector<std::int64_t> at_;
  std::size_t to_ = 0;
};

template <class T, class Rule>
Status reduce(const Call& call, const Tensor& x, const std::vector<bool>& reduced, const Shape& shape) {
  CALKIT_TRY(Tensor y, call.out(0, x.dtype(), shape));
  auto sums = y.mutable_data<T>();
  std::fill(sums.begin(), sums.end(), Rule::template first<T>());
  Walk walk(x.shape(), reduced);
  for (const T value : x.data<T>()) {
    sums[walk.to()] = Rule::template add<T>(sums[walk.to()], value);
    walk.next();
  }
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < reduced.size(); ++axis)
    if (reduced[axis]) count *= static_cast<std::size_t>(x.shape()[axis]);
  for (T& sum : sums) sum = Rule::template last<T>(sum, count);
  return {};
}

template <class Rule>
Status run_reduce(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const std::vector<bool> reduced, reduced_axes(call, x->rank()));
  const bool keep = call.node.int_or("keepdims", 1) != 0;
  Shape shape;
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    if (!reduced[axis]) shape.push_back(x->shape()[axis]);
    if (reduced[axis] && keep) shape.push_back(1);
  }
  switch (x->dtype()) {
    case DType::kF32:
      return reduce<float, Rule>(call, *x, reduced, shape);
    case DType::kF64:
      return reduce<double, Rule>(call, *x, reduced, shape);
    case DType::kU64:
      return reduce<std::uint64_t, Rule>(call, *x, reduced, shape);
    case DType::kBool:
      return reduce<std::uint8_t, Rule>(call, *x, reduced, shape);
    default:
      return reduce<std::int64_t, Rule>(call, *x, reduced, shape);
  }
}

// log(sum(exp(x))), from the largest so that nothing overflows.
template <class T>
Status log_sum_exp(const Call& call, const Tensor& x) {
  std::optional<Tensor> y;
  const OutputAllocator keep = [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    CALKIT_TRY(y, call.out(index, dtype, shape));
    return *y;
  };
  CALKIT_CHECK_OK(run_reduce<Largest>(Call{call.node, call.inputs, keep, call.opset}));
  CALKIT_TRY(const std::vector<bool> reduced, reduced_axes(call, x.rank()));
  auto largest = y->mutable_data<T>();
  std::vector<double> sums(largest.size(), 0.0);
  Walk walk(x.shape(), reduced);
  for (const T value : x.data<T>()) {
    const auto top = static_cast<double>(largest[walk.to()]);
    sums[walk.to()] +=
        std::isinf(top) ? std::exp(static_cast<double>(value)) : std::exp(static_cast<double>(value) - top);
    walk.next();
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto top = static_cast<double>(largest[i]);
    largest[i] = static_cast<T>(std::log(sums[i]) + (std::isinf(top) ? 0.0 : top));
  }
  return {};
}

Status run_log_sum_exp(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  return x->dtype() == DType::kF64 ? log_sum_exp<double>(call, *x) : log_sum_exp<float>(call, *x);
}

}  // namespace

void register_reduce(Registry& registry) {
  constexpr Types kNative = kTypeF32 | kTypeF64 | kTypeI64 | kTypeU64;
  constexpr Types kSummed = kFloatTypes | kTypeI32 | kTypeI64 | type_bit(DType::kU32) | kTypeU64;
  const auto add = [&](const char* name, RunFunction run, Types types, Types native, const char* axes = "axes=I<18") {
    registry[name] = {.min_inputs = 1,
                      .max_inputs = 2,
                      .attributes = {"keepdims=i", "noop_with_empty_axes=i", axes},
                      .run = run,
                      .types = types,
                      .native = native};
  };
  const Types ranked = kSummed | kTypeI8 | kTypeU8 | kTypeBool;
  add(":ReduceSum", &run_reduce<Sum>, kSummed, kNative, "axes=I<13");
  add(":ReduceMean", &run_reduce<Mean>, kSummed, kNative);
  add(":ReduceProd", &run_reduce<Product>, kSummed, kNative);
  add(":ReduceMax", &run_reduce<Largest>, ranked, kNative | kTypeBool);
  add(":ReduceMin", &run_reduce<Smallest>, ranked, kNative | kTypeBool);
  add(":ReduceL1", &run_reduce<Magnitude>, kSummed, kNative);
  add(":ReduceL2", &run_reduce<Length>, kSummed, kNative);
  add(":ReduceSumSquare", &run_reduce<Squares>, kSummed, kNative);
  add(":ReduceLogSumExp", &run_log_sum_exp, kFloatTypes, kTypeF32 | kTypeF64);
  add(":ReduceLogSum", &run_reduce<LogSum>, kSummed, kNative);
}

}  // namespace calkit::exec
