/// Family 09, second part: how the model is divided over the chips.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

/// "model.layers.0.mlp.experts.3.up": a parameter of one expert.
bool names_an_expert(std::string_view name) {
  const auto at = name.find("experts.");
  return at != std::string_view::npos && at + 8 < name.size() && name[at + 8] >= '0' && name[at + 8] <= '9';
}

bool sliced(const calbin::Param& param) {
  return param.shard && !param.shard->replicated && param.shard->count > 1;
}

/// Which part of the experts a parameter holds. A stack of experts has them on axis 0.
enum class Expert { kNone, kWhole, kSlice };
Expert expert_part(const calbin::Param& param, std::int64_t experts) {
  if (names_an_expert(param.name)) return sliced(param) ? Expert::kSlice : Expert::kWhole;
  if (param.logical_shape.size() < 3) return Expert::kNone;
  const std::int64_t stacked = param.logical_shape[0];
  if (sliced(param) && param.shard->axis == 0)
    return checked_mul(stacked, param.shard->count) == experts || stacked == experts ? Expert::kWhole : Expert::kNone;
  if (stacked != experts) return Expert::kNone;
  return sliced(param) ? Expert::kSlice : Expert::kWhole;
}

void check_expert_parallel(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/model/experts")) return;
  if (!d.model.experts)
    return check.report("/partition/kind", {"a model without experts is divided by experts", "ep, and no model.experts",
                                            "single, tp, pp or mixed", "state the scheme the compiler used"});
  std::uint64_t slices = 0, whole = 0;
  std::string example;
  check.each_param([&](const calbin::Param& param, const std::string&) {
    const Expert part = expert_part(param, *d.model.experts);
    whole += part == Expert::kWhole ? 1 : 0;
    slices += part == Expert::kSlice ? 1 : 0;
    if (part == Expert::kSlice && example.empty()) example = param.name;
  });
  if (slices > 0 && whole == 0)
    check.report("/partition/kind",
                 {"every chip holds a slice of every expert, which is tensor parallel and not expert parallel",
                  fmt::format("ep, and {} slices such as '{}'", slices, example), "tp, or whole experts on each chip",
                  "state the scheme the compiler used; memory and traffic differ"});
}

void check_partition(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/partition") || !check.usable("/device")) return;
  const auto& partition = d.partition;
  const char* fix = "have the compiler state kind and degree; nothing is read from file names";
  if (partition.kind == "single") {
    check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
      if (check.usable(pointer + "/chips") && std::popcount(submodel.chips & d.device.chip_mask) > 1)
        check.report(
            "/partition/kind",
            {fmt::format("submodel '{}' runs on several chips, and no scheme says how it is divided", submodel.name),
             fmt::format("single, and chips {}", hex_u64(submodel.chips)),
             "tp, ep, pp or mixed; single when each submodel has one chip", fix});
    });
    if (partition.degree != 1)
      check.report("/partition/degree", {"a package that is not divided has a degree",
                                         fmt::format("{}", partition.degree), "1 for kind single", fix});
    return;
  }
  if (partition.degree < 2 || partition.degree > d.device.chips)
    check.report("/partition/degree",
                 {fmt::format("degree {} cannot divide a model over {} chips", partition.degree, d.device.chips),
                  fmt::format("{} of degree {}", partition.kind, partition.degree),
                  fmt::format("2 to {}, the chips of the package; kind single otherwise", d.device.chips), fix});
  if (partition.kind == "ep") check_expert_parallel(check);
}

struct Copy {
  const calbin::Param* param;
  std::string pointer;
};

