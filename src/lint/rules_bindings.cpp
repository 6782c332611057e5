/// Family 04, second part: what the service manifest binds is there, with the role it needs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

const calbin::IoTensor* find_tensor(const std::vector<calbin::IoTensor>& tensors, std::uint32_t index) {
  const auto at = std::find_if(tensors.begin(), tensors.end(),
                               [&](const calbin::IoTensor& tensor) { return tensor.index == std::int64_t{index}; });
  return at != tensors.end() ? &*at : nullptr;
}

void check_csr_binding(Check& check) {
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    std::map<std::uint64_t, std::string> at_address;
    for (std::size_t i = 0; i < submodel.csr.size(); ++i) {
      const std::string place = fmt::format("{}/csr/{}", pointer, i);
      if (!check.usable(place)) continue;
      if (check.usable(pointer + "/batch") && submodel.csr[i].count < submodel.batch)
        check.report(place + "/count", {fmt::format("register '{}' of '{}' has fewer words than the batch has rows",
                                                    submodel.csr[i].name, submodel.name),
                                        fmt::format("{}", submodel.csr[i].count),
                                        fmt::format("{}, one a row", submodel.batch), "correct the I/O map"});
      const auto [at, added] = at_address.emplace(submodel.csr[i].base, submodel.csr[i].name);
      if (!added)
        check.report(place + "/base", {fmt::format("registers '{}' and '{}' of '{}' have one address", at->second,
                                                   submodel.csr[i].name, submodel.name),
                                       hex_u64(submodel.csr[i].base), "an address for each", "correct the I/O map"});
    }
  });
  if (check.service() == nullptr) return check.left_out(kNoService);
  for (const auto& bound : check.bound()) {
    if (bound.submodel == nullptr || !check.usable(bound.pointer + "/csr")) continue;
    const auto& registers = bound.submodel->csr;
    struct Wanted {
      const char *key, *role;
      const manifest::Binding& binding;
    };
    for (const auto& [key, role, binding] :
         {Wanted{"current", "cur_seq_len", check.service()->csr_current},
          Wanted{"past_current", "past_kv_cur_seq_len", check.service()->csr_past_current}}) {
      const auto at = std::find_if(registers.begin(), registers.end(),
                                   [&, name = binding.name](const calbin::Csr& csr) { return csr.name == name; });
      if (at != registers.end() && at->count > std::int64_t{binding.index} && at->role == role) continue;
      std::string names;
      for (const auto& csr : registers)
        names += fmt::format("{}{}[{}] of role {}", names.empty() ? "" : ", ", csr.name, csr.count, csr.role);
      check.report(bound.pointer + "/csr",
                   {fmt::format("the service's csr.{} is no register of that role of '{}'", key, bound.wanted),
                    names.empty() ? "no registers" : names,
                    fmt::format("service manifest csr.{} '{}', of role {}", key, binding.text, role),
                    "bind a register by its exact name and an index below its count"});
    }
  }
}

void check_tensor_binding(Check& check) {
  if (!check.need_service()) return;
  const auto& service = *check.service();
  struct Wanted {
    const char* key;
    const manifest::Binding& binding;
    const char* list;
  };
  const Wanted wanted[] = {{"token", service.token, "inputs"},
                           {"position", service.position, "inputs"},
                           {"logits", service.logits, "outputs"}};
  for (const auto& bound : check.bound()) {
    if (bound.submodel == nullptr) continue;
    for (const auto& [key, binding, list] : wanted) {
      const std::string place = fmt::format("{}/{}", bound.pointer, list);
      if (!check.usable(place)) continue;
      const auto& tensors = std::string_view(list) == "inputs" ? bound.submodel->inputs : bound.submodel->outputs;
      const auto* tensor = binding.name == list ? find_tensor(tensors, binding.index) : nullptr;
      if (tensor != nullptr && tensor->role == key) continue;
      check.report(place,
                   {fmt::format("the service's tensors.{} does not name the {} tensor of '{}'", key, key, bound.wanted),
                    tensor == nullptr ? fmt::format("{} {}, none of them '{}'", tensors.size(), list, binding.text)
                                      : fmt::format("'{}' of role {}", tensor->name, tensor->role),
                    fmt::format("service manifest tensors.{} '{}'", key, binding.text),
                    fmt::format("bind the tensor of role {} by its index", key)});
    }
  }
}

}  // namespace

std::vector<Rule> binding_rules() {
  return {
      {{"CB0407", "csr-unbound", Severity::kError, RuleClass::kIncompatible,
        "the service's registers exist with their roles, each at its own address", "10a 7c"},
       {kNames, "/submodels/*/csr/*/name,role,base,count"},
       &check_csr_binding},
      {{"CB0408", "binding-unresolved", Severity::kError, RuleClass::kIncompatible,
        "the service's tensor bindings name tensors of that role", "10a"},
       {kNames, "/submodels/*/inputs,outputs/*/index,role"},
       &check_tensor_binding},
  };
}

}  // namespace calkit::lint
