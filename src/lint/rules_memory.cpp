/// Family 05, first part: every range lies where it may, and no two reservations share bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

const char* const kMapFix = "regenerate the I/O map for this batch and vocabulary, or enlarge the reservation";

std::string limit_text(const calbin::Region& region) {
  return fmt::format("reservation '{}' {} on chip {}", region.id, range_text(region.base, region.size), region.chip);
}

void check_csr_places(Check& check) {
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    for (std::size_t i = 0; i < submodel.csr.size(); ++i) {
      const auto& csr = submodel.csr[i];
      const std::string place = fmt::format("{}/csr/{}", pointer, i);
      const std::uint64_t bytes =
          static_cast<std::uint64_t>(csr.count) * static_cast<std::uint64_t>(csr.width_bits / 8);
      if (!check.usable(place) || !check.usable(pointer + "/chips") || wraps(csr.base, bytes)) continue;
      const auto& regions = check.d().memory.regions;
      const bool inside = std::any_of(regions.begin(), regions.end(), [&](const calbin::Region& region) {
        return (region.kind == "io" || region.kind == "command") && ((submodel.chips >> region.chip) & 1) != 0 &&
               contains(region, csr.base, bytes);
      });
      // With a reservation that could not be read, "in none of them" is not known.
      if (!inside && check.usable("/memory/regions"))
        check.report(place, {fmt::format("register '{}' of '{}' lies in no reservation", csr.name, submodel.name),
                             range_text(csr.base, bytes), "a reservation of kind io or command on the submodel's chips",
                             kMapFix});
    }
  });
}

const calbin::Region* parent_of(const Check& check, const calbin::Region& region) {
  return region.parent.empty() ? nullptr : check.region(region.parent);
}

/// Who says to share bytes with whom.
using Sharing = std::set<std::pair<const calbin::Region*, const calbin::Region*>>;

Sharing sharing_of(Check& check) {
  Sharing out;
  check.each_region([&](const calbin::Region& region, const std::string&) {
    for (const auto& id : region.shared_with)
      if (const auto* other = check.region(id)) out.emplace(&region, other);
  });
  return out;
}

/// True when one of the two lies above the other in the tree of reservations, or they are declared as shared.
bool may_overlap(const Check& check, const Sharing& said, const calbin::Region& a, const calbin::Region& b) {
  const auto is_above = [&](const calbin::Region& upper, const calbin::Region& lower) {
    const auto* at = &lower;
    for (int steps = 0; at != nullptr && !at->parent.empty() && steps < 64; ++steps) {
      if (at->parent == upper.id) return true;
      at = parent_of(check, *at);
    }
    return false;
  };
  return is_above(a, b) || is_above(b, a) || (said.contains({&a, &b}) && said.contains({&b, &a}));
}

/// I/O lies in I/O reservations; a KV cache that a graph reads or writes itself lies in the KV one, too.
void check_tensor_kind(Check& check, const Check::TensorAt& at, const calbin::Region& region) {
  const std::string& role = at.tensor.role;
  const bool cache = role.starts_with("past_") || role.starts_with("present_");
  const bool constant = region.kind == "param" || region.kind == "command";  // CB0705
  if (region.kind == "io" || (cache && region.kind == "kv") || constant) return;
  check.report(at.pointer + "/region",
               {fmt::format("{} lies in a reservation that is not for it", at.name()),
                fmt::format("'{}' of kind {}", region.id, region.kind),
                cache ? "a reservation of kind io or kv" : "a reservation of kind io", kMapFix});
}

