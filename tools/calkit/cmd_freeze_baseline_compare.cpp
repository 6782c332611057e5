#include <fmt/format.h>

#include <filesystem>

#include "calkit/frozen/difference.h"
#include "calkit/frozen/texts.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct CompareOptions {
  std::string a, b, dtype;
};

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g}", *value) : "-";
}

std::string row_text(const frozen::PromptComparison& row) {
  const std::string where = row.max_abs ? fmt::format("{:.3g} @{}", *row.max_abs, row.max_abs_index) : "-";
  std::string text = fmt::format("{:<28} {:>6} {:>9} {:>18} {:>9} {:>9} {:>6}  {}", row.id, row.tokens,
                                 number(row.nmse), where, row.cosine ? fmt::format("{:.2g}", 1 - *row.cosine) : "-",
                                 number(row.kl), number(row.top_20), frozen::verdict_name(row.verdict));
  if (row.first_id) text += fmt::format(": token ids differ from position {} on", *row.first_id);
  if (row.divergent_step)
    text += fmt::format(": step {}: token {}, the reference has {} with margin {:.3g}{}", *row.divergent_step,
                        row.got_token, row.want_token, row.margin,
                        row.by_router ? fmt::format("; a router's margin of {:.3g} explains it", *row.router_margin)
                        : row.verdict == frozen::PromptComparison::Verdict::kExcused ? ", which explains it"
                                                                                     : "");
  return text + "\n";
}

std::string text_of(const CompareOptions& opt, const frozen::ReferenceComparison& comparison,
                    const frozen::CompareLimits& limits) {
  const frozen::CompareReport& totals = comparison.totals;
  std::string text =
      fmt::format("a:        {}\nb:        {} (the reference)\n{:<28} {:>6} {:>9} {:>18} {:>9} {:>9} {:>6}  {}\n",
                  opt.a, opt.b, "prompt", "tokens", "NMSE", "max abs @id", "1-cos", "KL", "top-20", "verdict");
  for (const auto& row : comparison.prompts) text += row_text(row);
  for (const std::string& id : comparison.only_got) text += fmt::format("only a:   {}\n", id);
  for (const std::string& id : comparison.only_want) text += fmt::format("only b:   {}\n", id);
  text += fmt::format(
      "logits:   NMSE {:.3g} (limit {:g}), max abs {:.3g}\n"
      "greedy:   {} steps: {} equal, {} excused (margin at most {:g}), {} different, {} not compared behind them\n",
      totals.nmse_max, limits.nmse, totals.max_abs_max, totals.steps, totals.steps_equal, totals.steps_excused,
      limits.margin, totals.steps_different, totals.steps_not_compared);
  for (const std::string& sentence : totals.told) text += "excused:  " + sentence + "\n";
  for (const std::string& finding : totals.findings) text += "found:    " + finding + "\n";
  return text;
}

// What the reference says of its own noise; null if it says nothing.
Result<Value> noise_of(const std::string& dir) {
  const std::filesystem::path file = std::filesystem::path(dir) / "reference/noise.json";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return Value();
  return read_json(file);
}

Status add_folders(const CompareOptions& opt, manifest::Evidence& evidence) {
  for (const auto& [role, dir] : {std::pair("a", opt.a), std::pair("b", opt.b)}) {
    CALKIT_TRY(auto folder, manifest::evidence_file(role, dir));
    evidence.inputs.push_back(std::move(folder));
  }
  return {};
}

Value to_value(const frozen::TextComparison& c) {
  return Value::object({{"id", c.id},
                        {"verdict", c.equal     ? "equal"
                                    : c.nothing ? "nothing to compare"
                                    : c.excused ? "excused"
                                                : "different"},
                        {"ends_early", c.ends_early},
                        {"bytes_equal", c.bytes_equal},
                        {"step", c.step},
                        {"margin", c.margin},
                        {"wanted", c.wanted},
                        {"got", c.got}});
}

