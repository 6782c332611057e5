/// Family 09, first part: the chips of the package, its op lists a chip, and the ways between chips.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

bool in_mask(std::uint64_t mask, std::int64_t chip) {
  return chip >= 0 && chip < 64 && ((mask >> chip) & 1) != 0;
}

std::vector<std::int64_t> chips_of(std::uint64_t mask) {
  std::vector<std::int64_t> out;
  for (std::int64_t chip = 0; chip < 64; ++chip)
    if (in_mask(mask, chip)) out.push_back(chip);
  return out;
}

/// Every chip of the mask can be reached from every other over the stated routes.
std::optional<std::pair<std::int64_t, std::int64_t>> unreachable(const calbin::Description& d, std::uint64_t mask) {
  for (const std::int64_t from : chips_of(mask)) {
    std::uint64_t seen = 1ull << from;
    for (bool grew = true; grew;) {
      grew = false;
      for (const auto& route : d.d2d ? d.d2d->routes : std::vector<calbin::Route>{}) {
        if (!in_mask(seen, route.from) || in_mask(seen, route.to) || route.to < 0 || route.to > 63) continue;
        seen |= 1ull << route.to;
        grew = true;
      }
    }
    for (const std::int64_t to : chips_of(mask))
      if (!in_mask(seen, to)) return std::pair{from, to};
  }
  return std::nullopt;
}

void check_chip_entries(Check& check) {
  const auto& device = check.d().device;
  if (const std::uint64_t used = chips_in_use(check.d()); used != 0 && (used & device.chip_mask) == 0)
    return;  // CB0404: the mask itself is wrong
  std::set<std::int64_t> listed;
  for (std::size_t i = 0; i < device.chip.size(); ++i) {
    const auto pointer = fmt::format("/device/chip/{}/id", i);
    const std::int64_t id = device.chip[i].id;
    if (!check.usable(pointer)) return;
    if (!listed.insert(id).second || !in_mask(device.chip_mask, id))
      check.report(pointer, {fmt::format("chip {} is described but not a chip of the package", id),
                             fmt::format("chip {}", id), fmt::format("each chip of {} once", hex_u64(device.chip_mask)),
                             "describe the chips of the mask, each once"});
  }
  for (const std::int64_t chip : chips_of(device.chip_mask))
    if (!listed.contains(chip))
      check.report(
          "/device/chip",
          {fmt::format("chip {} of the mask is not described", chip), fmt::format("{} entries", device.chip.size()),
           fmt::format("an entry for each chip of {}", hex_u64(device.chip_mask)), "state the memory of that chip"});
}

void check_chip_count(Check& check) {
  if (!check.usable("/device/chips") || !check.usable("/device/chip_mask")) return;
  const auto& device = check.d().device;
  const std::uint64_t mask = device.chip_mask;
  const char* at = "/device/chip_mask";
  if (mask == 0)
    return check.report(at, {"the package is for no chip at all", "0x0", "a bit for each chip it runs on",
                             "have the compiler state its chips; none is assumed"});
  if (std::popcount(mask) != device.chips)
    return check.report(at, {"chip_mask and chips contradict each other",
                             fmt::format("{} with {} bits", hex_u64(mask), std::popcount(mask)),
                             fmt::format("chips {}", device.chips), "correct the one that is wrong, and pack again"});
  const std::uint64_t run = mask >> std::countr_zero(mask);
  if ((run & (run + 1)) != 0 && unreachable(check.d(), mask))
    check.report(at, {"the chips of the package are no neighbours, and nothing says how they are joined", hex_u64(mask),
                      "chips in a row, or d2d.routes between them", "state the routes, or pack for chips in a row"});
  check_chip_entries(check);
}

void check_chip_support(Check& check) {
  const auto& profile = check.facts().profile;
  if (const auto& made_for = check.d().device.profile; check.usable("/device/profile") && made_for != profile.name)
    check.warn("/device/profile",
               {"the package was planned for another device profile than it is judged by",
                fmt::format("'{}'", made_for), fmt::format("device profile '{}'", profile.name),
                "give --device-profile the profile of the package's device, or pack again for this one"});
  if (!check.usable("/device/chip_mask")) return;
  const std::uint64_t mask = check.d().device.chip_mask, extra = mask & ~profile.chips();
  if (extra == 0) return;
  check.report(
      "/device/chip_mask",
      {fmt::format("the package uses chips that the device does not have: {}", fmt::join(chips_of(extra), ", ")),
       hex_u64(mask),
       fmt::format("device profile '{}'{}: {}{}", profile.name, profile.assumed ? " (assumed)" : "",
                   hex_u64(profile.chips()), profile.chip_mask ? "" : ", chips numbered from 0"),
       "pack for the chips of this board, or name the right device profile"});
}

