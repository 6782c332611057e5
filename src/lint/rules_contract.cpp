/// Family 04: the package, the service manifest and the package's own numbers agree.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

constexpr const char* kNoService = "no --service given: only the package's own numbers were compared";

const calbin::IoTensor* find_tensor(const std::vector<calbin::IoTensor>& tensors, std::uint32_t index) {
  const auto at = std::find_if(tensors.begin(), tensors.end(),
                               [&](const calbin::IoTensor& tensor) { return tensor.index == std::int64_t{index}; });
  return at != tensors.end() ? &*at : nullptr;
}

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

void check_logits_shape(Check& check) {
  if (!check.usable("/model/vocab")) return;
  const std::int64_t vocab = check.d().model.vocab;
  check.each_tensor([&](const Check::TensorAt& at) {
    if (at.tensor.role != "logits" || !check.usable(fmt::format("/submodels/{}/batch", at.submodel_index))) return;
    const auto& shape = at.tensor.shape;
    const auto& logical = at.tensor.layout.logical_shape;
    const auto wrong = [&](std::string limit) {
      check.report(at.pointer + "/shape",
                   {fmt::format("{} cannot hold one row of logits per sequence", at.name()),
                    fmt::format("shape {}, logical {}", shape_text(shape), shape_text(logical)), std::move(limit),
                    "recompile for this batch and vocabulary; padding is stated in layout"});
    };
    if (shape.size() < 2 || shape.size() != logical.size())
      return wrong("[rows, vocabulary], with a logical shape of that rank");
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] < logical[axis]) return wrong("a physical shape that holds the logical one");
    if (logical.back() < vocab) return wrong(fmt::format("a last extent of model.vocab {}", vocab));
    if (logical[0] != at.submodel.batch) wrong(fmt::format("a first extent of batch {}", at.submodel.batch));
  });
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

void compare_with_frozen(Check& check, const manifest::BaselineFacts& baseline) {
  const auto& model = check.d().model;
  for (const auto& [key, value] : {std::pair{"layers", model.layers},
                                   {"hidden", model.hidden},
                                   {"q_heads", model.q_heads},
                                   {"kv_heads", model.kv_heads},
                                   {"head_dim", model.head_dim},
                                   {"ffn", model.ffn},
                                   {"vocab", model.vocab}}) {
    const auto frozen = baseline.shape.find(key);
    if (frozen != baseline.shape.end() && frozen->second != value)
      check.report(fmt::format("/model/{}", key),
                   {"the package's model has another shape than the frozen one", fmt::format("{} {}", key, value),
                    fmt::format("frozen baseline: {} {}", key, frozen->second),
                    "take the package of this model, or freeze the model it was made from"});
  }
}

void check_architecture(Check& check) {
  if (!check.usable("/model")) return;
  if (const auto& model = check.d().model; model.q_heads % model.kv_heads != 0)
    check.report("/model/kv_heads",
                 {"the query heads cannot be shared out among the KV heads", fmt::format("{}", model.kv_heads),
                  fmt::format("a divisor of q_heads {}", model.q_heads), "correct the one that is wrong"});
  if (check.facts().baseline)
    compare_with_frozen(check, *check.facts().baseline);
  else if (!check.need_service())
    return;
  if (check.service() == nullptr) return check.left_out("no --service given: compared with the baseline only");
  const std::string& family = check.d().model.family;
  if (family != check.service()->architecture)
    check.report("/model/family",
                 {"the package is of another architecture than the service expects", fmt::format("'{}'", family),
                  fmt::format("service manifest architecture '{}'", check.service()->architecture),
                  "take the package of this model, or correct the manifest"});
}

/// Rows of axis -2 are padded to the tile; the last axis may be longer than the logical one, which says so itself.
void check_layout(Check& check) {
  check.each_tensor([&](const Check::TensorAt& at) {
    const auto& physical = at.tensor.shape;
    const auto& layout = at.tensor.layout;
    const auto& logical = layout.logical_shape;
    if (physical.size() != logical.size() || physical.size() < 2) return;  // CB0406 tells of logits
    if (!checked_product(physical)) return;                                // CB0502
    const auto say = [&](std::string limit) {
      check.report(at.pointer + "/layout",
                   {fmt::format("{} is padded in a way its layout does not declare", at.name()),
                    fmt::format("shape {}, logical {}, tile {}", shape_text(physical), shape_text(logical),
                                shape_text(layout.tile)),
                    std::move(limit), "state the tile; a reader that knows it by heart breaks with the next device"});
    };
    const std::size_t rows = physical.size() - 2;
    for (std::size_t axis = 0; axis < rows; ++axis)
      if (physical[axis] > logical[axis]) return say("padding on the last two axes only");
    if (layout.tile.empty()) {
      if (physical[rows] > logical[rows]) say("a tile, where rows are padded");
      return;
    }
    const std::int64_t tile = layout.tile[0];
    if (layout.tile.size() != 1 || tile < 1) return say("a tile of one positive extent: the rows");
    const std::int64_t whole = logical[rows] / tile * tile, wanted = whole + (whole < logical[rows] ? tile : 0);
    const bool whole_tiles = physical[rows] % tile == 0;  // else CB0505 tells
    if (whole_tiles && physical[rows] != wanted) say(fmt::format("{} rows, the next multiple of the tile", wanted));
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
      {{"CB0406", "logits-shape", Severity::kBlocker, RuleClass::kIncompatible,
        "logits have a row of the vocabulary's width per sequence", "10b"},
       {"/model/vocab", "/submodels/*/batch", "/submodels/*/outputs/*/role,shape,layout"},
       &check_logits_shape},
      {{"CB0407", "csr-unbound", Severity::kError, RuleClass::kIncompatible,
        "the service's registers exist with their roles, each at its own address", "10a 7c"},
       {kNames, "/submodels/*/csr/*/name,role,base,count"},
       &check_csr_binding},
      {{"CB0408", "binding-unresolved", Severity::kError, RuleClass::kIncompatible,
        "the service's tensor bindings name tensors of that role", "10a"},
       {kNames, "/submodels/*/inputs,outputs/*/index,role"},
       &check_tensor_binding},
      {{"CB0410", "layout-undeclared", Severity::kError, RuleClass::kInvalid,
        "padding of a tensor is declared: by the tile of its rows, or as the end of its last axis", "10c"},
       {"/submodels/*/inputs,outputs/*/name,shape,layout"},
       &check_layout},
      {{"CB0411", "architecture-mismatch", Severity::kError, RuleClass::kIncompatible,
        "package, service and frozen model have one architecture", "10a", Maturity::kPreview},
       {"/model/family,layers,hidden,q_heads,kv_heads,head_dim,ffn,vocab"},
       &check_architecture},
      {{"CB0412", "batch-knobs-exceed", Severity::kError, RuleClass::kIncompatible,
        "the limits a service takes its batch sizes from are within what the submodels take", "10f",
        Maturity::kPreview},
       {"/limits/max_batch,max_prefill_tokens,slots", "/submodels/*/name,type,batch,tokens"},
       &check_batch_knobs},
  };
}

}  // namespace calkit::lint
