/// Family 04, first part: the numbers of the package, of the service manifest and of the parts of the package agree.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

bool is_integer_type(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}
bool is_float_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

void check_batch(Check& check) {
  if (!check.need_service()) return;
  const std::int64_t wanted = check.service()->batch;
  const std::string asked = fmt::format("service manifest batch {}", wanted);
  if (check.usable("/limits/max_batch") && wanted > check.d().limits.max_batch)
    check.report("/limits/max_batch", {"the service runs more sequences per step than the package allows",
                                       fmt::format("{}", check.d().limits.max_batch), asked,
                                       "lower the service's batch, or have the package compiled for it"});
  for (const auto& bound : check.bound()) {
    if (bound.submodel == nullptr || !check.usable(bound.pointer) || bound.submodel->batch == wanted) continue;
    check.report(bound.pointer + "/batch",
                 {fmt::format("{} submodel '{}' is compiled for another batch", bound.role, bound.wanted),
                  fmt::format("{}", bound.submodel->batch), asked,
                  "set the service's batch to the compiled one, or have the package compiled for it"});
  }
}

void check_context(Check& check) {
  if (!check.need_service()) return;
  const auto& d = check.d();
  if (!check.usable("/limits/context") || !check.usable("/model/trained_context")) return;
  std::int64_t least = std::min(d.limits.context, d.model.trained_context);
  std::string at = d.limits.context <= d.model.trained_context ? "/limits/context" : "/model/trained_context";
  std::string parts = fmt::format("package {}, trained {}", d.limits.context, d.model.trained_context);
  for (const auto& bound : check.bound()) {
    if (bound.submodel == nullptr || !check.usable(bound.pointer)) continue;
    parts += fmt::format(", {} {}", bound.role, bound.submodel->context);
    if (bound.submodel->context >= least) continue;
    least = bound.submodel->context;
    at = bound.pointer + "/context";
  }
  const std::int64_t wanted = check.service()->context;
  const std::string asked = fmt::format("service manifest context {}", wanted);
  if (wanted > least)
    check.report(at, {"the service's context is larger than the package can hold", fmt::format("{} ({})", least, parts),
                      asked, fmt::format("set the service's context to at most {}", least)});
  if (wanted < least)
    check.inform(at, {"the service uses less context than the package can hold", fmt::format("{} ({})", least, parts),
                      asked, "nothing; the effective context is the smaller one"});
}

void check_vocab(Check& check) {
  if (!check.usable("/model/vocab")) return;
  const std::int64_t vocab = check.d().model.vocab;
  check.each_tensor([&](const Check::TensorAt& at) {
    const auto& logical = at.tensor.layout.logical_shape;
    if (at.tensor.role != "logits" || logical.empty() || logical.back() <= vocab) return;
    check.report(at.pointer + "/layout/logical_shape",
                 {fmt::format("{} is wider than the vocabulary", at.name()), shape_text(logical),
                  fmt::format("model.vocab {}", vocab), "state the padding: logical_shape ends with the vocabulary"});
  });
  if (check.service() == nullptr) return check.left_out(kNoService);
  if (check.service()->vocab != vocab)
    check.report("/model/vocab", {"the service and the package have different vocabularies", fmt::format("{}", vocab),
                                  fmt::format("service manifest vocab {}", check.service()->vocab),
                                  "take the package of this tokenizer, or correct the manifest"});
}

/// Something of the package, and the chips it is for.
struct OnChips {
  std::uint64_t chips = 0;
  const char* kind;  ///< "region"
  std::string name, pointer;
};

