#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "calkit/base/hash.h"
#include "calkit/base/text.h"
#include "calkit/frozen/writer.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct FreezeOptions {
  std::string model, out, dtype = "fp32", shard, date;
  std::vector<std::string> prompts = {"suite"};
  int steps = 16, threads = 1, noise = 4;
  std::int64_t max_tokens = 0;  // 0: not given
  TargetOptions targets;
};

Result<std::vector<frozen::Prompt>> read_all(const std::vector<std::string>& sources, manifest::Evidence& evidence) {
  std::vector<frozen::Prompt> all;
  for (const std::string& source : sources) {
    const bool suite = source == "suite";
    CALKIT_TRY(auto some, suite ? frozen::bundled_prompts() : frozen::read_prompts(source),
               "reading --prompts " + source);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    if (suite) continue;
    CALKIT_TRY(auto file, manifest::evidence_file("prompts", source));
    evidence.inputs.push_back(std::move(file));
  }
  return all;
}

Result<baseline::FreezeOptions> options_of(const FreezeOptions& opt, manifest::Evidence& evidence) {
  baseline::FreezeOptions out;
  out.model_dir = opt.model;
  out.out = opt.out;
  out.dtype = opt.dtype;
  out.greedy_steps = opt.steps;
  out.threads = opt.threads;
  out.noise_prompts = opt.noise;
  if (opt.max_tokens > 0) out.max_tokens = opt.max_tokens;
  if (!opt.shard.empty()) {
    CALKIT_TRY(out.shard, baseline::parse_shard(opt.shard));
  }
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  CALKIT_TRY(out.clock, baseline::parse_chat_clock(opt.date, epoch == nullptr ? "" : epoch));
  CALKIT_TRY(out.targets, resolve_targets(opt.targets));
  CALKIT_TRY(out.prompts, read_all(opt.prompts, evidence));
  return out;
}

Result<ExitCode> run_freeze(const FreezeOptions& opt, const Common& common, Streams io) {
  // A shard is no baseline: no gate may count its record as one.
  auto evidence = manifest::start_evidence(opt.shard.empty() ? "freeze-baseline" : "baseline-shard", common.argv);
  CALKIT_TRY(const auto options, options_of(opt, evidence));
  CALKIT_TRY(const auto report, baseline::freeze_model(options), "freezing " + opt.model);
  evidence.inputs.push_back({"model", opt.model, report.model_sha256, report.model_bytes});
  CALKIT_TRY(auto config, manifest::evidence_file("model-config", std::filesystem::path(opt.model) / "config.json"));
  evidence.inputs.push_back(std::move(config));  // what ties a triage record to this baseline
  CALKIT_TRY(std::string text, describe_frozen(report, opt.model, opt.dtype, opt.out, evidence));
  if (!opt.shard.empty()) text += "shard:    " + opt.shard + "\n";
  evidence.targets = manifest::to_value(options.targets);
  return finish(common, io, std::move(evidence), text);
}

Value unanswered(const std::vector<frozen::Unanswered>& prompts) {
  Value out(Value::Array{});
  for (const frozen::Unanswered& prompt : prompts) out.push(frozen::to_value(prompt));
  return out;
}

}  // namespace

