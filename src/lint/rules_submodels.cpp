/// Family 03: submodels are what they say they are, under exactly the name the service asks for.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "families.h"

namespace calkit::lint {

namespace {

bool is_type(std::string_view word) {
  return std::find(calbin::kSubmodelTypes.begin(), calbin::kSubmodelTypes.end(), word) != calbin::kSubmodelTypes.end();
}

/// What a type word means, producers' spellings included: they are no words of calbin.json (CB0301), but a prefill that
/// is called `llm_decode` is also the wrong kind of submodel (CB0302).
std::string_view meaning(std::string_view type) {
  if (type == "llm_prefill") return "prefill";
  if (type == "llm_decode") return "decode";
  return is_type(type) ? type : "";
}

/// The longest step a submodel takes: from its token range and from its token tensors.
std::int64_t longest_step(const calbin::Submodel& submodel) {
  std::int64_t longest = submodel.tokens.max;
  for (const auto& tensor : submodel.inputs)
    if (tensor.role == "token" && tensor.layout.logical_shape.size() > 1)
      longest = std::max(longest, tensor.layout.logical_shape.back());
  return longest;
}

std::string nearest_names(const calbin::Description& d, const std::string& wanted) {
  std::vector<std::string> names;
  std::string all;
  for (const auto& submodel : d.submodels) {
    names.push_back(submodel.name);
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", submodel.name);
  }
  const std::string near = nearest_word(wanted, names);
  return near.empty() ? all : fmt::format("{}; '{}' is the nearest", all, near);
}

bool has_type(const calbin::Description& d, std::string_view type) {
  for (const auto& submodel : d.submodels)
    if (meaning(submodel.type) == type) return true;
  return false;
}

void check_submodel_type(Check& check) {
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    if (!check.usable(pointer) || is_type(submodel.type)) return;
    check.report(pointer + "/type",
                 {fmt::format("submodel '{}' has an unknown type", submodel.name), fmt::format("'{}'", submodel.type),
                  "prefill, decode or kv_update, spelt exactly so",
                  "have the producer state the type; it is never guessed from the name"});
  });
}

void check_type_against_use(Check& check) {
  const char* fix = "correct the submodel's type, or bind the submodel that was meant";
  std::set<std::string> told;
  for (const auto& bound : check.bound()) {
    if (bound.submodel == nullptr || !check.usable(bound.pointer)) continue;
    const auto type = meaning(bound.submodel->type);
    if (type.empty() || type == bound.role) continue;
    told.insert(bound.pointer);
    check.report(bound.pointer + "/type",
                 {fmt::format("the service's {} model '{}' is typed as something else", bound.role, bound.wanted),
                  fmt::format("'{}'", bound.submodel->type), fmt::format("{}", bound.role), fix});
  }
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    if (!check.usable(pointer) || told.contains(pointer)) return;
    const std::int64_t step = longest_step(submodel);
    if (meaning(submodel.type) == "decode" && step > 1)
      check.report(
          pointer + "/type",
          {fmt::format("submodel '{}' takes whole prompts but is typed as decode", submodel.name),
           fmt::format("'{}' with up to {} tokens a call", submodel.type, step), "a decode takes 1 token a call", fix});
    if (meaning(submodel.type) == "prefill" && step == 1)
      check.report(
          pointer + "/type",
          {fmt::format("submodel '{}' takes single tokens but is typed as prefill", submodel.name),
           fmt::format("'{}' with 1 token a call", submodel.type), "a prefill takes more than 1 token a call", fix});
  });
}

/// The host writes tokens and positions as rows of a call: [batch, tokens].
void check_step_shape(Check& check, const Check::TensorAt& at) {
  const auto& logical = at.tensor.layout.logical_shape;
  const auto& submodel = at.submodel;
  if (!at.input || (at.tensor.role != "token" && at.tensor.role != "position")) return;
  if (logical != Shape{submodel.batch, submodel.tokens.max})
    check.report(at.pointer + "/layout/logical_shape",
                 {fmt::format("{} does not hold one call's {}s", at.name(), at.tensor.role), shape_text(logical),
                  fmt::format("[{}, {}]: batch and the most tokens of a call of this {}", submodel.batch,
                              submodel.tokens.max, submodel.type),
                  "correct tokens, batch or the shape; two of them describe another submodel"});
}