/// Slices of one parameter: what is wrong with them, or nothing. `found` and `limit` of the answer.
struct Gap {
  std::string found, limit;
};
std::optional<Gap> gap_in(const std::vector<Copy>& copies) {
  const calbin::Shard& first = *copies[0].param->shard;
  const Shape& shape = copies[0].param->shape;
  if (first.axis >= static_cast<std::int64_t>(shape.size()))
    return Gap{fmt::format("axis {} of {}", first.axis, shape_text(shape)), "an axis of the parameter"};
  std::set<std::int64_t> indexes;
  for (const auto& copy : copies) {
    const calbin::Shard& shard = *copy.param->shard;
    if (shard.axis != first.axis || shard.count != first.count)
      return Gap{
          fmt::format("axis {} in {} slices, and axis {} in {}", first.axis, first.count, shard.axis, shard.count),
          "one axis and one count for all slices"};
    if (shard.index >= shard.count)
      return Gap{fmt::format("slice {} of {}", shard.index, shard.count), "an index below the count"};
    if (!indexes.insert(shard.index).second)
      return Gap{fmt::format("slice {} twice", shard.index), "each slice once, or replicated"};
    Shape rest = copy.param->shape, wanted = shape;
    if (rest.size() == wanted.size())
      rest[static_cast<std::size_t>(first.axis)] = wanted[static_cast<std::size_t>(first.axis)] = 0;
    if (rest != wanted)
      return Gap{fmt::format("{} beside {}", shape_text(copy.param->shape), shape_text(shape)),
                 fmt::format("slices that differ on axis {} alone", first.axis)};
  }
  if (static_cast<std::int64_t>(indexes.size()) != first.count)
    return Gap{fmt::format("{} of {} slices", indexes.size(), first.count), "all slices of the parameter"};
  return std::nullopt;
}

void check_copies(Check& check, const std::string& name, const std::vector<Copy>& copies) {
  const char* fix = "correct the shard entries, or pack again; chips would compute with missing or doubled rows";
  const auto say = [&](const Copy& copy, std::string found, std::string limit) {
    check.report(copy.pointer + "/shard", {fmt::format("the slices of parameter '{}' do not make it up", name),
                                           std::move(found), std::move(limit), fix});
  };
  const auto has_shard = [](const Copy& copy) { return copy.param->shard.has_value(); };
  const auto replicated = [](const Copy& copy) { return copy.param->shard && copy.param->shard->replicated; };
  if (std::none_of(copies.begin(), copies.end(), has_shard)) {
    if (copies.size() > 1 && check.d().partition.kind != "single")
      say(copies[1], fmt::format("{} copies without shard", copies.size()),
          "shard, with replicated: true for whole copies");
    return;
  }
  if (const auto bare = std::find_if_not(copies.begin(), copies.end(), has_shard); bare != copies.end())
    return say(*bare, "shard on some copies only", "shard on all or on none");
  if (std::any_of(copies.begin(), copies.end(), replicated)) {
    for (const auto& copy : copies)
      if (!replicated(copy) || copy.param->shape != copies[0].param->shape)
        return say(copy, replicated(copy) ? shape_text(copy.param->shape) : "a slice beside whole copies",
                   fmt::format("replicated, {}", shape_text(copies[0].param->shape)));
    return;
  }
  if (auto gap = gap_in(copies)) say(copies[0], std::move(gap->found), std::move(gap->limit));
}

void check_shards(Check& check) {
  if (!check.usable("/partition/kind")) return;
  std::map<std::string, std::vector<Copy>> by_name;
  bool whole = true;
  for (std::size_t i = 0; i < check.d().params.size(); ++i) {
    const auto pointer = fmt::format("/params/{}", i);
    whole = whole && check.usable(pointer);
    by_name[check.d().params[i].name].push_back({&check.d().params[i], pointer});
  }
  if (!whole) return;  // a slice that cannot be read would look like a hole
  for (const auto& [name, copies] : by_name) check_copies(check, name, copies);
}

}  // namespace

std::vector<Rule> partition_rules() {
  return {
      {{"CB0903", "partition-undeclared", Severity::kError, RuleClass::kInvalid,
        "a model on several chips says how it is divided, and is divided so", "6a"},
       {"/partition/kind,degree", "/device/chips,chip_mask", "/submodels/*/chips", "/model/experts",
        "/params/*/name,shard,logical_shape"},
       &check_partition},
      {{"CB0904", "shards-not-tiling", Severity::kError, RuleClass::kInvalid,
        "the slices of a parameter make it up without hole or overlap, and copies say that they are", "6a 7d",
        Maturity::kPreview},
       {"/partition/kind", "/params/*/name,shard,shape"},
       &check_shards},
  };
}

}  // namespace calkit::lint