void check_workspace(Check& check) {
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    const auto* region = check.region(submodel.workspace_region);
    if (region == nullptr || !check.usable(pointer + "/workspace")) return;
    if (region->kind != "workspace" && region->kind != "global")
      check.report(pointer + "/workspace/region",
                   {fmt::format("the workspace of '{}' is a reservation of another kind", submodel.name),
                    fmt::format("'{}' of kind {}", region->id, region->kind),
                    "a reservation of kind workspace or global", "name the workspace's own reservation"});
    if (submodel.workspace_peak <= region->size) return;
    check.report(
        pointer + "/workspace/peak",
        {fmt::format("the workspace of '{}' is larger than its reservation", submodel.name),
         fmt::format("{} B", submodel.workspace_peak), limit_text(*region), "enlarge the workspace reservation"});
  });
}

void check_inside_region(Check& check) {
  check.each_tensor([&](const Check::TensorAt& at) {
    const auto* region = check.region(at.tensor.region);
    if (region == nullptr) return;
    check_tensor_kind(check, at, *region);
    const auto inside = [&](std::uint64_t base, const std::string& pointer, const std::string& what) {
      if (wraps(base, at.tensor.size)) return;  // CB0502
      if (region->chip != at.tensor.chip)
        check.report(pointer, {what + " and its reservation are on different chips",
                               fmt::format("chip {}", at.tensor.chip), limit_text(*region), kMapFix});
      else if (!contains(*region, base, at.tensor.size))
        check.report(pointer, {what + " lies outside its reservation", range_text(base, at.tensor.size),
                               limit_text(*region), kMapFix});
    };
    inside(at.tensor.base, at.pointer, at.name());
    if (!at.tensor.pingpong) return;
    if (at.tensor.pingpong->ping_base != at.tensor.base)
      inside(at.tensor.pingpong->ping_base, at.pointer + "/pingpong/ping_base", "the ping buffer of " + at.name());
    inside(at.tensor.pingpong->pong_base, at.pointer + "/pingpong/pong_base", "the pong buffer of " + at.name());
  });
  check_workspace(check);
  check_csr_places(check);
}

void check_address_overflow(Check& check) {
  const char* fix = "the address map is damaged or was written with too few bits; regenerate it";
  const auto range = [&](std::uint64_t base, std::uint64_t size, const std::string& pointer, const std::string& what) {
    if (wraps(base, size))
      check.report(pointer, {what + " runs past the end of the address space", range_text(base, size),
                             "base + size below 2^64", fix});
  };
  const auto product = [&](const Shape& shape, DType dtype, const std::string& pointer, const std::string& what) {
    if (!checked_product(shape, dtype_bytes(dtype)))
      check.report(pointer + "/shape",
                   {what + " has more bytes than 64 bits can count",
                    fmt::format("{} of {}", shape_text(shape), dtype_name(dtype)), "a product below 2^64", fix});
  };
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    range(region.base, region.size, pointer, fmt::format("region '{}'", region.id));
  });
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    range(param.base, param.length, pointer, fmt::format("parameter '{}'", param.name));
    product(param.shape, param.dtype, pointer, fmt::format("parameter '{}'", param.name));
  });
  check.each_tensor([&](const Check::TensorAt& at) {
    range(at.tensor.base, at.tensor.size, at.pointer, at.name());
    product(at.tensor.shape, at.tensor.dtype, at.pointer, at.name());
    if (!at.tensor.pingpong) return;
    if (at.tensor.pingpong->ping_base != at.tensor.base)
      range(at.tensor.pingpong->ping_base, at.tensor.size, at.pointer + "/pingpong/ping_base",
            "the ping buffer of " + at.name());
    range(at.tensor.pingpong->pong_base, at.tensor.size, at.pointer + "/pingpong/pong_base",
          "the pong buffer of " + at.name());
  });
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    for (std::size_t i = 0; i < submodel.csr.size(); ++i) {
      const auto& csr = submodel.csr[i];
      const std::string place = fmt::format("{}/csr/{}", pointer, i);
      if (check.usable(place))
        range(csr.base, static_cast<std::uint64_t>(csr.count) * static_cast<std::uint64_t>(csr.width_bits / 8), place,
              fmt::format("register '{}' of '{}'", csr.name, submodel.name));
    }
  });
}

