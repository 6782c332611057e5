/// Family 05, first part: every range lies where it may.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

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
  };
}

}  // namespace calkit::lint
