/// The table of rules. Ids are never reused; a page in docs/rules explains each; tests hold both sides of each
/// boundary.
#include <fmt/format.h>

#include "calkit/base/hash.h"
#include "checks.h"
#include "pages.h"

namespace calkit::lint {

namespace {

constexpr auto kWarning = Severity::kWarning;
constexpr auto kError = Severity::kError;
constexpr auto kBlocker = Severity::kBlocker;
constexpr auto kMalformed = RuleClass::kMalformed;
constexpr auto kInvalid = RuleClass::kInvalid;
constexpr auto kIncompatible = RuleClass::kIncompatible;
constexpr auto kPolicy = RuleClass::kPolicy;

// The facts that several rules need.
constexpr std::string_view kFilePlace = "/files/*/path";
constexpr std::string_view kRegionPlace = "/memory/regions/*/id,chip,space,kind,base,size";
constexpr std::string_view kParamPlace = "/params/*/region,chip,base,length";
constexpr std::string_view kTensorPlace = "/submodels/*/inputs,outputs/*/name,region,chip,base,size,pingpong";
constexpr std::string_view kNames = "/submodels/*/name";
constexpr std::string_view kOpLists = "/submodels/*/oplist,batch,tokens";
constexpr std::string_view kCsrPlace = "/submodels/*/csr/*/base,width_bits,count";

std::vector<Rule> make_table() {
  return {
      // 01 files and hashes
      {{"CB0101", "file-missing", kBlocker, kMalformed, "every listed file is there", "8a"},
       {kFilePlace, "/files/*/optional"},
       &check_file_missing},
      {{"CB0102", "size-mismatch", kBlocker, kInvalid, "every listed file has its listed size", "8a"},
       {kFilePlace, "/files/*/size"},
       &check_file_size},
      {{"CB0103", "hash-mismatch", kBlocker, kInvalid, "every listed file has its listed SHA-256", "8a"},
       {kFilePlace, "/files/*/size,digest"},
       &check_file_hash},
      {{"CB0104", "unlisted-file", kWarning, kPolicy, "every file of the package is listed", "8a"},
       {kFilePlace},
       &check_unlisted_file},
      {{"CB0105", "path-escape", kBlocker, kMalformed, "listed paths stay inside the package", "8a"},
       {kFilePlace},
       &check_path_escape},
      {{"CB0106", "path-collision", kError, kInvalid, "listed paths name different files on every file system", "8a"},
       {kFilePlace},
       &check_path_collision},
      {{"CB0108", "empty-file", kError, kInvalid, "no listed file is empty, logs excepted", "8a"},
       {"/files/*/role,size"},
       &check_empty_file},
      {{"CB0109", "digest-format", kError, kMalformed, "digests are sha256: and 64 hex digits", "8a"},
       {},
       &check_digest_format},
      // 02 description, numbers, versions
      {{"CB0201", "metadata-unreadable", kBlocker, kMalformed, "calbin.json and every op list can be read", "§6.9"},
       {},
       &check_metadata_readable},
      {{"CB0202", "duplicate-key", kBlocker, kMalformed, "no key and no id is given twice", "§6.9"},
       {},
       &check_duplicate_key},
      {{"CB0203", "unknown-key", kError, kMalformed, "every key is a field of the schema or begins with x-", "§6.9"},
       {},
       &check_unknown_key},
      {{"CB0204", "required-field-missing", kError, kMalformed, "required fields, and what fields name, are there",
        "§6.9"},
       {},
       &check_required_field},
      {{"CB0205", "wrong-type", kError, kMalformed, "every field has its type and one of its words", "§6.9"},
       {},
       &check_field_type},
      {{"CB0206", "schema-unsupported", kError, kIncompatible, "the schema number is one this version reads", "10a"},
       {},
       &check_schema},
      {{"CB0207", "number-out-of-range", kError, kMalformed, "every number is within its field's range", "§6.9"},
       {},
       &check_number_range},
      {{"CB0208", "version-ambiguous", kError, kInvalid, "the package's version is exact and the one the service names",
        "§7b"},
       {"/package/version"},
       &check_version},
      {{"CB0209", "runtime-incompatible", kBlocker, kIncompatible, "package, service and runtime have one ABI version",
        "§6.7"},
       {"/package/compat/runtime_abi"},
       &check_runtime},
      {{"CB0211", "limits-exceeded", kError, kMalformed, "calbin.json keeps the reader's limits of size and depth",
        "9c"},
       {},
       &check_limits},
      // 03 submodel type and name
      {{"CB0301", "submodel-type-unknown", kBlocker, kInvalid, "every submodel's type is prefill, decode or kv_update",
        "8b"},
       {"/submodels/*/type"},
       &check_submodel_type},
      {{"CB0302", "prefill-typed-decode", kBlocker, kInvalid, "a submodel's type is what it is used and shaped as",
        "8h 8i"},
       {"/submodels/*/name,type,tokens", "/submodels/*/inputs/*/role,layout"},
       &check_type_against_use},
      {{"CB0304", "model-name-not-exact", kBlocker, kIncompatible,
        "the service's model names are in the package, to the last character", "8c 9a"},
       {"/submodels/*/name,type"},
       &check_model_name},
      {{"CB0306", "submodel-missing", kBlocker, kIncompatible,
        "the package has each type of submodel the service binds", "7c"},
       {"/submodels/*/name,type"},
       &check_submodel_present},
      {{"CB0307", "submodel-duplicate", kError, kInvalid, "submodels can be told apart by name and by shape", "8b"},
       {"/submodels/*/name,type,batch,context,tokens,chips"},
       &check_submodel_twins},
      // 04 contract
      {{"CB0401", "batch-mismatch", kBlocker, kIncompatible, "the service's batch is the compiled one", "8d"},
       {kNames, "/submodels/*/batch", "/limits/max_batch"},
       &check_batch},
      {{"CB0402", "context-exceeds-capacity", kBlocker, kIncompatible, "the service's context fits package and model",
        "8d 2a"},
       {kNames, "/submodels/*/context", "/limits/context", "/model/trained_context"},
       &check_context},
      {{"CB0403", "vocab-mismatch", kBlocker, kIncompatible, "package, logits and service have one vocabulary", "8d"},
       {"/model/vocab", "/submodels/*/outputs/*/role,layout"},
       &check_vocab},
      {{"CB0404", "chip-mask-mismatch", kBlocker, kIncompatible, "everything lies on chips of the package's chip mask",
        "8d"},
       {"/device/chips,chip_mask", "/submodels/*/chips", "/submodels/*/inputs,outputs/*/chip", "/files/*/chips",
        "/memory/regions/*/chip", "/params/*/chip"},
       &check_chip_masks},
      {{"CB0405", "dtype-mismatch", kBlocker, kIncompatible, "token, logits and KV tensors have fitting, equal dtypes",
        "8d 9b"},
       {"/submodels/*/inputs,outputs/*/role,dtype", "/kv/k_dtype,v_dtype"},
       &check_dtypes},
      {{"CB0406", "logits-shape", kBlocker, kIncompatible, "logits have a row of the vocabulary's width per sequence",
        "10b"},
       {"/model/vocab", "/submodels/*/batch", "/submodels/*/outputs/*/role,shape,layout"},
       &check_logits_shape},
      {{"CB0407", "csr-unbound", kError, kIncompatible,
        "the service's registers exist with their roles, each at its own address", "10a 7c"},
       {kNames, "/submodels/*/csr/*/name,role,base,count"},
       &check_csr_binding},
      {{"CB0408", "binding-unresolved", kError, kIncompatible,
        "the service's tensor bindings name tensors of that role", "10a"},
       {kNames, "/submodels/*/inputs,outputs/*/index,role"},
       &check_tensor_binding},
      {{"CB0411", "architecture-mismatch", kError, kIncompatible, "package and service name one architecture", "10a"},
       {"/model/family"},
       &check_architecture},
      // 05 memory and addresses
      {{"CB0501", "tensor-outside-region", kBlocker, kInvalid,
        "every I/O tensor, register and workspace lies inside its reservation", "8e"},
       {kTensorPlace, kRegionPlace, kCsrPlace, "/submodels/*/workspace,chips"},
       &check_inside_region},
      {{"CB0502", "address-overflow", kBlocker, kInvalid, "no range and no shape wraps around 64 bits", "8e"},
       {kTensorPlace, "/submodels/*/inputs,outputs/*/shape,dtype", "/memory/regions/*/id,base,size", kParamPlace,
        "/params/*/shape,dtype", kCsrPlace},
       &check_address_overflow},
      {{"CB0503", "address-misaligned", kError, kInvalid, "regions keep their alignment and tensors their element size",
        "8e"},
       {"/memory/regions/*/base,align", "/submodels/*/inputs,outputs/*/base,dtype", "/params/*/base,dtype"},
       &check_alignment},
      {{"CB0504", "region-overlap", kBlocker, kInvalid, "regions of one chip share no bytes, unless nested or declared",
        "7b"},
       {kRegionPlace, "/memory/regions/*/parent,shared_with"},
       &check_region_overlap},
      {{"CB0505", "size-vs-shape", kError, kInvalid, "a tensor's bytes are what its shape and dtype need", "7c 9b"},
       {"/submodels/*/inputs,outputs/*/shape,dtype,size,layout", "/params/*/shape,dtype,length"},
       &check_size_of_shape},
      {{"CB0506", "capacity-exceeded", kBlocker, kIncompatible,
        "params + KV + workspace + I/O and commands + guard fit each chip", "7i"},
       {kRegionPlace, "/device/chip/*/id,dram_usable"},
       &check_capacity},
      {{"CB0507", "kv-bytes-wrong", kError, kInvalid, "the KV cache has the bytes the model's shape asks for", "7j"},
       {"/kv/k_dtype,v_dtype,scale_dtype,bytes_total,bytes_per_chip,region", "/model/layers,kv_heads,head_dim",
        "/limits/context,slots", "/device/chips", "/memory/regions/*/id,size"},
       &check_kv_bytes},
      {{"CB0509", "op-io-unmapped", kError, kInvalid,
        "every operand of an op list lies inside its reservation and fits it", "7d"},
       {kOpLists, kRegionPlace},
       &check_op_operands},
      {{"CB0510", "submodel-outside-global", kError, kInvalid, "every region lies inside its parent", "7b"},
       {kRegionPlace, "/memory/regions/*/parent"},
       &check_region_parent},
      // 06 parameters
      {{"CB0601", "param-past-file", kBlocker, kInvalid, "every parameter lies inside its file", "8e"},
       {"/params/*/file,offset,length", "/files/*/id,size"},
       &check_param_in_file},
      {{"CB0602", "param-overlap", kError, kInvalid, "no two parameters share bytes, unless tied", "8e"},
       {"/params/*/file,offset,tied_to", kParamPlace},
       &check_param_overlap},
      {{"CB0605", "param-region-fit", kBlocker, kInvalid, "parameter blocks fit a parameter reservation of their chip",
        "7a 7i"},
       {kParamPlace, kRegionPlace},
       &check_param_region},
      // 07 aliasing
      {{"CB0701", "ping-pong-alias", kBlocker, kInvalid, "ping and pong share no bytes while two jobs are in flight",
        "8f"},
       {kTensorPlace},
       &check_ping_pong},
      {{"CB0702", "io-alias-undeclared", kError, kInvalid, "I/O buffers of a submodel share bytes only where declared",
        "8f"},
       {kTensorPlace, "/submodels/*/inputs,outputs/*/alias_of"},
       &check_undeclared_alias},
      {{"CB0703", "alias-partial", kBlocker, kInvalid, "a declared alias has exactly the range it names", "8f"},
       {kTensorPlace, "/submodels/*/inputs,outputs/*/alias_of"},
       &check_declared_alias},
      {{"CB0704", "alias-hazard", kError, kInvalid, "no op writes over bytes that are still in use", "8f 7d"},
       {"/submodels/*/oplist", "/submodels/*/inputs,outputs/*/name,chip,base,size"},
       &check_lifetimes},
      {{"CB0705", "writable-param-alias", kBlocker, kInvalid, "nothing that is written touches parameters or commands",
        "8f"},
       {kTensorPlace, kRegionPlace, "/submodels/*/oplist"},
       &check_param_written},
      // 08 units
      {{"CB0801", "unit-missing", kBlocker, kInvalid, "the producer's memory text has a unit", "8g"},
       {"/memory/declared_text"},
       &check_unit_present},
      {{"CB0802", "unit-unknown", kError, kMalformed, "the producer's memory text is a number and a known unit", "8g"},
       {"/memory/declared_text"},
       &check_unit_known},
      {{"CB0803", "unit-implausible", kBlocker, kInvalid, "the required memory is not more than the device has",
        "8g 8i"},
       {"/memory/declared_text,device_required"},
       &check_unit_plausible},
      {{"CB0805", "total-inconsistent", kError, kInvalid,
        "the required memory is the producer's text and the sum of the regions", "8g 7i"},
       {"/memory/declared_text,device_required", kRegionPlace},
       &check_totals},
  };
}

}  // namespace

const std::vector<Rule>& rule_table() {
  static const std::vector<Rule> table = make_table();
  return table;
}

std::vector<RuleInfo> rules() {
  std::vector<RuleInfo> out;
  for (const auto& rule : rule_table()) out.push_back(rule.info);
  return out;
}

std::string_view rule_page(std::string_view id) {
  for (const auto& page : pages())
    if (page.id == id) return page.text;
  return {};
}

std::string ruleset_digest() {
  Sha256 hash;
  for (const auto& rule : rule_table())
    hash.update(fmt::format("{}\t{}\t{}\t{}\t{}\n", rule.info.id, rule.info.name, severity_name(rule.info.severity),
                            class_name(rule.info.rule_class), rule.info.summary));
  return "sha256:" + hash.hex();
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
    case Severity::kBlocker:
      break;
  }
  return "blocker";
}

std::string_view class_name(RuleClass rule_class) {
  switch (rule_class) {
    case RuleClass::kMalformed:
      return "malformed";
    case RuleClass::kInvalid:
      return "invalid";
    case RuleClass::kIncompatible:
      return "incompatible";
    case RuleClass::kPolicy:
      break;
  }
  return "policy";
}

}  // namespace calkit::lint
