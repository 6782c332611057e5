#include "inputs.h"

#include <fmt/format.h>

#include <utility>

#include "calkit/base/document.h"
#include "calkit/hf/spec.h"
#include "calkit/model/graph.h"
#include "calkit/onnx/io.h"

namespace calkit::compile {
namespace {

using model::Contract;

Status check_same_model(const Contract& contract, const frozen::ModelSource& source) {
  const char* hint = "freeze a baseline of the model that was exported, or export the model that was frozen";
  if (contract.spec.vocab != source.spec.vocab)
    return input_error(contract.path, "/config/vocab_size", fmt::format("{}", contract.spec.vocab),
                       fmt::format("{}, as the baseline has it", source.spec.vocab), hint);
  if (!(hf::to_value(contract.spec) == hf::to_value(source.spec)))
    return input_error(contract.path, "/config", "an architecture that differs from the frozen one",
                       "the baseline's own config.json", hint);
  if (contract.spec.experts)
    return input_error(contract.path, "/config", fmt::format("{} experts", contract.spec.experts->count),
                       "a model without experts", "packages of mixtures of experts cannot be made yet");
  if (contract.fixed_axes)
    return input_error(contract.path, "/axes", "axes that are numbers", "dynamic axes; a package states its own limits",
                       "export again without --batch, --seq and --past");
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
  CALKIT_TRY(const Contract contract, model::read_contract(onnx_dir));
  CALKIT_CHECK_OK(frozen::require_verified(baseline), "reading --baseline");
  CALKIT_TRY(out.source, frozen::read_model_source(baseline), "reading --baseline");
  CALKIT_CHECK_OK(check_same_model(contract, out.source));
  CALKIT_CHECK_OK(check_targets(contract, out.source));
  CALKIT_TRY(out.reference, frozen::read_reference(baseline), "reading --baseline");
  CALKIT_CHECK_OK(check_reference(out.reference, contract.spec.vocab));
  CALKIT_CHECK_OK(model::check_contract_files(onnx_dir, contract));
  CALKIT_TRY(out.prefill, load_graph(onnx_dir / contract.prefill_file));
  CALKIT_TRY(out.decode, load_graph(onnx_dir / contract.decode_file));
  CALKIT_TRY(const Root root, Root::open(onnx_dir));
  CALKIT_TRY(out.weights, root.map(contract.weights_file));
  out.weights_file = contract.weights_file;
  out.spec = contract.spec;
  out.dtype = contract.dtype;
  out.prefill_sha256 = contract.prefill_sha256;
  out.decode_sha256 = contract.decode_sha256;
  return out;
}

}  // namespace calkit::compile
