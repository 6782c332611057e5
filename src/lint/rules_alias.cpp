/// Family 07: bytes that are in use twice at one time are declared so, and nothing writes over parameters.
#include <fmt/format.h>

#include <algorithm>

#include "families.h"

namespace calkit::lint {

namespace {

struct Buffer {
  std::string name, owner, alias_of, pointer;
  std::int64_t chip = 0;
  std::uint64_t base = 0, size = 0;
  bool is_register = false;
};

/// Everything the host sees of one submodel: tensors (both buffers of a pair) and registers.
std::vector<Buffer> buffers_of(Check& check, const calbin::Submodel& submodel, const std::string& pointer) {
  std::vector<Buffer> out;
  for (const bool input : {true, false}) {
    const auto& tensors = input ? submodel.inputs : submodel.outputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto& t = tensors[i];
      const std::string place = fmt::format("{}/{}/{}", pointer, input ? "inputs" : "outputs", i);
      if (!check.usable(place)) continue;
      const std::string name = fmt::format("{} '{}'", input ? "input" : "output", t.name);
      out.push_back({name, t.name, t.alias_of, place, t.chip, t.base, t.size});
      if (!t.pingpong) continue;
      if (t.pingpong->ping_base != t.base)
        out.push_back({"ping of " + name, t.name, t.alias_of, place, t.chip, t.pingpong->ping_base, t.size});
      out.push_back({"pong of " + name, t.name, t.alias_of, place, t.chip, t.pingpong->pong_base, t.size});
    }
  }
  for (std::size_t i = 0; i < submodel.csr.size(); ++i) {
    const auto& csr = submodel.csr[i];
    const std::string place = fmt::format("{}/csr/{}", pointer, i);
    if (!check.usable(place) || !check.usable(pointer + "/chips")) continue;
    const auto bytes = static_cast<std::uint64_t>(csr.count) * static_cast<std::uint64_t>(csr.width_bits / 8);
    for (std::int64_t chip = 0; chip < 64; ++chip)
      if ((submodel.chips >> chip) & 1)
        out.push_back({fmt::format("register '{}'", csr.name), "", "", place, chip, csr.base, bytes, true});
  }
  return out;
}

std::string buffer_text(const Buffer& buffer) {
  return fmt::format("{} {} on chip {}", buffer.name, range_text(buffer.base, buffer.size), buffer.chip);
}

const calbin::IoTensor* find_tensor(const calbin::Submodel& submodel, const std::string& name) {
  for (const auto* list : {&submodel.inputs, &submodel.outputs})
    for (const auto& tensor : *list)
      if (tensor.name == name) return &tensor;
  return nullptr;
}

/// Regions that the device and the host only read once the package is loaded.
bool is_constant(const calbin::Region& region) {
  return region.kind == "param" || region.kind == "command";
}

/// The first constant region that a written range touches, apart from `except`.
const calbin::Region* constant_under(Check& check, std::int64_t chip, std::uint64_t base, std::uint64_t size,
                                     const calbin::Region* except = nullptr) {
  const calbin::Region* found = nullptr;
  check.each_region([&](const calbin::Region& region, const std::string&) {
    if (found == nullptr && &region != except && region.chip == chip && region.space == "dram" && is_constant(region) &&
        overlap(region.base, region.size, base, size))
      found = &region;
  });
  return found;
}

std::string constant_text(const calbin::Region& region) {
  return fmt::format("outside {} region '{}' {}", region.kind, region.id, range_text(region.base, region.size));
}

void check_op_writes(Check& check) {
  std::vector<const calbin::Region*> constants;
  check.each_region([&](const calbin::Region& region, const std::string&) {
    if (is_constant(region) && region.space == "dram") constants.push_back(&region);
  });
  for (const auto& list : check.facts().oplists) {
    if (!list.oplist) {
      check.not_evaluated(fmt::format("the op list of '{}' is {}", check.d().submodels[list.submodel].name,
                                      list.error.empty() ? "absent" : "unreadable"));
      continue;
    }
    for (std::size_t i = 0; i < list.oplist->ops.size(); ++i) {
      const auto& op = list.oplist->ops[i];
      for (std::size_t k = 0; k < op.writes.size(); ++k) {
        const auto& operand = op.writes[k];
        const auto at = std::find_if(constants.begin(), constants.end(), [&](const calbin::Region* region) {
          return region->chip == list.chip && overlap(region->base, region->size, operand.base, operand.size);
        });
        if (at == constants.end() || operand.absent || !operand.csr.empty()) continue;
        const std::string pointer = fmt::format("/ops/{}/writes/{}", i, k);
        check.report_in(
            list.path, pointer, calbin::line_of(list.document, pointer),
            {fmt::format("op {} {} writes over constants", op.id, op.type), range_text(operand.base, operand.size),
             constant_text(**at), "regenerate the op list together with the memory plan"},
            check.rule().severity);
      }
    }
  }
}

void check_ping_pong(Check& check) {
  check.each_tensor([&](const Check::TensorAt& at) {
    if (!at.tensor.pingpong) return;
    const auto& pair = *at.tensor.pingpong;
    if (!overlap(pair.ping_base, at.tensor.size, pair.pong_base, at.tensor.size)) return;
    if (pair.inflight == 1 && pair.ping_base == pair.pong_base) return;  // one buffer, one job: declared so
    check.report(at.pointer + "/pingpong",
                 {fmt::format("the two buffers of {} share bytes", at.name()),
                  fmt::format("ping {}, pong {}, inflight {}", range_text(pair.ping_base, at.tensor.size),
                              range_text(pair.pong_base, at.tensor.size), pair.inflight),
                  "apart; or equal with inflight 1", "give the second job in flight a buffer of its own"});
  });
}

void check_undeclared_alias(Check& check) {
  constexpr std::size_t kMaxBuffers = 4096;
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    const auto buffers = buffers_of(check, submodel, pointer);
    if (buffers.size() > kMaxBuffers)
      return check.not_evaluated(fmt::format("'{}' has more than {} buffers", submodel.name, kMaxBuffers));
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      for (std::size_t k = i + 1; k < buffers.size(); ++k) {
        const auto &a = buffers[i], &b = buffers[k];
        const bool declared = a.alias_of == b.owner || b.alias_of == a.owner || a.owner == b.owner;
        if (a.is_register && b.is_register) continue;  // CB0407
        if ((declared && !b.is_register) || a.chip != b.chip || !overlap(a.base, a.size, b.base, b.size)) continue;
        check.report(b.pointer,
                     {fmt::format("{} and {} of '{}' share bytes", a.name, b.name, submodel.name), buffer_text(b),
                      "apart from " + buffer_text(a), "separate them, or declare alias_of with the exact same range"});
      }
    }
  });
}