/// "layers.3." of the names in an op list: 3.
std::set<std::int64_t> layers_of(const calbin::OpList& list) {
  std::set<std::int64_t> out;
  const auto take = [&out](std::string_view name) {
    for (auto at = name.find("layer"); at != std::string_view::npos; at = name.find("layer", at + 1)) {
      auto digits = name.substr(at + 5);
      if (digits.starts_with('s')) digits.remove_prefix(1);
      if (digits.empty() || std::string_view("._/").find(digits[0]) == std::string_view::npos) continue;
      digits.remove_prefix(1);
      const auto number = parse_decimal_u64(digits.substr(0, digits.find_first_not_of("0123456789")));
      if (number && *number < 1000000) out.insert(static_cast<std::int64_t>(*number));
    }
  };
  for (const auto& op : list.ops) {
    take(op.name);
    for (const auto& operand : op.reads) take(operand.name);
    for (const auto& operand : op.writes) take(operand.name);
  }
  return out;
}

void compare_layers(Check& check, std::size_t index) {
  const OpListFacts* first = nullptr;
  std::set<std::int64_t> wanted;
  for (const auto& list : check.facts().oplists) {
    if (list.submodel != index || !list.oplist) continue;
    const auto layers = layers_of(*list.oplist);
    if (first == nullptr) {
      first = &list;
      wanted = layers;
    } else if (layers != wanted) {
      check.warn(fmt::format("/submodels/{}/oplist/{}", index, list.chip),
                 {fmt::format("the op lists of '{}' cover different layers", check.d().submodels[index].name),
                  fmt::format("chip {}: layers {}", list.chip, fmt::join(layers, " ")),
                  fmt::format("under tp the same on every chip; chip {}: {}", first->chip, fmt::join(wanted, " ")),
                  "regenerate the op lists together; a list may belong to another package"});
    }
  }
}

void check_oplist_per_chip(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/device/chip_mask")) return;
  std::uint64_t listed = 0;
  bool all_usable = check.usable("/partition/kind");
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    all_usable = all_usable && check.usable(pointer);
    if (!check.usable(pointer)) return;
    for (const std::int64_t chip : chips_of(submodel.chips & d.device.chip_mask))  // others: CB0404
      if (!submodel.oplist.contains(chip))
        check.report(pointer + "/oplist", {fmt::format("submodel '{}' has no op list for chip {}", submodel.name, chip),
                                           fmt::format("op lists for {} chips", submodel.oplist.size()),
                                           fmt::format("one for each chip of {}", hex_u64(submodel.chips)),
                                           "pack again with the op lists of all chips"});
    for (const auto& [chip, id] : submodel.oplist) {
      listed |= in_mask(~0ull, chip) ? 1ull << chip : 0;
      if (!in_mask(submodel.chips, chip))
        check.report(
            fmt::format("{}/oplist/{}", pointer, chip),
            {fmt::format("submodel '{}' has an op list for chip {}, which it does not use", submodel.name, chip),
             fmt::format("'{}'", id), fmt::format("chips {}", hex_u64(submodel.chips)),
             "correct the submodel's chips, or drop the op list"});
    }
  });
  if (!all_usable || d.partition.kind == "single") return;
  std::uint64_t told = listed;
  for (const auto& submodel : d.submodels) told |= submodel.chips;
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    if (in_mask(told, param.chip)) return;
    told |= 1ull << param.chip;
    check.report(pointer + "/chip",
                 {fmt::format("chip {} holds parameters but has no op list", param.chip),
                  fmt::format("parameter '{}'", param.name), "an op list for every chip that holds parameters",
                  "add the op lists of that chip, or take its parameters out"});
  });
  if (d.partition.kind == "tp")
    for (std::size_t i = 0; i < d.submodels.size(); ++i) compare_layers(check, i);
}

}  // namespace

std::uint64_t chips_in_use(const calbin::Description& d) {
  std::uint64_t out = 0;
  const auto add = [&out](std::int64_t chip) { out |= in_mask(~0ull, chip) ? 1ull << chip : 0; };
  for (const auto& region : d.memory.regions) add(region.chip);
  for (const auto& param : d.params) add(param.chip);
  for (const auto& submodel : d.submodels) {
    out |= submodel.chips;
    for (const auto* tensors : {&submodel.inputs, &submodel.outputs})
      for (const auto& tensor : *tensors) add(tensor.chip);
  }
  return out;
}