void check_type_against_shape(Check& check) {
  check.each_tensor([&](const Check::TensorAt& at) {
    if (check.usable(fmt::format("/submodels/{}", at.submodel_index))) check_step_shape(check, at);
  });
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    if (!check.usable(pointer)) return;
    if (submodel.tokens.max > submodel.context)
      check.report(pointer + "/tokens",
                   {fmt::format("one call of '{}' takes more tokens than its context", submodel.name),
                    fmt::format("{} tokens", submodel.tokens.max), fmt::format("context {}", submodel.context),
                    "correct tokens or context"});
    const bool reads = std::any_of(submodel.inputs.begin(), submodel.inputs.end(), [](const calbin::IoTensor& tensor) {
      return tensor.role == "token" || tensor.role == "hidden";
    });
    const auto type = meaning(submodel.type);
    if ((type == "prefill" || type == "decode") && !reads)
      check.report(pointer + "/inputs",
                   {fmt::format("the {} '{}' has nothing to read", type, submodel.name),
                    fmt::format("{} inputs", submodel.inputs.size()), "an input of role token or hidden",
                    "state the input's role, or correct the submodel's type"});
  });
}

void check_model_name(Check& check) {
  if (!check.need_service()) return;
  for (const auto& bound : check.bound()) {
    // Without a submodel of that type there is none to be called by the right name: CB0306 tells that.
    if (bound.submodel != nullptr || !check.usable("/submodels") || !has_type(check.d(), bound.role)) continue;
    check.report("/submodels", {fmt::format("the service's {} model is not in the package under that name", bound.role),
                                fmt::format("service manifest models.{} '{}'", bound.role, bound.wanted),
                                nearest_names(check.d(), bound.wanted), "names must be equal to the last character"});
  }
}

void check_submodel_present(Check& check) {
  if (!check.need_service() || !check.usable("/submodels")) return;
  for (const auto& bound : check.bound()) {
    if (bound.submodel != nullptr || has_type(check.d(), bound.role)) continue;
    check.report("/submodels", {fmt::format("the package has no {} submodel", bound.role),
                                fmt::format("{} submodels, none of type {}", check.d().submodels.size(), bound.role),
                                fmt::format("'{}', which the service binds as {}", bound.wanted, bound.role),
                                "pack both submodels into one package"});
  }
}

void check_submodel_twins(Check& check) {
  std::set<std::string> names;
  std::map<std::string, std::string> shapes;  // what a caller selects by -> name
  check.each_submodel([&](const calbin::Submodel& s, const std::string& pointer) {
    if (!check.usable(pointer)) return;
    if (!names.insert(s.name).second)
      return check.report(pointer + "/name", {"two submodels have one name", fmt::format("'{}' a second time", s.name),
                                              "every submodel its own name", "rename or remove one of them"});
    const auto key = fmt::format("{} batch {} context {} tokens {}..{} step {} chips {:#x}", s.type, s.batch, s.context,
                                 s.tokens.min, s.tokens.max, s.tokens.step, s.chips);
    const auto [at, added] = shapes.emplace(key, s.name);
    if (!added)
      check.report(pointer, {fmt::format("'{}' and '{}' cannot be told apart", at->second, s.name), key,
                             "submodels that differ in type, batch, context, tokens or chips", "remove one of them"});
  });
}

}  // namespace

std::vector<Rule> submodel_rules() {
  return {
      {{"CB0301", "submodel-type-unknown", Severity::kBlocker, RuleClass::kInvalid,
        "every submodel's type is prefill, decode or kv_update", "8b"},
       {"/submodels/*/type"},
       &check_submodel_type},
      {{"CB0302", "prefill-typed-decode", Severity::kBlocker, RuleClass::kInvalid,
        "a submodel's type is what it is used and shaped as", "8h 8i"},
       {"/submodels/*/name,type,tokens", "/submodels/*/inputs/*/role,layout"},
       &check_type_against_use},
      {{"CB0303", "type-shape-contradiction", Severity::kError, RuleClass::kInvalid,
        "token tensors hold exactly batch x tokens of a call, which fits the context", "7c"},
       {"/submodels/*/name,type,batch,tokens,context", "/submodels/*/inputs/*/name,role,layout"},
       &check_type_against_shape},
      {{"CB0304", "model-name-not-exact", Severity::kBlocker, RuleClass::kIncompatible,
        "the service's model names are in the package, to the last character", "8c 9a"},
       {"/submodels/*/name,type"},
       &check_model_name},
      {{"CB0306", "submodel-missing", Severity::kBlocker, RuleClass::kIncompatible,
        "the package has each type of submodel the service binds", "7c"},
       {"/submodels/*/name,type"},
       &check_submodel_present},
      {{"CB0307", "submodel-duplicate", Severity::kError, RuleClass::kInvalid,
        "submodels can be told apart by name and by shape", "8b"},
       {"/submodels/*/name,type,batch,context,tokens,chips"},
       &check_submodel_twins},
  };
}

}  // namespace calkit::lint