// B is a service's texts.
Result<ExitCode> run_compare_texts(const CompareOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("baseline-compare", common.argv);
  CALKIT_TRY(const auto texts, frozen::read_texts(opt.b), "reading B");
  const std::string dtype = opt.dtype.empty() ? "bf16" : opt.dtype;  // what a service computes in, nobody tells
  const frozen::CompareLimits limits = baseline::peer_limits(dtype);
  CALKIT_TRY(const auto report, frozen::compare_texts(opt.a, texts, limits));
  CALKIT_CHECK_OK(add_folders(opt, evidence));
  evidence.findings = report.findings;
  evidence.verdict = report.findings.empty() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary =
      fmt::format("{} greedy texts: {} equal, {} excused, {} different; {} refused by the service",
                  report.prompts.size(), report.equal, report.excused, report.different, texts.refused.size());
  if (report.nothing > 0) evidence.summary += fmt::format("; {} show no text to compare", report.nothing);
  Value rows = Value::array();
  for (const auto& row : report.prompts) rows.push(to_value(row));
  evidence.details =
      Value::object({{"schema", "calkit.compare-texts/1"},
                     {"limits", Value::object({{"margin", limits.margin}, {"excused_share", limits.excused_share}})},
                     {"steps", report.steps},
                     {"equal", report.equal},
                     {"excused", report.excused},
                     {"different", report.different},
                     {"nothing", report.nothing},
                     {"refused", static_cast<std::uint64_t>(texts.refused.size())},
                     {"findings", Value::list(report.findings)},
                     {"prompts", std::move(rows)}});
  std::string text = fmt::format("a:        {}\nb:        {} (texts of a service)\n", opt.a, opt.b);
  for (const std::string& finding : report.findings) text += "found:    " + finding + "\n";
  return finish(common, io, std::move(evidence), text);
}

Result<ExitCode> run_compare(const CompareOptions& opt, const Common& common, Streams io) {
  if (frozen::has_texts(opt.a))
    return input_error(opt.a, {}, "the texts of a service as A", "a baseline as A, and the texts as B",
                       fmt::format("calkit freeze-baseline compare BASELINE {}", opt.a));
  if (frozen::has_texts(opt.b)) return run_compare_texts(opt, common, io);
  auto evidence = manifest::start_evidence("baseline-compare", common.argv);
  CALKIT_TRY(const auto ours, frozen::read_reference(opt.a, opt.dtype), "reading A");
  CALKIT_TRY(const auto theirs, frozen::read_reference(opt.b, opt.dtype.empty() ? ours.dtype : opt.dtype), "reading B");
  const frozen::CompareLimits limits = baseline::peer_limits(ours.dtype);
  CALKIT_TRY(const auto comparison, frozen::compare_in_detail(ours, theirs, limits), "comparing A with B");
  CALKIT_CHECK_OK(add_folders(opt, evidence));
  const frozen::CompareReport& totals = comparison.totals;
  evidence.findings = totals.findings;
  evidence.verdict = totals.findings.empty() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary =
      fmt::format("{} prompts in {}, logits NMSE {:.2g}, {} of {} greedy steps equal, {} excused", totals.prompts,
                  ours.dtype, totals.nmse_max, totals.steps_equal, totals.steps, totals.steps_excused);
  evidence.details = frozen::to_value(comparison, limits);
  evidence.details.set("dtype", ours.dtype);
  CALKIT_TRY(auto noise, noise_of(opt.b), "reading the noise of B");
  evidence.details.set("noise", std::move(noise));
  return finish(common, io, std::move(evidence), text_of(opt, comparison, limits));
}

}  // namespace

void add_freeze_compare(CLI::App& group) {
  auto opt = std::make_shared<CompareOptions>();
  CLI::App* app = add_command(group, "compare", "Where two references differ, prompt by prompt.",
                              "  calkit freeze-baseline compare mine theirs\n"
                              "  calkit freeze-baseline compare baseline transformers-goldens --dtype bf16 --json",
                              [opt](const Common& common, Streams io) { return run_compare(*opt, common, io); });
  app->add_option("A", opt->a, "a frozen baseline or a peer's goldens")->required();
  app->add_option("B", opt->b, "the reference: the same, and its margins excuse; or the texts of a service")
      ->required();
  app->add_option("--dtype", opt->dtype, "fp32 or bf16, where a folder has both")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->type_name("T");
}

}  // namespace calkit::cli
