/// Family 05, fourth part: what fits the device, and the KV formula.
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
  };
}

}  // namespace calkit::lint
