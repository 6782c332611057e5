#include <fmt/format.h>

#include "calkit/frozen/folder.h"
#include "calkit/frozen/store.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct VerifyOptions {
  std::string dir, peer;
};

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
                        fmt::format("differ where the peer's margin is at most {:g}", limits.margin) +
                            (report.told.empty() ? "" : fmt::format(", {} by a router's", report.told.size()))));
  evidence.figures.push_back(manifest::counted("greedy_steps_different", report.steps_different, "steps", how));
  evidence.findings.insert(evidence.findings.end(), report.findings.begin(), report.findings.end());
  evidence.summary += fmt::format(", {} compared with the peer: logits NMSE {:.2g}, {} of {} greedy steps equal",
                                  report.prompts, report.nmse_max, report.steps_equal, report.steps);
  std::string text = fmt::format(
      "peer:     {}\n  prompts {} compared, {} with other ids\n  logits  NMSE {:.3g} (limit {:g}), max abs {:.3g}, "
      "worst prompt {}\n"
      "  greedy  {} steps: {} equal, {} excused, {} different\n",
      opt.peer, report.prompts, report.ids_different, report.nmse_max, limits.nmse, report.max_abs_max,
      report.worst_prompt, report.steps, report.steps_equal, report.steps_excused, report.steps_different);
  for (const std::string& sentence : report.told) text += "excused:  " + sentence + "\n";
  if (!report.told.empty()) evidence.summary += fmt::format(", {} excused by a router's margin", report.told.size());
  return text;
}

// A store holds many baselines: what can be told of it is whether its blobs are what their names say.
Result<ExitCode> run_verify_store(const VerifyOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("baseline-store", common.argv);
  CALKIT_TRY(const auto report, frozen::verify_store(opt.dir), "verifying " + opt.dir);
  evidence.findings = report.findings;
  evidence.figures = {manifest::counted("blobs_checked", report.files, "blobs", "hashed and compared with their names"),
                      manifest::counted("baselines_checked", report.prompts, "baselines", "all their blobs are there")};
  std::string text =
      fmt::format("store:    {}\n  blobs     {}\n  baselines {}\n", opt.dir, report.files, report.prompts);
  for (const std::string& finding : report.findings) text += "found:    " + finding + "\n";
  evidence.summary = fmt::format("{} blobs of {} baselines checked", report.files, report.prompts);
  if (!report.findings.empty())
    evidence.summary = fmt::format("{} findings, {}", report.findings.size(), evidence.summary);
  evidence.verdict = report.findings.empty() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  return finish(common, io, std::move(evidence), text);
}

// A reference or a product baseline. No gate may count its record as one of a baseline.
Result<ExitCode> run_verify_sealed(const VerifyOptions& opt, frozen::FolderKind kind, const Common& common,
                                   Streams io) {
  const std::string_view name = frozen::folder_kind_name(kind);
  if (!opt.peer.empty())
    return Error(ErrorKind::kUsage, fmt::format("--peer with a {}; allowed: with a baseline", name),
                 "`calkit freeze-baseline compare` holds references against each other");
  auto evidence = manifest::start_evidence("baseline-seal", common.argv);
  CALKIT_TRY(const auto report, frozen::verify_sealed(opt.dir, kind), "verifying " + opt.dir);
  CALKIT_TRY(auto folder, manifest::evidence_file("folder", opt.dir));
  evidence.inputs.push_back(std::move(folder));
  evidence.findings = report.findings;
  evidence.figures = {manifest::counted("files_checked", report.files, "files", "hashed and compared with SHA256SUMS")};
  std::string text = fmt::format("folder:   {}\n  kind    {}\n  files   {}\n", opt.dir, name, report.files);
  if (kind != frozen::FolderKind::kProduct) text += fmt::format("  prompts {}\n", report.prompts);
  for (const std::string& finding : report.findings) text += "found:    " + finding + "\n";
  evidence.summary = fmt::format("{} files of a {} checked", report.files, name);
  if (!report.findings.empty())
    evidence.summary = fmt::format("{} findings, {}", report.findings.size(), evidence.summary);
  evidence.verdict = report.findings.empty() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  return finish(common, io, std::move(evidence), text);
}

Result<ExitCode> run_verify(const VerifyOptions& opt, const Common& common, Streams io) {
  const auto kind = frozen::folder_kind(opt.dir);
  if (kind == frozen::FolderKind::kStore) return run_verify_store(opt, common, io);
  if (kind != frozen::FolderKind::kBaseline) return run_verify_sealed(opt, kind, common, io);
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

}  // namespace

void add_freeze_verify(CLI::App& group) {
  auto opt = std::make_shared<VerifyOptions>();
  CLI::App* app = add_command(group, "verify", "Re-check a baseline, and compare it with a peer's goldens.",
                              "  calkit freeze-baseline verify baseline\n"
                              "  calkit freeze-baseline verify baseline --peer transformers-goldens",
                              [opt](const Common& common, Streams io) { return run_verify(*opt, common, io); });
  app->add_option("DIR", opt->dir, "folder of the baseline, of a reference or product baseline, or a store of them")
      ->required();
  app->add_option("--peer", opt->peer, "folder of a peer's goldens: prompts, token ids, logits and greedy runs")
      ->type_name("DIR");
}

}  // namespace calkit::cli
