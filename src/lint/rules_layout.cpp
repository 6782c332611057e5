/// Family 04, third part: logits have their rows; padding and the order of the KV cache are declared.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

void check_logits_shape(Check& check) {
  if (!check.usable("/model/vocab")) return;
  const std::int64_t vocab = check.d().model.vocab;
  check.each_tensor([&](const Check::TensorAt& at) {
    if (at.tensor.role != "logits" || !check.usable(fmt::format("/submodels/{}/batch", at.submodel_index))) return;
    const auto& shape = at.tensor.shape;
    const auto& logical = at.tensor.layout.logical_shape;
    const auto wrong = [&](std::string limit) {
      check.report(at.pointer + "/shape",
                   {fmt::format("{} cannot hold one row of logits per sequence", at.name()),
                    fmt::format("shape {}, logical {}", shape_text(shape), shape_text(logical)), std::move(limit),
                    "recompile for this batch and vocabulary; padding is stated in layout"});
    };
    if (shape.size() < 2 || shape.size() != logical.size())
      return wrong("[rows, vocabulary], with a logical shape of that rank");
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] < logical[axis]) return wrong("a physical shape that holds the logical one");
    if (logical.back() < vocab) return wrong(fmt::format("a last extent of model.vocab {}", vocab));
    if (logical[0] != at.submodel.batch) wrong(fmt::format("a first extent of batch {}", at.submodel.batch));
  });
}

constexpr const char* kCacheAxes = "slot,layer,k|v,head,position,dim";

/// The order of the cache, slowest axis first: whoever reads a cache back has nothing else to go by.
void check_cache_order(Check& check) {
  if (!check.usable("/kv/layout")) return;
  const std::string& order = check.d().kv.layout;
  const auto known = split(kCacheAxes, ',');
  const auto axes = split(order, ',');
  std::string wrong;
  const auto add = [&](std::string_view what, const std::string& axis) {
    wrong += fmt::format("{}{} '{}'", wrong.empty() ? "" : ", ", what, printable(axis));
  };
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::find(known.begin(), known.end(), axes[i]) == known.end())
      add("unknown", axes[i]);
    else if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
             axes.begin() + static_cast<std::ptrdiff_t>(i))
      add("twice", axes[i]);
  for (const auto& axis : known)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) add("without", axis);
  if (wrong.empty()) return;
  check.report(
      "/kv/layout",
      {"the layout of the KV cache does not say in which order it lies",
       fmt::format("'{}': {}", printable(order), wrong),
       fmt::format("the axes {}, each once, in the order of memory, slowest first", kCacheAxes),
       "name the axes in the order of the cache; a reader that knows it by heart breaks with the next device"});
}

/// Rows of axis -2 are padded to the tile; the last axis may be longer than the logical one, which says so itself.
void check_layout(Check& check) {
  check_cache_order(check);
  check.each_tensor([&](const Check::TensorAt& at) {
    const auto& physical = at.tensor.shape;
    const auto& layout = at.tensor.layout;
    const auto& logical = layout.logical_shape;
    if (physical.size() != logical.size() || physical.size() < 2) return;  // CB0406 tells of logits
    if (!checked_product(physical)) return;                                // CB0502
    const auto say = [&](std::string limit) {
      check.report(at.pointer + "/layout",
                   {fmt::format("{} is padded in a way its layout does not declare", at.name()),
                    fmt::format("shape {}, logical {}, tile {}", shape_text(physical), shape_text(logical),
                                shape_text(layout.tile)),
                    std::move(limit), "state the tile; a reader that knows it by heart breaks with the next device"});
    };
    const std::size_t rows = physical.size() - 2;
    for (std::size_t axis = 0; axis < rows; ++axis)
      if (physical[axis] > logical[axis]) return say("padding on the last two axes only");
    if (layout.tile.empty()) {
      if (physical[rows] > logical[rows]) say("a tile, where rows are padded");
      return;
    }
    const std::int64_t tile = layout.tile[0];
    if (layout.tile.size() != 1 || tile < 1) return say("a tile of one positive extent: the rows");
    const std::int64_t whole = logical[rows] / tile * tile, wanted = whole + (whole < logical[rows] ? tile : 0);
    const bool whole_tiles = physical[rows] % tile == 0;  // else CB0505 tells
    if (whole_tiles && physical[rows] != wanted) say(fmt::format("{} rows, the next multiple of the tile", wanted));
  });
}

}  // namespace

std::vector<Rule> layout_rules() {
  return {
      {{"CB0406", "logits-shape", Severity::kBlocker, RuleClass::kIncompatible,
        "logits have a row of the vocabulary's width per sequence", "10b"},
       {"/model/vocab", "/submodels/*/batch", "/submodels/*/outputs/*/role,shape,layout"},
       &check_logits_shape},
      {{"CB0410", "layout-undeclared", Severity::kError, RuleClass::kInvalid,
        "padding of a tensor is declared: by the tile of its rows, or as the end of its last axis; so is the order of "
        "the "
        "KV cache",
        "10c"},
       {"/submodels/*/inputs,outputs/*/name,shape,layout", "/kv/layout"},
       &check_layout},
  };
}

}  // namespace calkit::lint