std::vector<OnChips> things_on_chips(Check& check) {
  std::vector<OnChips> out;
  const auto bit = [](std::int64_t chip) { return chip >= 0 && chip < 64 ? 1ull << chip : 0; };
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    if (check.usable(pointer + "/chips"))
      out.push_back({submodel.chips, "submodel", fmt::format("'{}'", submodel.name), pointer + "/chips"});
  });
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    out.push_back({bit(region.chip), "region", fmt::format("'{}'", region.id), pointer + "/chip"});
  });
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    out.push_back({bit(param.chip), "parameter", fmt::format("'{}'", param.name), pointer + "/chip"});
  });
  check.each_tensor([&](const Check::TensorAt& at) {
    out.push_back({bit(at.tensor.chip), "tensor", at.name(), at.pointer + "/chip"});
  });
  for (std::size_t i = 0; i < check.d().files.size(); ++i)
    if (const auto& file = check.d().files[i]; check.usable_item("/files", i))
      out.push_back({file.chips, "file", fmt::format("'{}'", file.id), fmt::format("/files/{}/chips", i)});
  return out;
}

/// "2 submodels, 9 regions, 1 file".
std::string counts_text(const std::vector<const OnChips*>& things) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (const auto* thing : things) {
    if (counts.empty() || counts.back().first != thing->kind) counts.emplace_back(thing->kind, 0);
    ++counts.back().second;
  }
  std::string out;
  for (const auto& [kind, count] : counts)
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", count, kind, count == 1 ? "" : "s");
  return out;
}

/// One finding a chip, whatever the number of things on it: either the mask lacks the chip, or they lie on a wrong one.
void check_chip_masks(Check& check) {
  if (!check.usable("/device/chip_mask")) return;
  const std::uint64_t mask = check.d().device.chip_mask;
  const std::string allowed = fmt::format("within the package's chip_mask {}", hex_u64(mask));
  const auto things = things_on_chips(check);
  std::map<int, std::vector<const OnChips*>> strays;
  std::vector<const OnChips*> all;
  std::uint64_t used = 0;
  for (const auto& thing : things) {
    used |= thing.chips;
    if (thing.chips != 0) all.push_back(&thing);
    for (std::uint64_t rest = thing.chips & ~mask; rest != 0; rest &= rest - 1)
      strays[std::countr_zero(rest)].push_back(&thing);
    if (thing.chips == 0 && std::string_view(thing.kind) == "submodel")
      check.report(thing.pointer, {fmt::format("submodel {} runs on no chip", thing.name), "0x0",
                                   "at least one chip, " + allowed, "state the chips it was compiled for"});
  }
  if (used != 0 && (used & mask) == 0)
    return check.report("/device/chip_mask",
                        {"nothing of the package lies on a chip of its mask", hex_u64(mask),
                         fmt::format("{}, where all of it lies: {}", hex_u64(used), counts_text(all)),
                         "correct the mask, or pack for the chips it names"});
  for (const auto& [chip, stray] : strays) {
    const auto& first = *stray[0];
    const bool alone = stray.size() == 1;
    check.report(first.pointer,
                 {fmt::format("{} {} {}on chip {}, which the package does not use", first.kind, first.name,
                              alone ? "is " : fmt::format("and {} more things are ", stray.size() - 1), chip),
                  alone ? fmt::format("chips {}", hex_u64(first.chips)) : counts_text(stray), allowed,
                  "correct the mask, or pack for the chips that the product has"});
  }
}

void check_dtypes(Check& check) {
  std::map<std::string, std::pair<DType, std::string>> first;  // role -> dtype, who
  check.each_tensor([&](const Check::TensorAt& at) {
    const auto& role = at.tensor.role;
    const DType dtype = at.tensor.dtype;
    const auto wrong = [&](const std::string& limit) {
      check.report(at.pointer + "/dtype", {fmt::format("{} has a dtype that does not fit", at.name()),
                                           std::string(dtype_name(dtype)), limit, "recompile with the agreed dtype"});
    };
    if ((role == "token" || role == "position") && !is_integer_type(dtype)) return wrong("i32 or i64 for " + role);
    if (role == "logits" && !is_float_type(dtype)) return wrong("f32, bf16 or f16 for logits");
    const bool k = role == "past_k" || role == "present_k", v = role == "past_v" || role == "present_v";
    if ((k || v) && check.usable("/kv")) {
      const DType kv = k ? check.d().kv.k_dtype : check.d().kv.v_dtype;
      if (dtype != kv) wrong(fmt::format("{}, as kv.{}_dtype says", dtype_name(kv), k ? "k" : "v"));
      return;
    }
    const auto [seen, added] = first.emplace(role, std::pair{dtype, at.name()});
    if (!added && seen->second.first != dtype)
      wrong(fmt::format("{}, as {} has", dtype_name(seen->second.first), seen->second.second));
  });
}