// As ONNX's collectives and their usual companions are called.
bool crosses_chips(const calbin::Op& op) {
  static constexpr std::string_view kTypes[] = {"AllReduce", "AllGather", "AllToAll", "ReduceScatter",
                                                "Broadcast", "Send",      "Recv",     "D2DCopy"};
  return std::find(std::begin(kTypes), std::end(kTypes), op.type) != std::end(kTypes);
}

namespace {

void check_helper_file(Check& check, const calbin::D2d& d2d) {
  const auto* file = check.file(d2d.helper);
  if (file != nullptr && file->role != "d2d-helper")
    check.report("/d2d/helper",
                 {"the D2D helper is a file of another role", fmt::format("'{}' of role {}", file->path, file->role),
                  "role d2d-helper", "name the helper's own file"});
}

void check_routes(Check& check, const calbin::D2d& d2d) {
  // A chip in use that the mask lacks is CB0404's.
  const std::uint64_t mask = check.d().device.chip_mask, known = mask | chips_in_use(check.d());
  for (std::size_t i = 0; i < d2d.routes.size(); ++i)
    if (const auto& route = d2d.routes[i];
        !in_mask(known, route.from) || !in_mask(known, route.to) || route.from == route.to)
      check.report(
          fmt::format("/d2d/routes/{}", i),
          {"a route does not join two chips of the package", fmt::format("{} to {}", route.from, route.to),
           fmt::format("two different chips of {}", hex_u64(mask)), "state the routes of this package's chips"});
}

void check_d2d(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/device/chip_mask") || !check.usable("/d2d")) return;
  const bool helper = d.d2d && !d.d2d->helper.empty();
  if (helper) check_helper_file(check, *d.d2d);
  if (d.d2d) check_routes(check, *d.d2d);
  if (helper && std::popcount(d.device.chip_mask) < 2)
    check.inform("/d2d/helper", {"a D2D helper in a package for one chip", fmt::format("'{}'", d.d2d->helper),
                                 "nothing to move between chips", "nothing; it is not used"});
  if (d.d2d && d.d2d->required && !helper)
    check.report("/d2d/required", {"the package says it needs a D2D helper and has none", "required: true, no helper",
                                   "a helper, or required: false", "add the helper's file"});
  std::set<std::size_t> told;  // a submodel's missing way is one fault, whatever the number of its ops
  for (const auto& list : check.facts().oplists) {
    if (!list.oplist || told.contains(list.submodel)) continue;
    const auto& submodel = d.submodels[list.submodel];
    const auto& ops = list.oplist->ops;
    const auto op = std::find_if(ops.begin(), ops.end(), crosses_chips);
    if (op == ops.end() || !check.usable(fmt::format("/submodels/{}/chips", list.submodel))) continue;
    const auto gap = unreachable(d, submodel.chips);
    if (helper && !gap) continue;
    told.insert(list.submodel);
    const auto pointer = fmt::format("/ops/{}", op - ops.begin());
    check.report_in(
        list.path, pointer, calbin::line_of(list.document, pointer),
        {fmt::format("op {} {} of '{}' moves data between chips, for which the package has no {}", op->id, op->type,
                     submodel.name, helper ? "route" : "D2D helper"),
         helper ? fmt::format("no route from chip {} to chip {}", gap->first, gap->second) : "no d2d.helper",
         "a D2D helper, and routes between all chips of the submodel",
         "add the helper and its routes, or pack for one chip"},
        check.rule().severity);
  }
}

}  // namespace

std::vector<Rule> chip_rules() {
  return {
      {{"CB0901", "chip-count-vs-mask", Severity::kError, RuleClass::kInvalid,
        "chip count, chip mask and the described chips agree, and separate chips are joined by routes", "7a 6b"},
       {"/device/chips,chip_mask", "/device/chip/*/id", "/d2d/routes"},
       &check_chip_count},
      {{"CB0902", "chip-mask-unsupported", Severity::kBlocker, RuleClass::kIncompatible,
        "the package uses only chips that the device has, and was planned for this device", "6b"},
       {"/device/chip_mask,profile"},
       &check_chip_support},
      {{"CB0905", "per-chip-oplist-missing", Severity::kError, RuleClass::kInvalid,
        "every chip of a submodel has its op list, of the same layers under tp", "7d"},
       {"/device/chip_mask", "/submodels/*/chips,oplist", "/params/*/chip", "/partition/kind"},
       &check_oplist_per_chip},
      {{"CB0906", "d2d-helper-missing", Severity::kError, RuleClass::kInvalid,
        "a package whose ops move data between chips has a D2D helper and the routes for it", "7f"},
       {"/device/chip_mask", "/submodels/*/chips,oplist", "/d2d/helper,required,routes"},
       &check_d2d},
  };
}

}  // namespace calkit::lint
