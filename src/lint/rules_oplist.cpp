/// Family 05, fifth part: op lists and I/O maps belong to their submodel and say what the memory plan says.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

/// The bytes of the parameters of each chip.
class ParamBytes {
 public:
  explicit ParamBytes(Check& check) {
    const auto& params = check.d().params;
    known_ = check.usable("/params");
    for (std::size_t i = 0; i < params.size(); ++i) {
      known_ = known_ && check.usable_item("/params", i);
      const auto end = checked_add(params[i].base, params[i].length).value_or(UINT64_MAX);  // CB0502
      spans_[params[i].chip].push_back({params[i].base, end});
    }
    for (auto& [chip, spans] : spans_) {
      std::sort(spans.begin(), spans.end());
      // What begins at or before an address reaches at most to here.
      for (std::size_t i = 1; i < spans.size(); ++i) spans[i].second = std::max(spans[i].second, spans[i - 1].second);
    }
  }

  /// Inside one parameter; true, too, when a parameter that cannot be read may be the one.
  bool hold(std::int64_t chip, std::uint64_t base, std::uint64_t size) const {
    const auto at = spans_.find(chip);
    if (!known_ || wraps(base, size)) return !known_;
    if (at == spans_.end()) return false;
    const auto after = std::upper_bound(at->second.begin(), at->second.end(), std::pair{base, UINT64_MAX});
    return after != at->second.begin() && std::prev(after)->second >= base + size;
  }

 private:
  std::map<std::int64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> spans_;
  bool known_ = true;
};

/// One op list against the memory plan.
class Operands {
 public:
  Operands(Check& check, const OpListFacts& list, const ParamBytes& params)
      : check_(check), list_(list), params_(params), submodel_(check.d().submodels[list.submodel]) {}

  /// False when one of them is reported, here or by CB0705.
  bool all_fit() {
    const auto& ops = list_.oplist->ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      op_ = &ops[i];
      for (const bool read : {true, false}) {
        const auto& operands = read ? op_->reads : op_->writes;
        for (std::size_t k = 0; k < operands.size(); ++k) {
          operand_ = &operands[k];
          if (!operand_->absent)
            one(read, [&] { return fmt::format("/ops/{}/{}/{}", i, read ? "reads" : "writes", k); });
        }
      }
    }
    return fit_ && !constants_written_;
  }

 private:
  template <class Pointer>
  void one(bool read, Pointer pointer) {
    const auto fault = operand_->csr.empty() ? in_memory(read) : in_register();
    if (!fault) return;
    fit_ = false;
    const std::string place = pointer();
    check_.report_in(list_.path, place, calbin::line_of(list_.document, place),
                     {fmt::format("op {} {} of '{}': operand '{}' {}", op_->id, op_->type, submodel_.name,
                                  operand_->name, fault->what),
                      fault->found, fault->limit, "regenerate the op list together with the memory plan"},
                     check_.rule().severity);
  }

  struct Fault {
    const char* what;
    std::string found, limit;
  };

  std::optional<Fault> in_register() const {
    const auto csr = std::find_if(submodel_.csr.begin(), submodel_.csr.end(),
                                  [&](const calbin::Csr& c) { return c.name == operand_->csr; });
    if (csr == submodel_.csr.end())
      return Fault{"is no register of the submodel", fmt::format("register '{}'", operand_->csr),
                   "the exact name of one of its registers"};
    if (csr->base != operand_->base)
      return Fault{"is at another address than its register", hex_u64(operand_->base),
                   fmt::format("{} of '{}'", hex_u64(csr->base), csr->name)};
    if (static_cast<std::int64_t>(8 * dtype_bytes(operand_->dtype)) != csr->width_bits)
      return Fault{"is of another width than its register", std::string(dtype_name(operand_->dtype)),
                   fmt::format("{} bits of '{}'", csr->width_bits, csr->name)};
    return std::nullopt;
  }

  std::optional<Fault> in_memory(bool read) {
    if (!check_.facts().region_index.contains(operand_->region)) {
      if (!check_.usable("/memory/regions")) return std::nullopt;
      return Fault{"is in no reservation", fmt::format("region '{}'", operand_->region),
                   "an id of calbin.json#/memory/regions"};
    }
    const auto* region = check_.region(operand_->region);
    if (region == nullptr) return std::nullopt;
    const std::uint64_t base = operand_->base, size = operand_->size;
    if (region->chip != list_.chip && !crosses_chips(*op_))
      return Fault{"is on another chip", fmt::format("region '{}' of chip {}", region->id, region->chip),
                   fmt::format("chip {}", list_.chip)};
    if (region->kind == "guard" || region->kind == "ccu")
      return Fault{"lies where no op may go", fmt::format("'{}' of kind {}", region->id, region->kind),
                   "a reservation of kind io, workspace, kv, param, command or global"};
    if (!contains(*region, base, size))
      return Fault{"lies outside its reservation", range_text(base, size),
                   fmt::format("'{}' {}", region->id, range_text(region->base, region->size))};
    if (base % dtype_bytes(operand_->dtype) != 0)
      return Fault{"splits an element", hex_u64(base),
                   fmt::format("a multiple of {}, the element size", dtype_bytes(operand_->dtype))};
    if (read && region->kind == "param" && !params_.hold(region->chip, base, size))
      return Fault{"is no part of a parameter", range_text(base, size), "bytes of one parameter of this chip"};
    if (!read && (region->kind == "param" || region->kind == "command")) constants_written_ = true;  // CB0705
    const Shape shape = largest_shape(submodel_, *operand_);
    const auto bytes = checked_product(shape, dtype_bytes(operand_->dtype));
    if (!bytes || *bytes > size)
      return Fault{"is larger than the bytes reserved for it", fmt::format("{} B", size),
                   fmt::format("room for {} of {}", shape_text(shape), dtype_name(operand_->dtype))};
    return std::nullopt;
  }

  Check& check_;
  const OpListFacts& list_;
  const ParamBytes& params_;
  const calbin::Submodel& submodel_;
  const calbin::Op* op_ = nullptr;
  const calbin::Operand* operand_ = nullptr;
  bool fit_ = true, constants_written_ = false;
};