void check_batch_knobs(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/limits")) return;
  std::int64_t tokens = 0, batch = 0;
  for (std::size_t i = 0; i < d.submodels.size(); ++i) {
    const auto& submodel = d.submodels[i];
    if (!check.usable(fmt::format("/submodels/{}", i))) return;
    if (submodel.type == "prefill") tokens = std::max(tokens, submodel.tokens.max);
    if (submodel.type == "decode") batch = std::max(batch, submodel.batch);
  }
  const auto& limits = d.limits;
  const char* fix = "pack again with limits that are those of the submodels";
  if (tokens > 0 && limits.max_prefill_tokens > tokens)
    check.report("/limits/max_prefill_tokens",
                 {"a service would submit more tokens per call than any prefill takes",
                  fmt::format("{}, from which n_batch and n_ubatch come", limits.max_prefill_tokens),
                  fmt::format("{} tokens, the most of a prefill submodel", tokens), fix});
  if (batch > 0 && limits.max_batch > batch)
    check.report("/limits/max_batch", {"a service would run more sequences per step than any decode takes",
                                       fmt::format("{}", limits.max_batch),
                                       fmt::format("batch {}, the largest of a decode submodel", batch), fix});
  if (limits.slots < limits.max_batch)
    check.report("/limits/slots",
                 {"a step of max_batch sequences does not fit the KV slots", fmt::format("{} slots", limits.slots),
                  fmt::format("at least max_batch {}", limits.max_batch), fix});
}

}  // namespace

std::vector<Rule> contract_rules() {
  return {
      {{"CB0401", "batch-mismatch", Severity::kBlocker, RuleClass::kIncompatible,
        "the service's batch is the compiled one", "8d"},
       {kNames, "/submodels/*/batch", "/limits/max_batch"},
       &check_batch},
      {{"CB0402", "context-exceeds-capacity", Severity::kBlocker, RuleClass::kIncompatible,
        "the service's context fits package and model", "8d 2a"},
       {kNames, "/submodels/*/context", "/limits/context", "/model/trained_context"},
       &check_context},
      {{"CB0403", "vocab-mismatch", Severity::kBlocker, RuleClass::kIncompatible,
        "package, logits and service have one vocabulary", "8d"},
       {"/model/vocab", "/submodels/*/outputs/*/role,layout"},
       &check_vocab},
      {{"CB0404", "chip-mask-mismatch", Severity::kBlocker, RuleClass::kIncompatible,
        "everything lies on chips of the package's chip mask", "8d"},
       {"/device/chip_mask", "/submodels/*/chips", "/submodels/*/inputs,outputs/*/chip", "/files/*/chips",
        "/memory/regions/*/chip", "/params/*/chip"},
       &check_chip_masks},
      {{"CB0405", "dtype-mismatch", Severity::kBlocker, RuleClass::kIncompatible,
        "token, logits and KV tensors have fitting, equal dtypes", "8d 9b"},
       {"/submodels/*/inputs,outputs/*/role,dtype", "/kv/k_dtype,v_dtype"},
       &check_dtypes},
      {{"CB0412", "batch-knobs-exceed", Severity::kError, RuleClass::kIncompatible,
        "the limits a service takes its batch sizes from are within what the submodels take", "10f",
        Maturity::kPreview},
       {"/limits/max_batch,max_prefill_tokens,slots", "/submodels/*/name,type,batch,tokens"},
       &check_batch_knobs},
  };
}

}  // namespace calkit::lint
