#include <fmt/format.h>

#include <filesystem>

#include "calkit/base/text.h"
#include "calkit/baseline/freeze.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct FreezeOptions {
  std::string model, out, dtype = "fp32";
  std::vector<std::string> prompts = {"suite"};
  int steps = 16, threads = 1;
  TargetOptions targets;
};
struct VerifyOptions {
  std::string dir, peer;
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

std::string text_of(const FreezeOptions& opt, const baseline::FreezeReport& report,
                    const manifest::EvidenceFile& written) {
  std::string text = fmt::format(
      "model:    {}\n  digest  {}\n  weights {} in {} tensors\nanswers:  {} prompts, {} tokens, {} greedy steps in {}\n"
      "baseline: {}\n  digest  {}\n",
      opt.model, report.model_sha256, format_bytes(report.weight_bytes), report.tensors, report.prompts, report.tokens,
      report.greedy_steps, opt.dtype, opt.out, written.sha256);
  for (const std::string& note : report.notes) text += "note:     " + note + "\n";
  return text;
}

Result<ExitCode> run_freeze(const FreezeOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("freeze-baseline", common.argv);
  baseline::FreezeOptions options;
  options.model_dir = opt.model;
  options.out = opt.out;
  options.dtype = opt.dtype;
  options.greedy_steps = opt.steps;
  options.threads = opt.threads;
  CALKIT_TRY(options.targets, resolve_targets(opt.targets));
  CALKIT_TRY(options.prompts, read_all(opt.prompts, evidence));
  CALKIT_TRY(const auto report, baseline::freeze_model(options), "freezing " + opt.model);
  CALKIT_TRY(auto written, manifest::evidence_file("baseline", opt.out));
  evidence.inputs.push_back({"model", opt.model, report.model_sha256, report.model_bytes});
  CALKIT_TRY(auto config, manifest::evidence_file("model-config", std::filesystem::path(opt.model) / "config.json"));
  evidence.inputs.push_back(std::move(config));  // what ties a triage record to this baseline
  const std::string text = text_of(opt, report, written);
  evidence.outputs.push_back(std::move(written));
  evidence.figures = {manifest::counted("prompts", report.prompts, "prompts", "lines of --prompts"),
                      manifest::counted("prompt_tokens", report.tokens, "tokens", "ids of all prompts"),
                      manifest::counted("greedy_steps", report.greedy_steps, "steps", "tokens chosen by arg-max"),
                      manifest::counted("tensors_hashed", report.tensors, "tensors", "tensors of the checkpoint"),
                      manifest::counted("weights_bytes", report.weight_bytes, "bytes", "bytes of all tensors")};
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary = fmt::format("{} prompts, {} tokens, {} greedy steps in {}, {} tensors hashed", report.prompts,
                                 report.tokens, report.greedy_steps, opt.dtype, report.tensors);
  evidence.targets = manifest::to_value(options.targets);
  evidence.details = Value::object({{"schema", "calkit.freeze-baseline/1"},
                                    {"dtype", opt.dtype},
                                    {"model_sha256", "sha256:" + report.model_sha256},
                                    {"prompts", report.prompts},
                                    {"prompt_tokens", report.tokens},
                                    {"greedy_steps", report.greedy_steps},
                                    {"tensors", report.tensors},
                                    {"weights_bytes", report.weight_bytes},
                                    {"notes", Value::list(report.notes)}});
  return finish(common, io, std::move(evidence), text);
}

// What the comparison with a peer adds to the record and to the text.
Result<std::string> compare_with_peer(const VerifyOptions& opt, manifest::Evidence& evidence) {
  CALKIT_TRY(const auto ours, frozen::read_reference(opt.dir), "reading the baseline");
  CALKIT_TRY(const auto peer, frozen::read_reference(opt.peer, ours.dtype), "reading --peer " + opt.peer);
  const frozen::CompareLimits limits = baseline::peer_limits(ours.dtype);
  CALKIT_TRY(const auto report, frozen::compare_references(ours, peer, limits), "comparing with --peer");
  CALKIT_TRY(auto folder, manifest::evidence_file("peer", opt.peer));
  evidence.inputs.push_back(std::move(folder));
  const std::string how = "along the peer's prompts, prompt by prompt";
  evidence.figures.push_back(manifest::counted("prompts_compared", report.prompts, "prompts", "ids that both have"));
  evidence.figures.push_back({"logits_nmse_max", report.nmse_max, "1", report.prompts, how});
  evidence.figures.push_back({"logits_max_abs", report.max_abs_max, "1", report.prompts, how});
  evidence.figures.push_back(manifest::counted("greedy_steps_equal", report.steps_equal, "steps", how));
  evidence.figures.push_back(
      manifest::counted("greedy_steps_excused", report.steps_excused, "steps",
                        fmt::format("differ where the peer's margin is at most {:g}", limits.margin)));
  evidence.figures.push_back(manifest::counted("greedy_steps_different", report.steps_different, "steps", how));
  evidence.findings.insert(evidence.findings.end(), report.findings.begin(), report.findings.end());
  evidence.summary += fmt::format(", {} compared with the peer: logits NMSE {:.2g}, {} of {} greedy steps equal",
                                  report.prompts, report.nmse_max, report.steps_equal, report.steps);
  return fmt::format(
      "peer:     {}\n  prompts {} compared, {} with other ids\n  logits  NMSE {:.3g} (limit {:g}), max abs {:.3g}, "
      "worst prompt {}\n"
      "  greedy  {} steps: {} equal, {} excused, {} different\n",
      opt.peer, report.prompts, report.ids_different, report.nmse_max, limits.nmse, report.max_abs_max,
      report.worst_prompt, report.steps, report.steps_equal, report.steps_excused, report.steps_different);
}

Result<ExitCode> run_verify(const VerifyOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("freeze-baseline", common.argv);
  CALKIT_TRY(const auto report, frozen::verify(opt.dir), "verifying " + opt.dir);
  CALKIT_TRY(auto folder, manifest::evidence_file("baseline", opt.dir));
  evidence.inputs.push_back(std::move(folder));
  evidence.findings = report.findings;
  evidence.figures = {
      manifest::counted("files_checked", report.files, "files", "hashed and compared with SHA256SUMS"),
      manifest::counted("prompts_checked", report.prompts, "prompts", "ids, logits and greedy runs agree"),
      manifest::counted("faults", report.findings.size(), "faults", "findings of the verifier")};
  evidence.summary = fmt::format("{} files and {} prompts checked", report.files, report.prompts);
  std::string text = fmt::format("baseline: {}\n  files   {}\n  prompts {}\n", opt.dir, report.files, report.prompts);
  // A damaged baseline is not worth comparing: its numbers may be what was changed.
  if (report.findings.empty() && !opt.peer.empty()) {
    CALKIT_TRY(const std::string more, compare_with_peer(opt, evidence));
    text += more;
  }
  for (const std::string& finding : evidence.findings) text += "found:    " + finding + "\n";
  if (!evidence.findings.empty())
    evidence.summary = fmt::format("{} findings, {}", evidence.findings.size(), evidence.summary);
  evidence.verdict = evidence.findings.empty() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.details = Value::object({{"schema", "calkit.verify-baseline/1"},
                                    {"files", report.files},
                                    {"prompts", report.prompts},
                                    {"findings", Value::list(evidence.findings)}});
  return finish(common, io, std::move(evidence), text);
}

void add_model(CLI::App& group) {
  auto opt = std::make_shared<FreezeOptions>();
  CLI::App* app =
      add_command(group, "model", "Freeze a checkpoint: identity, hashes, token ids, logits, greedy runs.",
                  "  calkit freeze-baseline model MODEL_DIR --out baseline\n"
                  "  calkit freeze-baseline model MODEL_DIR --out baseline --dtype bf16\n"
                  "  calkit freeze-baseline model MODEL_DIR --out baseline --prompts suite --prompts more.jsonl",
                  [opt](const Common& common, Streams io) { return run_freeze(*opt, common, io); });
  app->add_option("MODEL_DIR", opt->model, "folder of the checkpoint: config.json, safetensors and tokenizer.json")
      ->required();
  app->add_option("--out", opt->out, "folder to write; an earlier baseline in it is replaced")
      ->type_name("DIR")
      ->required();
  app->add_option("--prompts", opt->prompts, "JSON lines {id, text, add_special_tokens}, or `suite`; may be repeated")
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
  app->add_option("--threads", opt->threads, "threads of the forward pass")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str();
  add_target_options(*app, opt->targets);
}

void add_verify(CLI::App& group) {
  auto opt = std::make_shared<VerifyOptions>();
  CLI::App* app = add_command(group, "verify", "Re-check a baseline, and compare it with a peer's goldens.",
                              "  calkit freeze-baseline verify baseline\n"
                              "  calkit freeze-baseline verify baseline --peer transformers-goldens",
                              [opt](const Common& common, Streams io) { return run_verify(*opt, common, io); });
  app->add_option("DIR", opt->dir, "folder of the baseline")->required();
  app->add_option("--peer", opt->peer, "folder of a peer's goldens: prompts, token ids, logits and greedy runs")
      ->type_name("DIR");
}

}  // namespace

void add_freeze_baseline(CLI::App& root) {
  CLI::App* group = add_group(root, "freeze-baseline", "Freeze what a model answers, and check it again later.",
                              "  calkit freeze-baseline model MODEL_DIR --out baseline\n"
                              "  calkit freeze-baseline verify baseline --peer transformers-goldens");
  add_model(*group);
  add_verify(*group);
}

}  // namespace calkit::cli