/// False, with the reason told, when there is nothing to judge.
bool is_there(Check& check, const ListedDocument& document, bool read, const char* what, const char* role) {
  const auto& submodel = check.d().submodels[document.submodel];
  if (!read) {
    check.not_evaluated(
        fmt::format("the {} of '{}' is {}", what, submodel.name, document.error.empty() ? "absent" : "unreadable"));
    return false;
  }
  if (document.role != role && check.usable("/files"))
    check.report(fmt::format("/submodels/{}/{}/{}", document.submodel, role, document.chip),
                 {fmt::format("the {} of '{}' is a file of another role: '{}'", what, submodel.name, document.path),
                  fmt::format("role {}", document.role), fmt::format("role {}", role), "name the file of that role"});
  return true;
}

void check_oplist(Check& check, const OpListFacts& list, const ParamBytes& params) {
  if (!is_there(check, list, list.oplist.has_value(), "op list", "oplist")) return;
  const auto& submodel = check.d().submodels[list.submodel];
  const auto say = [&](const char* pointer, Check::Said said) {
    check.report_in(list.path, pointer, calbin::line_of(list.document, pointer), std::move(said),
                    check.rule().severity);
  };
  const bool ours = list.oplist->submodel == submodel.name && list.oplist->chip == list.chip;
  if (!ours)
    say("/submodel", {"the op list belongs to another submodel or chip",
                      fmt::format("'{}' on chip {}", list.oplist->submodel, list.oplist->chip),
                      fmt::format("'{}' on chip {}, for which it is listed", submodel.name, list.chip),
                      "two submodels were swapped; pack again"});
  if (!check.usable(fmt::format("/submodels/{}", list.submodel))) return;
  if (list.oplist->ops.empty())
    return say("/ops", {fmt::format("the op list of '{}' does nothing", submodel.name), "no ops", "at least one op",
                        "the list was cut; pack again"});
  check_op_ids(check, list);
  // Addresses that are wrong themselves say nothing about what uses them, and in which order.
  if (!Operands(check, list, params).all_fit() || !ours) return;
  check_workspace_use(check, list);
  check_flow(check, list);
}

void check_iomap(Check& check, const IoMapFacts& facts) {
  const auto& submodel = check.d().submodels[facts.submodel];
  if (!is_there(check, facts, facts.map.has_value(), "I/O map", "iomap")) return;
  if (!check.usable(fmt::format("/submodels/{}", facts.submodel))) return;
  for (const auto& fault : calbin::compare_iomap(submodel, facts.chip, *facts.map))
    check.report_in(facts.path, fault.pointer, calbin::line_of(facts.document, fault.pointer),
                    {fmt::format("the I/O map of '{}' {}", submodel.name, fault.what), fault.found, fault.allowed,
                     "regenerate the map together with the memory plan"},
                    check.rule().severity);
}

void check_op_lists(Check& check) {
  const ParamBytes params(check);
  for (const auto& list : check.facts().oplists) check_oplist(check, list, params);
  for (const auto& map : check.facts().iomaps) check_iomap(check, map);
}

}  // namespace

Shape largest_shape(const calbin::Submodel& submodel, const calbin::Operand& operand) {
  Shape shape;
  for (const auto& extent : operand.shape) {
    const auto* number = std::get_if<std::int64_t>(&extent.value);
    shape.push_back(number != nullptr                            ? *number
                    : std::get<std::string>(extent.value) == "B" ? submodel.batch
                                                                 : submodel.tokens.max);
  }
  return shape;
}

std::vector<Rule> oplist_rules() {
  return {
      {{"CB0509", "op-io-unmapped", Severity::kError, RuleClass::kInvalid,
        "every operand of an op list lies inside its reservation and fits it, what is read was written before, ops "
        "have "
        "ids of their own, and I/O maps agree",
        "7d"},
       {kOpLists, "/submodels/*/workspace", kRegionPlace, kTensorPlace, kCsrPlace, "/submodels/*/iomap",
        "/submodels/*/inputs,outputs/*/dtype,shape,layout,alias_of"},
       &check_op_lists},
  };
}

}  // namespace calkit::lint