void check_alignment(Check& check) {
  constexpr std::uint64_t kMaxAlign = 1ull << 30;
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    if (!std::has_single_bit(region.align) || region.align > kMaxAlign)
      check.report(pointer + "/align",
                   {fmt::format("region '{}' has an impossible alignment", region.id), fmt::format("{}", region.align),
                    "a power of two up to 1 GiB", "correct the memory plan"});
    else if (region.base % region.align != 0)
      check.report(pointer + "/base", {fmt::format("region '{}' is not aligned", region.id), hex_u64(region.base),
                                       fmt::format("a multiple of {}", region.align), "correct the memory plan"});
  });
  check.each_tensor([&](const Check::TensorAt& at) {
    if (at.tensor.base % dtype_bytes(at.tensor.dtype) != 0)
      check.report(at.pointer + "/base",
                   {fmt::format("{} splits an element", at.name()), hex_u64(at.tensor.base),
                    fmt::format("a multiple of {}, the element size", dtype_bytes(at.tensor.dtype)), kMapFix});
  });
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    for (std::size_t i = 0; i < submodel.csr.size(); ++i) {
      const auto& csr = submodel.csr[i];
      const std::string place = fmt::format("{}/csr/{}", pointer, i);
      const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(csr.width_bits / 8, 1));
      if (check.usable(place) && !wraps(csr.base, bytes) && csr.base % bytes != 0)
        check.report(place + "/base",
                     {fmt::format("register '{}' of '{}' splits a word", csr.name, submodel.name), hex_u64(csr.base),
                      fmt::format("a multiple of {}, its width in bytes", bytes), kMapFix});
    }
  });
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    if (param.base % dtype_bytes(param.dtype) != 0)
      check.report(pointer + "/base", {fmt::format("parameter '{}' splits an element", param.name), hex_u64(param.base),
                                       fmt::format("a multiple of {}, the element size", dtype_bytes(param.dtype)),
                                       "correct the memory plan"});
  });
}

/// Sharing is agreed between two; where they overlap all the same, that is the finding.
void check_sharing(Check& check, const Sharing& said) {
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    for (std::size_t i = 0; i < region.shared_with.size(); ++i) {
      const auto* other = check.region(region.shared_with[i]);
      if (other == nullptr) continue;  // CB0204
      const bool self = other == &region;
      const bool one_place = other->chip == region.chip && other->space == region.space;
      const bool overlapping = one_place && overlap(region.base, region.size, other->base, other->size);
      if (!self && (said.contains({other, &region}) || (overlapping && !may_overlap(check, said, region, *other))))
        continue;
      check.report_in(kDescriptionFile, fmt::format("{}/shared_with/{}", pointer, i), 0,
                      {self ? fmt::format("region '{}' is said to share bytes with itself", region.id)
                            : fmt::format("region '{}' says that it shares bytes with '{}', which does not say so",
                                          region.id, other->id),
                       fmt::format("'{}'", other->id), "shared_with on both regions, or on none",
                       "have the memory plan say on both sides what is meant"},
                      Severity::kError);
    }
  });
}

void check_region_overlap(Check& check) {
  const Sharing said = sharing_of(check);
  check_sharing(check, said);
  constexpr std::uint64_t kMaxPairs = 100000;
  struct Place {
    const calbin::Region* region;
    std::string pointer;
  };
  std::vector<Place> places;
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    if (region.size != 0 && !wraps(region.base, region.size)) places.push_back({&region, pointer});
  });
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.region->chip, a.region->space, a.region->base) <
           std::tie(b.region->chip, b.region->space, b.region->base);
  });
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& a = *places[i].region;
    for (std::size_t k = i + 1; k < places.size(); ++k) {
      const auto& b = *places[k].region;
      if (b.chip != a.chip || b.space != a.space || b.base >= a.base + a.size) break;
      if (++pairs > kMaxPairs)
        return check.not_evaluated(fmt::format("more than {} pairs of regions overlap", kMaxPairs));
      if (may_overlap(check, said, a, b)) continue;
      check.report(places[k].pointer, {fmt::format("regions '{}' and '{}' share bytes on chip {}", a.id, b.id, a.chip),
                                       fmt::format("'{}' {}", b.id, range_text(b.base, b.size)),
                                       fmt::format("outside '{}' {}", a.id, range_text(a.base, a.size)),
                                       "separate them, or declare shared_with on both if that is meant"});
    }
  }
}

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