void check_declared_alias(Check& check) {
  check.each_tensor([&](const Check::TensorAt& at) {
    if (at.tensor.alias_of.empty()) return;
    const auto* other = find_tensor(at.submodel, at.tensor.alias_of);
    const char* fix = "an alias has the same chip, base and size as the tensor it names";
    if (other == nullptr || other == &at.tensor)
      return check.report(
          at.pointer + "/alias_of",
          {fmt::format("{} is declared as another name of nothing", at.name()), fmt::format("'{}'", at.tensor.alias_of),
           fmt::format("another tensor of '{}'", at.submodel.name), fix});
    if (other->chip == at.tensor.chip && other->base == at.tensor.base && other->size == at.tensor.size) return;
    check.report(
        at.pointer + "/alias_of",
        {fmt::format("{} covers only part of the tensor it is declared to be", at.name()),
         fmt::format("{} on chip {}", range_text(at.tensor.base, at.tensor.size), at.tensor.chip),
         fmt::format("'{}' {} on chip {}", other->name, range_text(other->base, other->size), other->chip), fix});
  });
}

void check_param_written(Check& check) {
  const char* fix = "correct the memory plan: nothing may be written over parameters or commands";
  check.each_tensor([&](const Check::TensorAt& at) {
    if (const auto* region = constant_under(check, at.tensor.chip, at.tensor.base, at.tensor.size))
      check.report(at.pointer, {fmt::format("{} lies on constants", at.name()),
                                range_text(at.tensor.base, at.tensor.size), constant_text(*region), fix});
  });
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    if (region.kind != "workspace" || region.space != "dram") return;
    if (const auto* constant = constant_under(check, region.chip, region.base, region.size, &region))
      check.report(pointer, {fmt::format("workspace '{}' lies on constants", region.id),
                             range_text(region.base, region.size), constant_text(*constant), fix});
  });
  check_op_writes(check);
}

}  // namespace

std::vector<Rule> alias_rules() {
  return {
      {{"CB0701", "ping-pong-alias", Severity::kBlocker, RuleClass::kInvalid,
        "ping and pong share no bytes while two jobs are in flight", "8f"},
       {kTensorPlace},
       &check_ping_pong},
      {{"CB0702", "io-alias-undeclared", Severity::kError, RuleClass::kInvalid,
        "I/O buffers of a submodel share bytes only where declared", "8f"},
       {kTensorPlace, kCsrPlace, "/submodels/*/inputs,outputs/*/alias_of", "/submodels/*/chips"},
       &check_undeclared_alias},
      {{"CB0703", "alias-partial", Severity::kBlocker, RuleClass::kInvalid,
        "a declared alias has exactly the range it names", "8f"},
       {kTensorPlace, "/submodels/*/inputs,outputs/*/alias_of"},
       &check_declared_alias},
      {{"CB0705", "writable-param-alias", Severity::kBlocker, RuleClass::kInvalid,
        "nothing that is written touches parameters or commands", "8f"},
       {kTensorPlace, kRegionPlace, "/submodels/*/oplist"},
       &check_param_written},
  };
}

}  // namespace calkit::lint
