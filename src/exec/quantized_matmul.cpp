// MatMulInteger and QLinearMatMul: products of 8-bit integers. Sums of at most 2^37 products are exact in F64.
#include <fmt/format.h>

#include <cmath>

#include "matmul_shape.h"
#include "quantize.h"

namespace calkit::exec {
namespace {

// One number for all, or one for each row (a) or column (b) of the matrices.
struct PerLine {
  std::vector<double> values;
  bool rows = false;

  static Result<PerLine> read(const Call& call, std::size_t index, const Tensor& x, bool rows) {
    PerLine out;
    out.rows = rows;
    const Tensor* tensor = call.optional(index);
    if (tensor == nullptr) {
      out.values = {0.0};
      return out;
    }
    const std::size_t lines = x.rank() < 2 ? 1 : static_cast<std::size_t>(x.dim(rows ? -2 : -1));
    if (tensor->elements() != 1 && tensor->elements() != lines)
      return call.fault(index, tensor_text(*tensor), fmt::format("one number, or {}", lines));
    CALKIT_TRY(const Tensor wide, convert(*tensor, DType::kF64));
    out.values.assign(wide.data<double>().begin(), wide.data<double>().end());
    return out;
  }
  double at(std::size_t row, std::size_t column) const {
    return values.size() == 1 ? values[0] : values[rows ? row : column];
  }
};

Result<Tensor> shifted(const Tensor& x, const PerLine& zero) {
  CALKIT_TRY(Tensor out, convert(x, DType::kF64));
  const std::size_t columns = x.rank() == 0 ? 1 : static_cast<std::size_t>(x.dim(-1));
  const std::size_t rows = x.rank() < 2 ? 1 : static_cast<std::size_t>(x.dim(-2));
  auto values = out.mutable_data<double>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= zero.at(i / columns % rows, i % columns);
  return out;
}

Status check_integers(const Call& call, std::size_t index) {
  CALKIT_TRY(const Tensor* x, call.input(index));
  if (!has_type(kTypeI8 | kTypeU8, x->dtype())) return call.fault(index, tensor_text(*x), "i8 or u8");
  return {};
}

// The product in F64, `make` having made the room for the result.
Result<Tensor> product(const Call& call, const Tensor& a, const Tensor& b, DType dtype, std::optional<Tensor>& y) {
  std::optional<Tensor> sums;
  const OutputAllocator out = [&](std::size_t, DType type, const Shape& shape) -> Result<Tensor> {
    CALKIT_TRY(y, call.out(0, dtype, shape));
    CALKIT_TRY(sums, Tensor::zeros(type, shape), node_label(call.node));
    return *sums;
  };
  CALKIT_CHECK_OK(exact_matmul(Call{call.node, call.inputs, out, call.opset}, a, b));
  return *sums;
}

Status run_matmul_integer(const Call& call) {
  CALKIT_CHECK_OK(check_integers(call, 0));
  CALKIT_CHECK_OK(check_integers(call, 1));
  CALKIT_TRY(const PerLine zero_a, PerLine::read(call, 2, *call.inputs[0], true));
  CALKIT_TRY(const PerLine zero_b, PerLine::read(call, 3, *call.inputs[1], false));
  CALKIT_TRY(const Tensor a, shifted(*call.inputs[0], zero_a));
  CALKIT_TRY(const Tensor b, shifted(*call.inputs[1], zero_b));
  std::optional<Tensor> y;
  CALKIT_TRY(const Tensor sums, product(call, a, b, DType::kI32, y));
  auto to = y->mutable_data<std::int32_t>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(sums.data<double>()[i]));
  return {};
}

Status run_qlinear_matmul(const Call& call) {
  for (std::size_t i = 0; i < 8; ++i) {
    CALKIT_TRY([[maybe_unused]] const Tensor* operand, call.input(i));
  }
  CALKIT_CHECK_OK(check_integers(call, 0));
  CALKIT_CHECK_OK(check_integers(call, 3));
  CALKIT_CHECK_OK(check_integers(call, 7));
  const Tensor &in_a = *call.inputs[0], &in_b = *call.inputs[3];
  CALKIT_TRY(const PerLine scale_a, PerLine::read(call, 1, in_a, true));
  CALKIT_TRY(const PerLine zero_a, PerLine::read(call, 2, in_a, true));
  CALKIT_TRY(const PerLine scale_b, PerLine::read(call, 4, in_b, false));
  CALKIT_TRY(const PerLine zero_b, PerLine::read(call, 5, in_b, false));
  CALKIT_TRY(const Tensor a, shifted(in_a, zero_a));
  CALKIT_TRY(const Tensor b, shifted(in_b, zero_b));
  std::optional<Tensor> y;
  CALKIT_TRY(const Tensor sums, product(call, a, b, call.inputs[7]->dtype(), y));
  CALKIT_TRY(const PerLine scale_y, PerLine::read(call, 6, *y, true));
  CALKIT_TRY(const PerLine zero_y, PerLine::read(call, 7, *y, true));
  const std::size_t columns = in_b.rank() < 2 ? 1 : static_cast<std::size_t>(in_b.dim(-1));
  const std::size_t rows = in_a.rank() < 2 ? 1 : static_cast<std::size_t>(in_a.dim(-2));
  for (std::size_t i = 0; i < sums.elements(); ++i) {
    const std::size_t row = i / columns % rows, column = i % columns;
    const double factor = scale_a.at(row, column) * scale_b.at(row, column) / scale_y.at(row, column);
    store_quantized(*y, i, sums.data<double>()[i] * factor, static_cast<std::int64_t>(zero_y.at(row, column)));
  }
  return {};
}

}  // namespace

void register_quantized_matmul(Registry& registry) {
  registry[":MatMulInteger"] = {.min_inputs = 2,
                                .max_inputs = 4,
                                .run = &run_matmul_integer,
                                .types = kTypeI8 | kTypeU8,
                                .native = kTypeI8 | kTypeU8,
                                .since = 10};
  registry[":QLinearMatMul"] = {.min_inputs = 8,
                                .max_inputs = 8,
                                .run = &run_qlinear_matmul,
                                .types = kTypeI8 | kTypeU8,
                                .native = kTypeI8 | kTypeU8,
                                .since = 10};
}

}  // namespace calkit::exec
