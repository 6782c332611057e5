#include <fmt/format.h>

#include "calkit/frozen/difference.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct DiffOptions {
  std::string a, b;
};

std::string shown(const std::optional<Value>& value) {
  return value ? value->describe() : "nothing";
}

std::string text_of(const frozen::BaselineDiff& diff) {
  std::string text;
  for (const std::string& file : diff.only_a) text += fmt::format("only a:   {}\n", file);
  for (const std::string& file : diff.only_b) text += fmt::format("only b:   {}\n", file);
  for (const std::string& file : diff.changed) text += fmt::format("changed:  {}\n", file);
  for (const auto& change : diff.fields)
    text += fmt::format("field:    {}: {}: {} -> {}\n", change.file, change.pointer, shown(change.a), shown(change.b));
  if (diff.fields_left_out > 0) text += fmt::format("field:    and {} more\n", diff.fields_left_out);
  for (const std::string& id : diff.prompts_only_a) text += fmt::format("prompt:   {}: only in a\n", id);
  for (const std::string& id : diff.prompts_only_b) text += fmt::format("prompt:   {}: only in b\n", id);
  for (const auto& [id, changes] : diff.prompts)
    for (const std::string& change : changes) text += fmt::format("prompt:   {}: {}\n", id, change);
  if (diff.env_differs) text += "env:      differs; it says which calkit froze, and is no difference\n";
  return text;
}

Result<ExitCode> run_diff(const DiffOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("baseline-diff", common.argv);
  CALKIT_TRY(const auto diff, frozen::diff_baselines(opt.a, opt.b), "comparing the baselines");
  for (const auto& [role, dir] : {std::pair("a", opt.a), std::pair("b", opt.b)}) {
    CALKIT_TRY(auto folder, manifest::evidence_file(role, dir));
    evidence.inputs.push_back(std::move(folder));
  }
  const std::size_t files = diff.only_a.size() + diff.only_b.size() + diff.changed.size();
  const std::size_t prompts = diff.prompts.size() + diff.prompts_only_a.size() + diff.prompts_only_b.size();
  evidence.summary = diff.equal() ? "the same baseline"
                                  : fmt::format("{} files, {} fields and {} prompts differ", files,
                                                diff.fields.size() + diff.fields_left_out, prompts);
  evidence.verdict = diff.equal() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  if (!diff.equal()) evidence.findings = {evidence.summary};
  evidence.details = frozen::to_value(diff);
  return finish(common, io, std::move(evidence), text_of(diff));
}

}  // namespace

void add_freeze_diff(CLI::App& group) {
  auto opt = std::make_shared<DiffOptions>();
  CLI::App* app = add_command(group, "diff", "What changed between two baselines, field by field.",
                              "  calkit freeze-baseline diff last-month today\n"
                              "  calkit freeze-baseline diff ours theirs --json",
                              [opt](const Common& common, Streams io) { return run_diff(*opt, common, io); });
  app->add_option("A", opt->a, "folder of a baseline")->required();
  app->add_option("B", opt->b, "folder of another one")->required();
}

}  // namespace calkit::cli
