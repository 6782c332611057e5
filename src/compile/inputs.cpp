#include "inputs.h"

#include <fmt/format.h>

#include <utility>

#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "calkit/hf/spec.h"
#include "calkit/onnx/io.h"

namespace calkit::compile {
namespace {

constexpr const char* kContract = "contract.json";

struct NamedFile {
  std::string file, sha256;
};

/// The fields of contract.json (schema calkit.onnx-contract/1) that pack depends on.
struct Contract {
  std::string path;
  hf::ModelSpec spec;
  DType dtype = DType::kF32;
  NamedFile prefill, decode, weights;
  std::string config_sha256;
};

Result<std::string> bare_digest(const Cursor& at) {
  CALKIT_TRY(std::string text, at.string("sha256"));
  if (text.starts_with("sha256:")) text = text.substr(7);
  return text;
}

Result<NamedFile> named_file(const Cursor& root, std::string_view key) {
  CALKIT_TRY(const Cursor at, root.at(key));
  NamedFile out;
  CALKIT_TRY(out.file, at.string("file"));
  CALKIT_TRY(out.sha256, bare_digest(at));
  return out;
}

Result<Contract> read_contract(const std::filesystem::path& dir) {
  CALKIT_TRY(const Value document, read_json(dir / kContract), "reading the contract of the exported graphs");
  const Cursor root(document, (dir / kContract).string());
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({"calkit.onnx-contract/1"}));
  Contract out;
  out.path = root.file();
  CALKIT_TRY(const Cursor dtype, root.at("dtype"));
  CALKIT_TRY(const std::string dtype_word, dtype.as_word({"f32", "bf16"}));
  out.dtype = *dtype_from_name(dtype_word);
  CALKIT_TRY(const Cursor config, root.at("config"));
  CALKIT_TRY(out.spec, hf::parse_spec(config));
  CALKIT_TRY(out.prefill, named_file(root, "prefill"));
  CALKIT_TRY(out.decode, named_file(root, "decode"));
  CALKIT_TRY(out.weights, named_file(root, "weights"));
  CALKIT_TRY(const Cursor inputs, root.at("inputs"));
  CALKIT_TRY(const auto items, inputs.items());
  for (const Cursor& item : items) {
    CALKIT_TRY(const std::string file, item.string("file"));
    if (file != "config.json") continue;
    CALKIT_TRY(out.config_sha256, bare_digest(item));
  }
  if (out.config_sha256.empty()) return inputs.error("no config.json", "an entry for config.json");
  return out;
}

Status check_hash(const Root& root, const NamedFile& named) {
  CALKIT_TRY(const FileDigest found, hash_file(root, named.file));
  if (found.sha256 != named.sha256)
    return input_error((root.path() / named.file).string(), "sha256", found.sha256,
                       named.sha256 + ", as contract.json says",
                       "the file is not the one that was exported; export the model again");
  return {};
}

Status check_same_model(const Contract& contract, const frozen::ModelSource& source) {
  const char* hint = "freeze a baseline of the model that was exported, or export the model that was frozen";
  if (contract.spec.vocab != source.spec.vocab)
    return input_error(contract.path, "/config/vocab_size", fmt::format("{}", contract.spec.vocab),
                       fmt::format("{}, as the baseline has it", source.spec.vocab), hint);
  if (!(hf::to_value(contract.spec) == hf::to_value(source.spec)))
    return input_error(contract.path, "/config", "an architecture that differs from the frozen one",
                       "the baseline's own config.json", hint);
  if (contract.config_sha256 != source.config_sha256)
    return input_error(contract.path, "config.json sha256", contract.config_sha256,
                       source.config_sha256 + ", as the baseline has it", hint);
  return {};
}

Status check_targets(const Contract& contract, const frozen::ModelSource& source) {
  const manifest::ProductTargets& targets = source.targets;
  if (targets.context < 1 || targets.context > contract.spec.max_positions)
    return input_error("baseline targets", "context", fmt::format("{}", targets.context),
                       fmt::format("1..{}, what the model was trained for", contract.spec.max_positions),
                       "freeze the baseline with a smaller --context");
  if (targets.batch < 1 || targets.batch > 4096)
    return input_error("baseline targets", "batch", fmt::format("{}", targets.batch), "1..4096");
  if (targets.kv_dtype != dtype_name(contract.dtype))
    return input_error("baseline targets", "kv_dtype", targets.kv_dtype,
                       fmt::format("{}, the element type of the exported graphs", dtype_name(contract.dtype)),
                       fmt::format("export with --dtype {}, or freeze with --kv-dtype {}",
                                   targets.kv_dtype == "f32" ? "fp32" : targets.kv_dtype, dtype_name(contract.dtype)));
  return {};
}

Status check_reference(const frozen::Reference& reference, std::int64_t vocab) {
  for (const frozen::ReferenceItem& item : reference.items) {
    if (!item.logits.empty() && static_cast<std::int64_t>(item.logits.size()) != vocab)
      return input_error("baseline reference", "logits of '" + item.prompt.id + "'",
                         fmt::format("{}", item.logits.size()), fmt::format("{}, the model's vocabulary", vocab));
  }
  return {};
}

Result<onnx::Model> load_graph(const std::filesystem::path& path) {
  CALKIT_TRY(const onnx::Model loaded, onnx::load(path));
  return onnx::infer_shapes(loaded);
}

}  // namespace

Result<Inputs> read_inputs(const std::filesystem::path& onnx_dir, const std::filesystem::path& baseline) {
  Inputs out;
  CALKIT_TRY(const Contract contract, read_contract(onnx_dir));
  CALKIT_CHECK_OK(frozen::require_verified(baseline), "reading --baseline");
  CALKIT_TRY(out.source, frozen::read_model_source(baseline), "reading --baseline");
  CALKIT_CHECK_OK(check_same_model(contract, out.source));
  CALKIT_CHECK_OK(check_targets(contract, out.source));
  CALKIT_TRY(out.reference, frozen::read_reference(baseline), "reading --baseline");
  CALKIT_CHECK_OK(check_reference(out.reference, contract.spec.vocab));
  CALKIT_TRY(const Root root, Root::open(onnx_dir));
  for (const NamedFile* named : {&contract.prefill, &contract.decode, &contract.weights})
    CALKIT_CHECK_OK(check_hash(root, *named));
  CALKIT_TRY(out.prefill, load_graph(onnx_dir / contract.prefill.file));
  CALKIT_TRY(out.decode, load_graph(onnx_dir / contract.decode.file));
  CALKIT_TRY(out.weights, root.map(contract.weights.file));
  out.weights_file = contract.weights.file;
  out.spec = contract.spec;
  out.dtype = contract.dtype;
  out.prefill_sha256 = contract.prefill.sha256;
  out.decode_sha256 = contract.decode.sha256;
  return out;
}

}  // namespace calkit::compile
