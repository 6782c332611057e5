/// Family 05, second part: what fits the device, the KV formula, and the op lists' operands.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

std::string bytes_text(std::uint64_t bytes) {
  return fmt::format("{} B ({})", bytes, format_bytes(bytes));
}

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return checked_add(a, b).value_or(UINT64_MAX);
}

void check_chip_capacity(Check& check, const calbin::Chip& chip, const std::string& pointer) {
  const auto& profile = check.facts().profile;
  if (chip.id >= profile.chiplets)
    return check.report(pointer, {fmt::format("chip {} is not on the device", chip.id), fmt::format("chip {}", chip.id),
                                  fmt::format("device profile '{}' has {} chiplets", profile.name, profile.chiplets),
                                  "pack for the chips that the product has"});
  struct Line {
    const char* name;
    std::uint64_t bytes;
  };
  const std::uint64_t guard = std::max(profile.guard_bytes, covered_bytes(check, chip.id, {"guard"}));
  const Line lines[] = {{"params", covered_bytes(check, chip.id, {"param"})},
                        {"KV", covered_bytes(check, chip.id, {"kv"})},
                        {"workspace", covered_bytes(check, chip.id, {"workspace"})},
                        {"I/O and commands", covered_bytes(check, chip.id, {"io", "command", "ccu"})},
                        {"guard", guard}};
  std::uint64_t sum = 0;
  std::string found;
  for (const auto& line : lines) {
    sum = saturating_add(sum, line.bytes);
    found += fmt::format("{:<16} {}\n", line.name, bytes_text(line.bytes));
  }
  found += fmt::format("{:<16} {}", "sum", bytes_text(sum));
  const char* fix = "use a smaller context, batch or dtype, or split the model over more chips";
  if (sum > profile.dram_bytes)
    check.report(pointer, {fmt::format("chip {} needs more memory than it has", chip.id), found,
                           fmt::format("device profile '{}'{}: {} per chiplet", profile.name,
                                       profile.assumed ? " (assumed)" : "", bytes_text(profile.dram_bytes)),
                           fix});
  else if (sum - guard > chip.dram_usable)
    check.report(pointer + "/dram_usable",
                 {fmt::format("chip {} needs more memory than the package says is usable", chip.id), found,
                  fmt::format("dram_usable {}, guard not counted", bytes_text(chip.dram_usable)), fix});
  if (chip.dram_usable > profile.dram_bytes)
    check.report(
        pointer + "/dram_usable",
        {fmt::format("the package counts on more memory than chip {} has", chip.id), bytes_text(chip.dram_usable),
         fmt::format("device profile '{}': {}", profile.name, bytes_text(profile.dram_bytes)),
         "pack again with this device profile"});
}

/// A parameter that cannot be read may be the one.
bool in_a_parameter(Check& check, std::int64_t chip, const calbin::Operand& operand) {
  const auto& params = check.d().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!check.usable(fmt::format("/params/{}", i))) return true;
    const auto& param = params[i];
    if (param.chip == chip && operand.base >= param.base &&
        range_inside(operand.base - param.base, operand.size, param.length))
      return true;
  }
  return false;
}

void check_operand(Check& check, const OpListFacts& list, const calbin::Op& op, const calbin::Operand& operand,
                   bool read, const std::string& pointer) {
  if (operand.absent) return;
  const auto& submodel = check.d().submodels[list.submodel];
  const auto say = [&](const char* what, std::string found, std::string limit) {
    check.report_in(
        list.path, pointer, calbin::line_of(list.document, pointer),
        {fmt::format("op {} {} of '{}': operand '{}' {}", op.id, op.type, submodel.name, operand.name, what),
         std::move(found), std::move(limit), "regenerate the op list together with the memory plan"},
        check.rule().severity);
  };
  if (!operand.csr.empty()) {
    const auto csr = std::find_if(submodel.csr.begin(), submodel.csr.end(),
                                  [&](const calbin::Csr& c) { return c.name == operand.csr; });
    if (csr == submodel.csr.end())
      say("is no register of the submodel", fmt::format("register '{}'", operand.csr),
          "the exact name of one of its registers");
    else if (csr->base != operand.base)
      say("is at another address than its register", hex_u64(operand.base),
          fmt::format("{} of '{}'", hex_u64(csr->base), csr->name));
    return;
  }
  const auto at = check.facts().region_index.find(operand.region);
  if (at == check.facts().region_index.end() && !check.usable("/memory/regions")) return;
  if (at == check.facts().region_index.end())
    return say("is in no reservation", fmt::format("region '{}'", operand.region),
               "an id of calbin.json#/memory/regions");
  const auto* region = check.region(operand.region);
  if (region == nullptr) return;
  if (region->chip != list.chip && !crosses_chips(op))
    return say("is on another chip", fmt::format("region '{}' of chip {}", region->id, region->chip),
               fmt::format("chip {}", list.chip));
  if (region->kind == "guard" || region->kind == "ccu")
    return say("lies where no op may go", fmt::format("'{}' of kind {}", region->id, region->kind),
               "a reservation of kind io, workspace, kv, param, command or global");
  if (!contains(*region, operand.base, operand.size))
    return say("lies outside its reservation", range_text(operand.base, operand.size),
               fmt::format("'{}' {}", region->id, range_text(region->base, region->size)));
  if (read && region->kind == "param" && check.usable("/params") && !in_a_parameter(check, list.chip, operand))
    return say("is no part of a parameter", range_text(operand.base, operand.size),
               "bytes of one parameter of this chip");
  Shape shape;
  for (const auto& extent : operand.shape) {
    const auto* number = std::get_if<std::int64_t>(&extent.value);
    shape.push_back(number != nullptr                            ? *number
                    : std::get<std::string>(extent.value) == "B" ? submodel.batch
                                                                 : submodel.tokens.max);
  }
  const auto bytes = checked_product(shape, dtype_bytes(operand.dtype));
  if (!bytes || *bytes > operand.size)
    say("is larger than the bytes reserved for it", fmt::format("{} B", operand.size),
        fmt::format("room for {} of {}", shape_text(shape), dtype_name(operand.dtype)));
}

}  // namespace