Result<std::string> describe_frozen(const baseline::FreezeReport& report, const std::string& model,
                                    const std::string& dtype, const std::string& out, manifest::Evidence& evidence) {
  CALKIT_TRY(auto written, manifest::evidence_file("baseline", out));
  CALKIT_TRY(const auto sums, hash_file(std::filesystem::path(out) / "SHA256SUMS"));  // the baseline's name
  std::string text = fmt::format(
      "model:    {}\n  digest  {}\n  weights {} in {} tensors\nanswers:  {} prompts, {} tokens, {} greedy steps in {}\n"
      "baseline: {}\n  digest  {}\n",
      model, report.model_sha256, format_bytes(report.weight_bytes), report.tensors, report.prompts, report.tokens,
      report.greedy_steps, dtype, out, sums.sha256);
  for (const auto& prompt : report.refused) text += fmt::format("refused:  {}: {}\n", prompt.id, prompt.reason);
  for (const auto& prompt : report.left_out) text += fmt::format("left out: {}: {}\n", prompt.id, prompt.reason);
  if (report.resumed > 0) text += fmt::format("resumed:  {} answers of an interrupted run\n", report.resumed);
  for (const std::string& note : report.notes) text += "note:     " + note + "\n";
  evidence.outputs.push_back(std::move(written));
  evidence.figures = {
      manifest::counted("prompts", report.prompts, "prompts", "lines of --prompts that were answered"),
      manifest::counted("prompts_refused", report.refused.size(), "prompts", "cannot be answered; coverage.json"),
      manifest::counted("prompts_left_out", report.left_out.size(), "prompts", "longer than --max-tokens"),
      manifest::counted("prompt_tokens", report.tokens, "tokens", "ids of all prompts"),
      manifest::counted("greedy_steps", report.greedy_steps, "steps", "tokens chosen by arg-max"),
      manifest::counted("tensors_hashed", report.tensors, "tensors", "tensors of the checkpoint"),
      manifest::counted("weights_bytes", report.weight_bytes, "bytes", "bytes of all tensors")};
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary = fmt::format("{} prompts, {} tokens, {} greedy steps in {}, {} tensors hashed", report.prompts,
                                 report.tokens, report.greedy_steps, dtype, report.tensors);
  if (!report.refused.empty()) evidence.summary += fmt::format(", {} prompts refused", report.refused.size());
  if (!report.left_out.empty()) evidence.summary += fmt::format(", {} left out", report.left_out.size());
  evidence.details = Value::object({{"schema", "calkit.freeze-baseline/1"},
                                    {"dtype", dtype},
                                    {"model_sha256", "sha256:" + report.model_sha256},
                                    {"prompts", report.prompts},
                                    {"refused", unanswered(report.refused)},
                                    {"left_out", unanswered(report.left_out)},
                                    {"prompt_tokens", report.tokens},
                                    {"greedy_steps", report.greedy_steps},
                                    {"tensors", report.tensors},
                                    {"weights_bytes", report.weight_bytes},
                                    {"notes", Value::list(report.notes)}});
  return text;
}

void add_freeze_model(CLI::App& group) {
  auto opt = std::make_shared<FreezeOptions>();
  CLI::App* app =
      add_command(group, "model", "Freeze a checkpoint: identity, hashes, token ids, logits, greedy runs.",
                  "  calkit freeze-baseline model MODEL_DIR --out baseline\n"
                  "  calkit freeze-baseline model MODEL_DIR --out baseline --dtype bf16\n"
                  "  calkit freeze-baseline model MODEL_DIR --out baseline --prompts suite --prompts more.jsonl\n"
                  "  calkit freeze-baseline model MODEL_DIR --out shard-1 --shard 1/4",
                  [opt](const Common& common, Streams io) { return run_freeze(*opt, common, io); });
  app->add_option("MODEL_DIR", opt->model, "folder of the checkpoint: config.json, safetensors and tokenizer.json")
      ->required();
  app->add_option("--out", opt->out, "folder to write; an earlier baseline in it is replaced")
      ->type_name("DIR")
      ->required();
  app->add_option("--prompts", opt->prompts, "JSON lines {id, text or messages}, or `suite`; may be repeated")
      ->type_name("FILE")
      ->capture_default_str();
  app->add_option("--dtype", opt->dtype, "what the forward pass computes in: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->type_name("T")
      ->capture_default_str();
  app->add_option("--steps", opt->steps, "greedy steps per prompt")
      ->check(CLI::Range(1, 4096))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--max-tokens", opt->max_tokens, "leave out prompts with more tokens; the baseline says which")
      ->check(whole_number(1, INT32_MAX))
      ->type_name("N");
  app->add_option("--noise", opt->noise, "prompts run again in other ways, to see what that alone changes")
      ->check(CLI::Range(0, 64))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--date", opt->date, "the day that chat templates see, YYYY-MM-DD; else SOURCE_DATE_EPOCH")
      ->type_name("DAY");
  app->add_option("--shard", opt->shard, "answer only part I of N; `merge` puts the parts together")->type_name("I/N");
  app->add_option("--threads", opt->threads, "threads of the forward pass")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str();
  add_target_options(*app, opt->targets);
}

}  // namespace calkit::cli
