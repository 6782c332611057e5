/// Family 05, sixth part: an op list as a whole: its ids, the workspace it takes, its order. Of the order only
/// reservations of kind io and workspace are judged: parameters and the KV cache hold bytes from before the call.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "calkit/base/checked.h"
#include "families.h"

namespace calkit::lint {

namespace {

/// A set of bytes as spans that do not touch.
class Bytes {
 public:
  void add(std::uint64_t base, std::uint64_t end) {
    if (base >= end) return;
    auto at = spans_.upper_bound(base);
    if (at != spans_.begin() && std::prev(at)->second >= base) --at;
    while (at != spans_.end() && at->first <= end) {
      base = std::min(base, at->first);
      end = std::max(end, at->second);
      at = spans_.erase(at);
    }
    spans_.emplace(base, end);
  }
  bool hold_all(std::uint64_t base, std::uint64_t end) const {
    const auto at = spans_.upper_bound(base);
    return base >= end || (at != spans_.begin() && std::prev(at)->second >= end);
  }
  bool hold_some(std::uint64_t base, std::uint64_t end) const {
    const auto at = spans_.lower_bound(end);
    return at != spans_.begin() && std::prev(at)->second > base;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> spans_;
};

class Flow {
 public:
  Flow(Check& check, const OpListFacts& list)
      : check_(check), list_(list), submodel_(check.d().submodels[list.submodel]) {}

  void run() {
    host_and_others();
    const auto& ops = list_.oplist->ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (std::size_t k = 0; k < ops[i].reads.size(); ++k) {
        same_type(ops[i], ops[i].reads[k], fmt::format("/ops/{}/reads/{}", i, k));
        read(ops[i], ops[i].reads[k], i, k);
      }
      for (const auto& operand : ops[i].writes) {
        write(operand);
        given_.insert_or_assign({operand.name, operand.base}, operand.dtype);
      }
    }
    for (std::size_t k = 0; k < submodel_.outputs.size(); ++k) output(submodel_.outputs[k], k);
  }

 private:
  struct Space {
    Bytes filled;  ///< by the host, other submodels, other chips or ops before: whole operands
    Bytes by_ops;  ///< by ops: the elements alone
  };

  /// What lies on this chip and may hold bytes of a call; nullptr for the rest.
  const calbin::Region* judged(const std::string& id) const {
    const auto* region = check_.region(id);
    const bool ours = region != nullptr && region->chip == list_.chip;
    return ours && (region->kind == "io" || region->kind == "workspace") ? region : nullptr;
  }

  void fill(std::uint64_t base, std::uint64_t size) {
    if (wraps(base, size)) return;
    for (const char* space : {"dram", "sram"}) spaces_[space].filled.add(base, base + size);
  }
  void fill(const calbin::IoTensor& tensor) {
    fill(tensor.base, tensor.size);
    if (!tensor.pingpong) return;
    fill(tensor.pingpong->ping_base, tensor.size);
    fill(tensor.pingpong->pong_base, tensor.size);
  }

  /// The host fills inputs and registers, on every chip at the stated address; another submodel may hand over what it
  /// gave; parameters are there from the start; other chips may send.
  void host_and_others() {
    for (const auto& submodel : check_.d().submodels) {
      for (const auto& tensor : submodel.inputs) fill(tensor);
      if (&submodel != &submodel_)
        for (const auto& tensor : submodel.outputs) fill(tensor);
      for (const auto& csr : submodel.csr)
        fill(csr.base, static_cast<std::uint64_t>(csr.count) * static_cast<std::uint64_t>(csr.width_bits / 8));
    }
    for (const auto& param : check_.d().params)
      if (param.chip == list_.chip) fill(param.base, param.length);
    for (const auto& other : check_.facts().oplists) {
      if (&other == &list_ || other.submodel != list_.submodel || !other.oplist) continue;
      for (const auto& op : other.oplist->ops)
        if (crosses_chips(op))
          for (const auto& operand : op.writes) write(operand);
    }
  }

  void write(const calbin::Operand& operand) {
    if (operand.absent || !operand.csr.empty() || wraps(operand.base, operand.size)) return;
    const auto* region = judged(operand.region);
    if (region == nullptr) return;
    auto& space = spaces_[region->space];
    space.filled.add(operand.base, operand.base + operand.size);
    space.by_ops.add(operand.base, operand.base + elements(operand));
  }

  /// One name at one address is one value.
  void same_type(const calbin::Op& op, const calbin::Operand& operand, const std::string& pointer) {
    const auto at = given_.find({operand.name, operand.base});
    if (operand.absent || !operand.csr.empty() || at == given_.end() || at->second == operand.dtype) return;
    check_.report_in(
        list_.path, pointer, calbin::line_of(list_.document, pointer),
        {fmt::format("op {} {} of '{}' reads '{}' as another type than it was written", op.id, op.type, submodel_.name,
                     operand.name),
         std::string(dtype_name(operand.dtype)), fmt::format("{}, as the op before wrote it", dtype_name(at->second)),
         "regenerate the op list; a cast is an op and gives a value of its own"},
        Severity::kWarning);
  }

  std::uint64_t elements(const calbin::Operand& operand) const {
    const auto bytes = checked_product(largest_shape(submodel_, operand), dtype_bytes(operand.dtype));
    return std::min(bytes.value_or(operand.size), operand.size);
  }

