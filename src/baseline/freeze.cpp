#include "calkit/baseline/freeze.h"

#include <fmt/format.h>

#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "calkit/frozen/writer.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/model/graph.h"
#include "check.h"
#include "run_prompts.h"

namespace calkit::baseline {
namespace {

frozen::Reference empty_reference(const FreezeOptions& options, std::vector<std::vector<std::int32_t>> ids) {
  frozen::Reference reference;
  reference.dtype = options.dtype;
  for (std::size_t i = 0; i < options.prompts.size(); ++i) {
    frozen::ReferenceItem item;
    item.prompt = options.prompts[i];
    item.ids = std::move(ids[i]);
    reference.items.push_back(std::move(item));
  }
  return reference;
}

// The model answers every prompt; its weights are gone again when this returns.
Result<NamedTensors> answer(const FreezeOptions& options, const hf::ModelSpec& spec, const hf::Checkpoint& weights,
                            frozen::Reference& reference) {
  const DType dtype = options.dtype == "bf16" ? DType::kBF16 : DType::kF32;
  CALKIT_TRY(auto graphs, model::build_graphs(spec, weights, dtype), "building the graphs");
  exec::SessionOptions session;
  session.threads = options.threads;
  session.constant_packed = [&](const onnx::Initializer& initializer) { weights.release(initializer.name); };
  CALKIT_TRY(auto model, exec::LanguageModel::create(std::move(graphs.prefill), std::move(graphs.decode), session),
             "preparing the model");
  CALKIT_CHECK_OK(run_prompts(model, options.greedy_steps, reference, options.progress), "running the prompts");
  return run_probes(model, spec, reference);
}

Status check_options(const FreezeOptions& options) {
  if (options.dtype != "fp32" && options.dtype != "bf16")
    return Error{ErrorKind::kUsage, fmt::format("dtype '{}'; allowed: fp32, bf16", options.dtype)};
  if (options.greedy_steps < 1)
    return Error{ErrorKind::kUsage, fmt::format("{} greedy steps; allowed: 1 or more", options.greedy_steps)};
  if (options.threads < 1)
    return Error{ErrorKind::kUsage, fmt::format("{} threads; allowed: 1 or more", options.threads)};
  return check_target(options.out);
}

FreezeReport report_of(const FreezeOptions& options, const frozen::Reference& reference,
                       const frozen::ModelSource& source, const hf::Checkpoint& weights) {
  FreezeReport report;
  report.prompts = options.prompts.size();
  for (const auto& item : reference.items) {
    report.tokens += item.ids.size();
    report.greedy_steps += item.greedy.size();
  }
  report.tensors = weights.tensors().size();
  report.weight_bytes = weights.weight_bytes();
  report.model_sha256 = source.model_sha256;
  report.notes = frozen::source_notes(source);
  if (const Value* files = source.manifest.find("inputs"); files != nullptr && files->is_array())
    for (const Value& file : *files->if_array())
      if (const Value* bytes = file.find("bytes")) report.model_bytes += bytes->if_uint().value_or(0);
  return report;
}

}  // namespace

Result<FreezeReport> freeze_model(const FreezeOptions& options) {
  CALKIT_CHECK_OK(check_options(options));
  CALKIT_CHECK_OK(check_prompts(options.prompts));
  const std::string model = options.model_dir.string();
  CALKIT_TRY(const auto spec, hf::read_spec(options.model_dir), "reading " + model);
  CALKIT_TRY(const auto weights, hf::Checkpoint::open(options.model_dir), "reading " + model);
  CALKIT_CHECK_OK(weights.check_against(spec), "checking the weights of " + model);
  frozen::Reference reference;
  {
    CALKIT_TRY(const auto tokenizer, hf::Tokenizer::load(options.model_dir / "tokenizer.json"));
    CALKIT_TRY(auto ids, encode_prompts(tokenizer, spec, (options.model_dir / "config.json").string(), options.prompts,
                                        options.greedy_steps));
    reference = empty_reference(options, std::move(ids));
  }
  CALKIT_TRY(StagedDir stage, StagedDir::create(options.out), "creating the baseline's folder");
  CALKIT_TRY(const auto source, frozen::describe_model_source(options.model_dir, {options.targets, options.dtype}),
             "describing " + model);
  CALKIT_CHECK_OK(weights.check_finite(), "checking the weights of " + model);
  CALKIT_TRY(const auto probes, answer(options, spec, weights, reference));
  if (interrupted()) return interrupted_error();
  CALKIT_CHECK_OK(frozen::write_model_source(stage.path(), options.model_dir, source), "writing model-source");
  CALKIT_CHECK_OK(frozen::write_reference(stage.path(), reference, probes), "writing the reference");
  CALKIT_CHECK_OK(frozen::seal(stage.path()), "sealing the baseline");
  CALKIT_CHECK_OK(stage.commit(), "committing the baseline");
  return report_of(options, reference, source, weights);
}

}  // namespace calkit::baseline