void check_region_parent(Check& check) {
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    if (region.parent.empty() || wraps(region.base, region.size)) return;
    const auto* parent = parent_of(check, region);
    if (parent == nullptr || wraps(parent->base, parent->size)) return;
    const auto* at = &region;
    for (std::size_t steps = 0; at != nullptr && !at->parent.empty(); ++steps, at = parent_of(check, *at)) {
      if (steps > 64 || (steps > 0 && at == &region)) {
        check.report(pointer + "/parent",
                     {fmt::format("the parents of region '{}' form a ring or a chain without end", region.id),
                      fmt::format("'{}'", region.parent), "a tree of reservations", "correct the memory plan"});
        return;
      }
    }
    if (parent->chip == region.chip && parent->space == region.space && contains(*parent, region.base, region.size))
      return;
    check.report(pointer,
                 {fmt::format("region '{}' lies outside its parent", region.id),
                  fmt::format("{} in {} of chip {}", range_text(region.base, region.size), region.space, region.chip),
                  fmt::format("'{}' {} in {} of chip {}", parent->id, range_text(parent->base, parent->size),
                              parent->space, parent->chip),
                  "enlarge the global reservation, or correct the submodel's"});
  });
}

}  // namespace

std::vector<Rule> memory_rules() {
  return {
      {{"CB0501", "tensor-outside-region", Severity::kBlocker, RuleClass::kInvalid,
        "every I/O tensor, register and workspace lies inside its reservation", "8e"},
       {kTensorPlace, kRegionPlace, kCsrPlace, "/submodels/*/workspace,chips"},
       &check_inside_region},
      {{"CB0502", "address-overflow", Severity::kBlocker, RuleClass::kInvalid,
        "no range and no shape wraps around 64 bits", "8e"},
       {kTensorPlace, "/submodels/*/inputs,outputs/*/shape,dtype", "/memory/regions/*/id,base,size", kParamPlace,
        "/params/*/shape,dtype", kCsrPlace},
       &check_address_overflow},
      {{"CB0503", "address-misaligned", Severity::kError, RuleClass::kInvalid,
        "regions keep their alignment and tensors their element size", "8e"},
       {"/memory/regions/*/base,align", "/submodels/*/inputs,outputs/*/base,dtype", "/params/*/base,dtype"},
       &check_alignment},
      {{"CB0504", "region-overlap", Severity::kBlocker, RuleClass::kInvalid,
        "regions of one chip share no bytes, unless nested or declared", "7b"},
       {kRegionPlace, "/memory/regions/*/parent,shared_with"},
       &check_region_overlap},
      {{"CB0505", "size-vs-shape", Severity::kError, RuleClass::kInvalid,
        "a tensor's bytes are what its shape and dtype need", "7c 9b"},
       {"/submodels/*/inputs,outputs/*/shape,dtype,size,layout,role",
        "/params/*/name,shape,logical_shape,shard,dtype,length"},
       &check_size_of_shape},
      {{"CB0510", "submodel-outside-global", Severity::kError, RuleClass::kInvalid,
        "every region lies inside its parent", "7b", Maturity::kPreview},
       {kRegionPlace, "/memory/regions/*/parent"},
       &check_region_parent},
  };
}

}  // namespace calkit::lint
