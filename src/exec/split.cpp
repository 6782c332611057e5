// Split: one tensor as several along an axis.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "call.h"

namespace calkit::exec {
namespace {

// The sizes: stated, or equal ones of which the last may be smaller.
Result<std::vector<std::int64_t>> part_sizes(const Call& call, std::int64_t total) {
  CALKIT_TRY(const auto stated, call.ints_or_attribute(1, "split"));
  const auto outputs = static_cast<std::int64_t>(call.node.outputs.size());
  if (stated) {
    std::int64_t left = total;
    for (const std::int64_t size : *stated) {
      if (size < 0 || size > left) left = -1;
      if (left < 0) break;
      left -= size;
    }
    if (left != 0 || static_cast<std::int64_t>(stated->size()) != outputs)
      return call.fault("split " + shape_text(*stated), fmt::format("{} sizes that add up to {}", outputs, total));
    return *stated;
  }
  const std::int64_t parts = call.node.int_or("num_outputs", outputs);
  if (parts != outputs || parts < 1)
    return call.fault(fmt::format("num_outputs {}", parts), fmt::format("{}", outputs));
  if (call.opset < 18 && total % parts != 0)
    return call.fault(fmt::format("{} rows in {} parts", total, parts), "equal parts");
  const std::int64_t size = (total + parts - 1) / parts;
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0, left = total; i < parts; ++i, left -= out.back()) out.push_back(std::min(size, left));
  return out;
}

Status run_split(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  CALKIT_TRY(const std::size_t axis, normal_axis(call, call.node.int_or("axis", 0), x->rank()));
  CALKIT_TRY(const auto sizes, part_sizes(call, x->shape()[axis]));
  const std::size_t outer = extent(x->shape(), 0, axis);
  const std::size_t row = extent(x->shape(), axis + 1, x->rank()) * dtype_bytes(x->dtype());
  const std::size_t step = row * static_cast<std::size_t>(x->shape()[axis]);
  const std::byte* from = x->raw();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = x->shape();
    shape[axis] = sizes[i];
    const std::size_t run = row * static_cast<std::size_t>(sizes[i]);
    if (call.names_output(i)) {
      CALKIT_TRY(Tensor y, call.out(i, x->dtype(), shape));
      for (std::size_t block = 0; block < outer && run > 0; ++block)
        std::memcpy(y.mutable_raw() + block * run, from + block * step, run);
    }
    from += run;
  }
  return {};
}

}  // namespace

void register_split(Registry& registry) {
  registry[":Split"] = {
      .min_inputs = 1, .max_inputs = 2, .attributes = {"axis=i", "split=I<13", "num_outputs=i>=18"}, .run = &run_split};
}

}  // namespace calkit::exec
