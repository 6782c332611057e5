// Softmax, LogSoftmax and Hardmax along an axis; before opset 13, over all axes from one on.
#include "softmax.h"

#include "call.h"
#include "wide.h"

namespace calkit::exec {
namespace {

template <class T>
void log_softmax_row(std::vector<T>& row) {
  const T largest = *std::max_element(row.begin(), row.end());
  T sum = 0;
  for (const T value : row) sum += std::exp(value - largest);
  for (T& value : row) value = value - largest - std::log(sum);
}

// One for the first of the largest, zero for the others.
template <class T>
void hardmax_row(std::vector<T>& row) {
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  std::fill(row.begin(), row.end(), T(0));
  row[static_cast<std::size_t>(best)] = 1;
}

template <class T, class Wide>
void each_row(const Tensor& x, Tensor& y, std::size_t width, std::size_t step, void (*function)(std::vector<Wide>&)) {
  std::vector<Wide> row(width);
  const T* from = x.data<T>().data();
  T* to = y.mutable_data<T>().data();
  const std::size_t rows = x.elements() / width;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t base = i / step * step * width + i % step;
    for (std::size_t j = 0; j < width; ++j) row[j] = wide(from[base + j * step]);
    function(row);
    for (std::size_t j = 0; j < width; ++j) put(to[base + j * step], row[j]);
  }
}

Status along_axis(const Call& call, void (*f32)(std::vector<float>&), void (*f64)(std::vector<double>&)) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  const bool flat = call.opset < 13;
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", flat ? 1 : -1), x->rank()));
  const std::size_t width = flat ? extent(x->shape(), axis, x->rank()) : static_cast<std::size_t>(x->shape()[axis]);
  const std::size_t step = flat ? 1 : extent(x->shape(), axis + 1, x->rank());
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  if (x->elements() == 0) return {};
  if (x->dtype() == DType::kF32) each_row<float>(*x, y, width, step, f32);
  if (x->dtype() == DType::kBF16) each_row<BF16>(*x, y, width, step, f32);
  if (x->dtype() == DType::kF64) each_row<double>(*x, y, width, step, f64);
  return {};
}

Status run_softmax(const Call& call) {
  return along_axis(call, &softmax_row<float>, &softmax_row<double>);
}
Status run_log_softmax(const Call& call) {
  return along_axis(call, &log_softmax_row<float>, &log_softmax_row<double>);
}
Status run_hardmax(const Call& call) {
  return along_axis(call, &hardmax_row<float>, &hardmax_row<double>);
}

}  // namespace

void register_softmax(Registry& registry) {
  const auto add = [&](const char* name, RunFunction run) {
    registry[name] = {.min_inputs = 1,
                      .max_inputs = 1,
                      .attributes = {"axis=i"},
                      .run = run,
                      .types = kFloatTypes,
                      .native = kLinearTypes | kTypeF64};
  };
  add(":Softmax", &run_softmax);
  add(":LogSoftmax", &run_log_softmax);
  add(":Hardmax", &run_hardmax);
}

}  // namespace calkit::exec