  void read(const calbin::Op& op, const calbin::Operand& operand, std::size_t i, std::size_t k) {
    if (operand.absent || !operand.csr.empty()) return;
    const auto* region = judged(operand.region);
    if (region == nullptr) return;
    auto& filled = spaces_[region->space].filled;
    const std::uint64_t end = operand.base + elements(operand);
    if (filled.hold_all(operand.base, end)) return;
    const auto pointer = fmt::format("/ops/{}/reads/{}", i, k);
    check_.report_in(
        list_.path, pointer, calbin::line_of(list_.document, pointer),
        {fmt::format("op {} {} of '{}' reads '{}' before anything has written {}", op.id, op.type, submodel_.name,
                     operand.name, filled.hold_some(operand.base, end) ? "all of it" : "it"),
         fmt::format("{} in '{}'", range_text(operand.base, end - operand.base), region->id),
         "bytes of an input, a register, a parameter, the KV cache or an earlier op's result",
         "the op that makes this value is missing, comes later or writes elsewhere; regenerate the op list"},
        Severity::kWarning);
    filled.add(operand.base, end);  // told once
  }

  /// From the first byte to the end of the last element that is meant.
  static std::optional<std::uint64_t> meant_bytes(const calbin::IoTensor& tensor) {
    const Shape &physical = tensor.shape, &logical = tensor.layout.logical_shape;
    if (physical.size() != logical.size() || !checked_product(physical, dtype_bytes(tensor.dtype))) return std::nullopt;
    std::uint64_t stride = dtype_bytes(tensor.dtype), last = 0;
    for (std::size_t axis = physical.size(); axis-- > 0;) {
      if (logical[axis] < 1 || logical[axis] > physical[axis]) return std::nullopt;
      last += stride * static_cast<std::uint64_t>(logical[axis] - 1);
      stride *= static_cast<std::uint64_t>(physical[axis]);
    }
    return last + dtype_bytes(tensor.dtype);
  }

  void output(const calbin::IoTensor& tensor, std::size_t k) {
    const auto* region = tensor.chip == list_.chip ? judged(tensor.region) : nullptr;
    // Where it lies is CB0501's, CB0502's and CB0503's; an alias gives what it is another name of.
    if (region == nullptr || region->kind != "io" || !tensor.alias_of.empty() || tensor.size == 0 ||
        !contains(*region, tensor.base, tensor.size) || tensor.base % dtype_bytes(tensor.dtype) != 0)
      return;
    const auto& by_ops = spaces_[region->space].by_ops;
    const auto pointer = fmt::format("/submodels/{}/outputs/{}", list_.submodel, k);
    const std::string name = fmt::format("output '{}' of '{}'", tensor.name, submodel_.name);
    const char* fix = "regenerate the op list together with the memory plan; the host would read what lay there before";
    if (!by_ops.hold_some(tensor.base, tensor.base + tensor.size))
      return check_.report(pointer, {fmt::format("no op writes {}", name), range_text(tensor.base, tensor.size),
                                     fmt::format("a write of an op of '{}'", list_.path), fix});
    const auto meant = meant_bytes(tensor);
    if (meant && !by_ops.hold_all(tensor.base, tensor.base + std::min(*meant, tensor.size)))
      check_.warn(pointer, {fmt::format("the ops write only a part of {}", name), range_text(tensor.base, *meant),
                            fmt::format("writes of ops of '{}' to all of it", list_.path), fix});
  }

  Check& check_;
  const OpListFacts& list_;
  const calbin::Submodel& submodel_;
  std::map<std::string, Space, std::less<>> spaces_;
  std::map<std::pair<std::string, std::uint64_t>, DType> given_;  ///< by ops: name and address -> type
};

}  // namespace

/// Findings, command texts and a vendor's reports name an op by its id.
void check_op_ids(Check& check, const OpListFacts& list) {
  std::unordered_map<std::int64_t, std::size_t> first;
  const auto& ops = list.oplist->ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto [at, added] = first.emplace(ops[i].id, i);
    if (added) continue;
    const auto pointer = fmt::format("/ops/{}/id", i);
    check.report_in(list.path, pointer, calbin::line_of(list.document, pointer),
                    {fmt::format("two ops of '{}' have one id", check.d().submodels[list.submodel].name),
                     fmt::format("{}, as op {} of the list has", ops[i].id, at->second), "an id of its own for each op",
                     "number the ops again; a report that names this id could mean either"},
                    check.rule().severity);
  }
}

/// The peak is what a runtime sets aside, from the first byte of the reservation.
void check_workspace_use(Check& check, const OpListFacts& list) {
  const auto& submodel = check.d().submodels[list.submodel];
  const auto* region = check.region(submodel.workspace_region);
  if (region == nullptr || region->chip != list.chip) return;
  std::uint64_t used = 0;
  const calbin::Op* most = nullptr;
  for (const auto& op : list.oplist->ops)
    for (const auto* operands : {&op.reads, &op.writes})
      for (const auto& operand : *operands) {
        if (operand.absent || !operand.csr.empty() || operand.region != region->id) continue;
        const std::uint64_t end = operand.base - region->base + operand.size;  // inside: all_fit()
        if (end <= used) continue;
        used = end;
        most = &op;
      }
  if (used <= submodel.workspace_peak) return;
  check.report(
      fmt::format("/submodels/{}/workspace/peak", list.submodel),
      {fmt::format("the ops of '{}' use more workspace than it states", submodel.name),
       fmt::format("{} B", submodel.workspace_peak),
       fmt::format("at least {} B of '{}', as far as op {} {} reaches", used, region->id, most->id, most->type),
       "state the peak of this op list, counted from the start of the reservation"});
}

void check_flow(Check& check, const OpListFacts& list) {
  Flow(check, list).run();
}

}  // namespace calkit::lint
