/// Family 06: parameter blocks lie inside their files and inside the reservations made for them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

struct Place {
  const calbin::Param* param;
  std::string pointer;
};

/// Parameters that name one owner (or are it) share bytes on purpose.
bool tied(const calbin::Param& a, const calbin::Param& b) {
  return a.tied_to == b.name || b.tied_to == a.name || (!a.tied_to.empty() && a.tied_to == b.tied_to);
}

/// Reports neighbours that share bytes, the places being sorted by start. `end` is the furthest end so far.
template <class Start, class Same>
void report_overlaps(Check& check, const std::vector<Place>& places, Start start, Same same, bool addresses,
                     const char* what) {
  const auto text = [addresses](std::uint64_t at) { return addresses ? hex_u64(at) : std::to_string(at); };
  const Place* furthest = nullptr;
  for (const auto& place : places) {
    const auto& param = *place.param;
    if (furthest != nullptr && same(*furthest->param, param)) {
      const std::uint64_t end = start(*furthest->param) + furthest->param->length;
      // An empty entry strictly inside another is a hole in the table; at its edges it is nothing.
      const bool shares =
          param.length == 0 ? start(param) > start(*furthest->param) && start(param) < end : start(param) < end;
      if (shares && !(tied(*furthest->param, param) && start(*furthest->param) == start(param) &&
                      furthest->param->length == param.length))
        check.report(place.pointer,
                     {fmt::format("parameters '{}' and '{}' share bytes {}", furthest->param->name, param.name, what),
                      fmt::format("{} + {} B", text(start(param)), param.length),
                      fmt::format("from {} on, or tied_to and the exact same range", text(end)),
                      "correct the parameter table; one of the two has the other's bytes"});
      if (start(param) + param.length <= end) continue;
    }
    furthest = &place;
  }
}

void check_param_in_file(Check& check) {
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    const auto* file = check.file(param.file);
    if (file == nullptr || range_inside(param.offset, param.length, file->size)) return;
    check.report(pointer, {fmt::format("parameter '{}' ends outside its file", param.name),
                           fmt::format("{} + {} B", param.offset, param.length),
                           fmt::format("file '{}' of {} B", file->path, file->size),
                           "the file was cut, or the parameter table is of another build; pack again"});
  });
}

/// A tied parameter has the bytes of its owner: same chip, place and length, and the owner is tied to nobody.
void check_tied(Check& check) {
  std::multimap<std::string_view, const calbin::Param*> by_name;
  bool whole = check.usable("/params");
  check.each_param([&](const calbin::Param& param, const std::string&) { by_name.emplace(param.name, &param); });
  whole = whole && by_name.size() == check.d().params.size();
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    if (param.tied_to.empty()) return;
    const auto [from, to] = by_name.equal_range(param.tied_to);
    if (from == to && !whole) return;
    const bool found = std::any_of(from, to, [&](const auto& entry) {
      const calbin::Param& owner = *entry.second;
      return &owner != &param && owner.tied_to.empty() && owner.chip == param.chip && owner.base == param.base &&
             owner.length == param.length && owner.file == param.file && owner.offset == param.offset;
    });
    if (!found)
      check.report(pointer + "/tied_to",
                   {fmt::format("parameter '{}' is tied to nothing that has its bytes", param.name),
                    fmt::format("'{}'", param.tied_to),
                    "another parameter, itself untied, with the same chip, address, file, offset and length",
                    "name the owner of the bytes, or remove tied_to"});
  });
}

