/// Family 05, third part: the bytes of a tensor are those of its shape.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calkit/base/checked.h"
#include "families.h"

namespace calkit::lint {

namespace {

/// Strides of a row-major tensor are what its shape and dtype make them.
void check_strides(Check& check, const Check::TensorAt& at) {
  const auto& layout = at.tensor.layout;
  const Shape& shape = at.tensor.shape;
  if (layout.order != "row-major" || layout.strides_bytes.empty()) return;
  std::vector<std::uint64_t> due(shape.size());
  auto step = std::optional<std::uint64_t>(dtype_bytes(at.tensor.dtype));
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (!step || shape[axis] < 0) return;  // CB0502 tells
    due[axis] = *step;
    step = checked_mul(*step, static_cast<std::uint64_t>(shape[axis]));
  }
  if (due == layout.strides_bytes) return;
  check.report(
      at.pointer + "/layout/strides_bytes",
      {fmt::format("the strides of {} are not those of its shape", at.name()),
       fmt::format("[{}]", fmt::join(layout.strides_bytes, ", ")),
       fmt::format("[{}]: row-major {} of {}", fmt::join(due, ", "), shape_text(shape), dtype_name(at.tensor.dtype)),
       "one of strides, shape and dtype is wrong; regenerate the map"});
}

/// What is meant lies inside what is stored.
void check_logical(Check& check, const Check::TensorAt& at) {
  const Shape &physical = at.tensor.shape, &logical = at.tensor.layout.logical_shape;
  if (at.tensor.role == "logits" || physical.size() != logical.size()) return;  // CB0406, CB0303
  for (std::size_t axis = 0; axis < physical.size(); ++axis)
    if (physical[axis] < logical[axis])
      return check.report(at.pointer + "/layout/logical_shape",
                          {fmt::format("the logical shape of {} is larger than its physical one", at.name()),
                           shape_text(logical), fmt::format("within {}", shape_text(physical)),
                           "one of shape and logical_shape is wrong; regenerate the map"});
}

void check_size_of_shape(Check& check) {
  const auto fits = [&](const Shape& shape, DType dtype, std::uint64_t size, const std::string& pointer,
                        const std::string& what) {
    const auto bytes = checked_product(shape, dtype_bytes(dtype));
    if (bytes && *bytes != size)
      check.report(pointer, {what + " has another size than its shape", fmt::format("{} B", size),
                             fmt::format("{} of {} = {} B", shape_text(shape), dtype_name(dtype), *bytes),
                             "one of shape, dtype and size is wrong; regenerate the map"});
  };
  check.each_tensor([&](const Check::TensorAt& at) {
    fits(at.tensor.shape, at.tensor.dtype, at.tensor.size, at.pointer + "/size", at.name());
    check_strides(check, at);
    check_logical(check, at);
    const auto& tile = at.tensor.layout.tile;
    const std::size_t rank = at.tensor.shape.size();
    if (tile.empty()) return;
    if (tile.size() != 1 || tile[0] < 1 || rank < 2 || at.tensor.shape[rank - 2] % tile[0] != 0)
      check.report(at.pointer + "/layout/tile",
                   {fmt::format("the rows of {} are no whole tiles", at.name()),
                    fmt::format("tile {}, shape {}", shape_text(tile), shape_text(at.tensor.shape)),
                    "one tile size that divides the physical rows (axis -2)", "regenerate the map for this tile size"});
  });
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    const std::string what = fmt::format("parameter '{}'", param.name);
    fits(param.shape, param.dtype, param.length, pointer + "/length", what);
    if (!calbin::holds_logical_shape(param))
      check.report(pointer + "/logical_shape",
                   {fmt::format("the blocks of {} do not make up its logical shape", what),
                    fmt::format("logical {}", shape_text(param.logical_shape)),
                    fmt::format("{} blocks of {}",
                                param.shard && !param.shard->replicated ? param.shard->count : std::int64_t{1},
                                shape_text(param.shape)),
                    "one of shape, logical_shape and shard is wrong; pack again"});
  });
}

}  // namespace

std::vector<Rule> size_rules() {
  return {
      {{"CB0505", "size-vs-shape", Severity::kError, RuleClass::kInvalid,
        "a tensor's bytes are what its shape and dtype need", "7c 9b"},
       {"/submodels/*/inputs,outputs/*/shape,dtype,size,layout,role",
        "/params/*/name,shape,logical_shape,shard,dtype,length"},
       &check_size_of_shape},
  };
}

}  // namespace calkit::lint