std::uint64_t covered_bytes(Check& check, std::int64_t chip, const std::vector<std::string_view>& kinds) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  check.each_region([&](const calbin::Region& region, const std::string&) {
    const bool counts = std::find(kinds.begin(), kinds.end(), region.kind) != kinds.end();
    if (counts && region.chip == chip && region.space == "dram" && !wraps(region.base, region.size))
      ranges.emplace_back(region.base, region.base + region.size);
  });
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t total = 0, end = 0;
  for (const auto& [from, to] : ranges) {
    const std::uint64_t start = std::max(from, end);
    if (to > start) total += to - start;  // distinct bytes of one address space: at most 2^64 - 1
    end = std::max(end, to);
  }
  return total;
}

namespace {

void check_capacity(Check& check) {
  for (std::size_t i = 0; i < check.d().device.chip.size(); ++i)
    if (const auto pointer = fmt::format("/device/chip/{}", i); check.usable(pointer))
      check_chip_capacity(check, check.d().device.chip[i], pointer);
}

void check_kv_bytes(Check& check) {
  const auto& d = check.d();
  for (const char* fact : {"/kv", "/model", "/limits", "/device/chips"})
    if (!check.usable(fact)) return;
  const auto formula = fmt::format("{} layers x {} KV heads x {} x {} tokens x {} slots x ({} + {} B)", d.model.layers,
                                   d.model.kv_heads, d.model.head_dim, d.limits.context, d.limits.slots,
                                   dtype_bytes(d.kv.k_dtype), dtype_bytes(d.kv.v_dtype));
  const std::int64_t extents[] = {d.model.layers, d.model.kv_heads, d.model.head_dim, d.limits.context, d.limits.slots};
  const auto bytes = checked_product(extents, dtype_bytes(d.kv.k_dtype) + dtype_bytes(d.kv.v_dtype));
  const char* fix = "recompute the KV cache from the model's shape; with an 8-bit V it is not simply half";
  if (!bytes)
    return check.report("/kv/bytes_total",
                        {"the KV cache is larger than 64 bits can count", formula, "below 2^64", fix});
  // Scales lie beside the values; their layout is the producer's, so they only set a lower bound.
  const bool scaled = !d.kv.scale_dtype.empty();
  if (scaled ? d.kv.bytes_total <= *bytes : d.kv.bytes_total != *bytes)
    check.report("/kv/bytes_total",
                 {"the stated KV cache is not what the model needs", bytes_text(d.kv.bytes_total),
                  fmt::format("{}{} = {}", scaled ? "more than " : "", formula, bytes_text(*bytes)), fix});
  std::uint64_t sum = 0;
  for (const std::uint64_t part : d.kv.bytes_per_chip) sum = saturating_add(sum, part);
  if (sum != d.kv.bytes_total || std::int64_t(d.kv.bytes_per_chip.size()) != d.device.chips)
    check.report("/kv/bytes_per_chip", {"the KV cache per chip does not add up",
                                        fmt::format("{} parts, {} B", d.kv.bytes_per_chip.size(), sum),
                                        fmt::format("{} chips, {} B", d.device.chips, d.kv.bytes_total), fix});
  std::uint64_t reserved = 0;
  for (std::size_t i = 0; i < d.kv.regions.size(); ++i) {
    const auto& id = d.kv.regions[i];
    const auto* region = check.region(id);
    if (region == nullptr) return;
    if (region->kind != "kv")
      check.report("/kv/region", {"the KV cache lies in a reservation of another kind",
                                  fmt::format("'{}' of kind {}", id, region->kind), "reservations of kind kv",
                                  "name the KV cache's own reservation"});
    if (std::find(d.kv.regions.begin(), d.kv.regions.begin() + static_cast<std::ptrdiff_t>(i), id) !=
        d.kv.regions.begin() + static_cast<std::ptrdiff_t>(i)) {
      check.report("/kv/region", {"a reservation is named twice for the KV cache", fmt::format("'{}'", id),
                                  "each reservation once", "its bytes hold the cache once only"});
      continue;
    }
    reserved = saturating_add(reserved, region->size);
  }
  if (reserved < d.kv.bytes_total)
    check.report("/kv/region",
                 {"the KV reservation cannot hold the KV cache", bytes_text(reserved),
                  fmt::format("at least {}", bytes_text(d.kv.bytes_total)), "enlarge the KV reservation"});
}

/// What the package leaves to the allocator: a guard region, or memory it does not count as usable.
void check_guard(Check& check) {
  const auto& profile = check.facts().profile;
  for (std::size_t i = 0; i < check.d().device.chip.size(); ++i) {
    const auto pointer = fmt::format("/device/chip/{}", i);
    const auto& chip = check.d().device.chip[i];
    if (!check.usable(pointer) || chip.dram_usable > profile.dram_bytes) continue;  // CB0506 tells
    const std::uint64_t left = profile.dram_bytes - chip.dram_usable;
    const std::uint64_t guard = std::max(left, covered_bytes(check, chip.id, {"guard"}));
    if (guard == 0 || guard < profile.guard_bytes)
      check.report(pointer + "/dram_usable",
                   {fmt::format("chip {} keeps {} guard for the allocator", chip.id, guard == 0 ? "no" : "too small a"),
                    fmt::format("{}: a guard region, or memory beyond dram_usable", bytes_text(guard)),
                    fmt::format("device profile '{}': {}", profile.name, bytes_text(profile.guard_bytes)),
                    "lower dram_usable by the guard, or reserve a region of kind guard"});
  }
}

void check_op_operands(Check& check) {
  for (const auto& list : check.facts().oplists) {
    const auto& submodel = check.d().submodels[list.submodel];
    const std::string place = fmt::format("/submodels/{}", list.submodel);
    if (!list.oplist) {
      check.not_evaluated(
          fmt::format("the op list of '{}' is {}", submodel.name, list.error.empty() ? "absent" : "unreadable"));
      continue;
    }
    if (list.oplist->submodel != submodel.name || list.oplist->chip != list.chip)
      check.report_in(list.path, "/submodel", calbin::line_of(list.document, "/submodel"),
                      {"the op list belongs to another submodel or chip",
                       fmt::format("'{}' on chip {}", list.oplist->submodel, list.oplist->chip),
                       fmt::format("'{}' on chip {}, for which it is listed", submodel.name, list.chip),
                       "two submodels were swapped; pack again"},
                      check.rule().severity);
    if (!check.usable(place)) continue;
    if (list.oplist->ops.empty())
      check.report_in(list.path, "/ops", calbin::line_of(list.document, "/ops"),
                      {fmt::format("the op list of '{}' does nothing", submodel.name), "no ops", "at least one op",
                       "the list was cut; pack again"},
                      check.rule().severity);
    for (std::size_t i = 0; i < list.oplist->ops.size(); ++i) {
      const auto& op = list.oplist->ops[i];
      for (std::size_t k = 0; k < op.reads.size(); ++k)
        check_operand(check, list, op, op.reads[k], true, fmt::format("/ops/{}/reads/{}", i, k));
      for (std::size_t k = 0; k < op.writes.size(); ++k)
        check_operand(check, list, op, op.writes[k], false, fmt::format("/ops/{}/writes/{}", i, k));
    }
  }
}

}  // namespace