void check_param_overlap(Check& check) {
  check_tied(check);
  std::vector<Place> in_files, on_chips;
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    if (!wraps(param.offset, param.length)) in_files.push_back({&param, pointer});
    if (!wraps(param.base, param.length)) on_chips.push_back({&param, pointer});
  });
  std::stable_sort(in_files.begin(), in_files.end(), [](const Place& a, const Place& b) {
    return std::tie(a.param->file, a.param->offset) < std::tie(b.param->file, b.param->offset);
  });
  std::stable_sort(on_chips.begin(), on_chips.end(), [](const Place& a, const Place& b) {
    return std::tie(a.param->chip, a.param->base) < std::tie(b.param->chip, b.param->base);
  });
  report_overlaps(
      check, in_files, [](const calbin::Param& p) { return p.offset; },
      [](const calbin::Param& a, const calbin::Param& b) { return a.file == b.file; }, false, "of a file");
  report_overlaps(
      check, on_chips, [](const calbin::Param& p) { return p.base; },
      [](const calbin::Param& a, const calbin::Param& b) { return a.chip == b.chip; }, true, "of a chip's memory");
}

void check_param_region(Check& check) {
  std::map<std::string, std::uint64_t> sums;
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    const auto* region = check.region(param.region);
    if (region == nullptr || wraps(param.base, param.length)) return;
    const std::string limit = fmt::format("'{}' of kind {} {} on chip {}", region->id, region->kind,
                                          range_text(region->base, region->size), region->chip);
    if (region->kind != "param" || region->chip != param.chip || !contains(*region, param.base, param.length))
      check.report(pointer, {fmt::format("parameter '{}' lies outside a parameter reservation of its chip", param.name),
                             fmt::format("{} on chip {}", range_text(param.base, param.length), param.chip), limit,
                             "enlarge the reservation, or correct the memory plan"});
    if (!param.tied_to.empty()) return;
    auto& sum = sums[param.region];
    sum = checked_add(sum, param.length).value_or(UINT64_MAX);
  });
  for (const auto& [id, sum] : sums) {
    const auto* region = check.region(id);
    if (sum <= region->size) continue;
    check.report(
        fmt::format("/memory/regions/{}/size", check.facts().region_index.find(id)->second),
        {fmt::format("the parameter blocks do not fit reservation '{}'", id), fmt::format("{} B of blocks", sum),
         fmt::format("{} B", region->size), "enlarge the reservation, or correct the memory plan"});
  }
}

void check_param_chips(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/params") || !check.usable("/device") || d.params.empty()) return;
  std::set<std::int64_t> holding;
  for (const auto& param : d.params) holding.insert(param.chip);
  for (std::size_t i = 0; i < d.device.chip.size(); ++i) {
    const std::int64_t chip = d.device.chip[i].id;
    const bool used = chip < 64 && ((d.device.chip_mask >> chip) & 1) != 0;
    if (used && !holding.contains(chip))
      check.report("/params",
                   {fmt::format("chip {} has no parameters", chip),
                    fmt::format("blocks for {} of the chips in mask {}", holding.size(), hex_u64(d.device.chip_mask)),
                    "at least one block for each chip of the mask",
                    "pack the missing chip's block, or take the chip out of the mask"});
  }
}

}  // namespace

std::vector<Rule> param_rules() {
  return {
      {{"CB0601", "param-past-file", Severity::kBlocker, RuleClass::kInvalid, "every parameter lies inside its file",
        "8e"},
       {"/params/*/file,offset,length", "/files/*/id,size"},
       &check_param_in_file},
      {{"CB0602", "param-overlap", Severity::kError, RuleClass::kInvalid, "no two parameters share bytes, unless tied",
        "8e"},
       {"/params/*/file,offset,tied_to", kParamPlace},
       &check_param_overlap},
      {{"CB0604", "param-chip-missing", Severity::kError, RuleClass::kInvalid, "every chip of the mask has parameters",
        "7a"},
       {"/params/*/chip", "/device/chip_mask", "/device/chip/*/id"},
       &check_param_chips},
      {{"CB0605", "param-region-fit", Severity::kBlocker, RuleClass::kInvalid,
        "parameter blocks fit a parameter reservation of their chip", "7a 7i"},
       {kParamPlace, kRegionPlace},
       &check_param_region},
  };
}

}  // namespace calkit::lint
