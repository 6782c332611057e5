#include "calkit/baseline/freeze.h"

#include <fmt/format.h>

#include "answer.h"
#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "calkit/frozen/writer.h"
#include "calkit/hf/checkpoint.h"
#include "chat_prompts.h"
#include "check.h"
#include "resolve_prompts.h"
#include "shard.h"

namespace calkit::baseline {
namespace {

Status check_options(const FreezeOptions& options) {
  if (options.dtype != "fp32" && options.dtype != "bf16")
    return Error{ErrorKind::kUsage, fmt::format("dtype '{}'; allowed: fp32, bf16", options.dtype)};
  if (options.greedy_steps < 1)
    return Error{ErrorKind::kUsage, fmt::format("{} greedy steps; allowed: 1 or more", options.greedy_steps)};
  if (options.threads < 1)
    return Error{ErrorKind::kUsage, fmt::format("{} threads; allowed: 1 or more", options.threads)};
  return check_target(options.out);
}

// Such a checkpoint can be described, but no graph with a cache can be made of it.
Status check_layers(const FreezeOptions& options, const hf::ModelSpec& spec) {
  if (spec.layers > 0) return {};
  return input_error((options.model_dir / "config.json").string(), "/num_hidden_layers", "0",
                     "1 or more: a model without a layer has no cache to decode with",
                     "freeze a checkpoint that has layers");
}

// The prompts with their ids; the tokenizer is gone again when this returns.
Result<frozen::Reference> prepare_prompts(const FreezeOptions& options, const hf::ModelSpec& spec) {
  CALKIT_TRY(const auto tokenizer, hf::Tokenizer::load(options.model_dir / "tokenizer.json"));
  CALKIT_CHECK_OK(check_tokenizer(tokenizer, spec, (options.model_dir / "config.json").string()));
  const PromptLimits limits{spec.max_positions, options.greedy_steps, options.max_tokens};
  CALKIT_TRY(auto reference, resolve_prompts(tokenizer, limits, options.prompts, options.dtype));
  if (options.shard && options.shard->count > reference.items.size())
    return Error{ErrorKind::kInput,
                 fmt::format("--shard: found {} shards; allowed: at most {}, one for each prompt", options.shard->count,
                             reference.items.size()),
                 "use fewer shards"};
  return reference;
}

// Leaves the items of this shard, and says so in shard.json.
Status keep_shard(const FreezeOptions& options, const std::string& freeze, bool probes,
                  const std::filesystem::path& stage, frozen::Reference& reference) {
  if (!options.shard) return {};
  const ShardRecord record{*options.shard, freeze, reference.items.size(), probes};
  std::vector<frozen::ReferenceItem> mine;
  for (std::size_t i = 0; i < reference.items.size(); ++i)
    if (in_shard(options, i)) mine.push_back(std::move(reference.items[i]));
  reference.items = std::move(mine);
  return write_file(stage / kShardFile, to_json(to_value(record)) + "\n");
}

}  // namespace

FreezeReport report_of(const frozen::Reference& reference, const frozen::ModelSource& source) {
  FreezeReport report;
  report.prompts = reference.items.size();
  for (const auto& item : reference.items) {
    report.tokens += item.ids.size();
    report.greedy_steps += item.greedy.size();
  }
  report.refused = reference.refused;
  report.left_out = reference.left_out;
  report.model_sha256 = source.model_sha256;
  report.notes = frozen::source_notes(source);
  const auto count = [&](const char* key) {
    const Value* weights = source.manifest.find("weights");
    const Value* value = weights == nullptr ? nullptr : weights->find(key);
    return value == nullptr ? std::uint64_t{0} : value->if_uint().value_or(0);
  };
  report.tensors = count("tensors");
  report.weight_bytes = count("bytes");
  if (const Value* files = source.manifest.find("inputs"); files != nullptr && files->is_array())
    for (const Value& file : *files->if_array())
      if (const Value* bytes = file.find("bytes")) report.model_bytes += bytes->if_uint().value_or(0);
  return report;
}

Result<FreezeReport> freeze_model(const FreezeOptions& given) {
  FreezeOptions options = given;
  CALKIT_CHECK_OK(check_options(options));
  CALKIT_CHECK_OK(check_prompts(options.prompts));
  CALKIT_TRY(const Value chat, render_chat_prompts(options), "rendering the chat prompts");
  const std::string model = options.model_dir.string();
  CALKIT_TRY(const auto spec, hf::read_spec(options.model_dir), "reading " + model);
  CALKIT_TRY(const auto weights, hf::Checkpoint::open(options.model_dir), "reading " + model);
  CALKIT_CHECK_OK(weights.check_against(spec), "checking the weights of " + model);
  CALKIT_CHECK_OK(check_layers(options, spec));
  CALKIT_TRY(auto reference, prepare_prompts(options, spec));
  CALKIT_TRY(StagedDir stage, StagedDir::create(options.out), "creating the baseline's folder");
  CALKIT_TRY(auto source, frozen::describe_model_source(options.model_dir, {options.targets, options.dtype}),
             "describing " + model);
  if (!chat.is_null()) source.manifest.find("reference")->set("chat", chat);
  CALKIT_CHECK_OK(weights.check_finite(), "checking the weights of " + model);
  const FreezeKeys keys = freeze_keys(options, source, reference);
  const WorkFolder work(options.out, keys.answers);
  CALKIT_TRY(const Answers answers, answer_prompts(options, spec, weights, work, reference));
  if (interrupted()) return interrupted_error();
  CALKIT_CHECK_OK(keep_shard(options, keys.freeze, !answers.noise.is_null(), stage.path(), reference));
  CALKIT_CHECK_OK(frozen::write_model_source(stage.path(), options.model_dir, source), "writing model-source");
  CALKIT_CHECK_OK(frozen::write_reference(stage.path(), reference, answers.probes, answers.noise),
                  "writing the reference");
  CALKIT_CHECK_OK(frozen::seal(stage.path()), "sealing the baseline");
  CALKIT_CHECK_OK(stage.commit(), "committing the baseline");
  work.remove();
  FreezeReport report = report_of(reference, source);
  report.resumed = answers.resumed;
  return report;
}

}  // namespace calkit::baseline