std::vector<Rule> capacity_rules() {
  return {
      {{"CB0506", "capacity-exceeded", Severity::kBlocker, RuleClass::kIncompatible,
        "params + KV + workspace + I/O and commands + guard fit each chip", "7i"},
       {kRegionPlace, "/device/chip/*/id,dram_usable"},
       &check_capacity},
      {{"CB0507", "kv-bytes-wrong", Severity::kError, RuleClass::kInvalid,
        "the KV cache has the bytes the model's shape asks for", "7j"},
       {"/kv/k_dtype,v_dtype,scale_dtype,bytes_total,bytes_per_chip,region", "/model/layers,kv_heads,head_dim",
        "/limits/context,slots", "/device/chips", "/memory/regions/*/id,kind,size"},
       &check_kv_bytes},
      {{"CB0508", "guard-missing", Severity::kWarning, RuleClass::kPolicy, "each chip keeps the allocator's guard free",
        "7i", Maturity::kPreview},
       {kRegionPlace, "/device/chip/*/id,dram_usable"},
       &check_guard},
      {{"CB0509", "op-io-unmapped", Severity::kError, RuleClass::kInvalid,
        "every operand of an op list lies inside its reservation and fits it", "7d"},
       {kOpLists, kRegionPlace},
       &check_op_operands},
  };
}

}  // namespace calkit::lint
