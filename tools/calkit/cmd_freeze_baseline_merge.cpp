#include <filesystem>

#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct MergeOptions {
  std::string out;
  std::vector<std::string> shards;
};

Result<ExitCode> run_merge(const MergeOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("freeze-baseline", common.argv);
  const std::vector<std::filesystem::path> shards(opt.shards.begin(), opt.shards.end());
  CALKIT_TRY(const auto report, baseline::merge_shards(shards, opt.out), "merging into " + opt.out);
  CALKIT_TRY(const auto source, frozen::read_model_source(opt.out));
  CALKIT_TRY(const auto reference, frozen::read_reference(opt.out));
  evidence.inputs.push_back({"model", opt.shards.front(), report.model_sha256, report.model_bytes});
  CALKIT_TRY(auto config,
             manifest::evidence_file("model-config", std::filesystem::path(opt.out) / "model-source/config.json"));
  evidence.inputs.push_back(std::move(config));
  for (const std::string& shard : opt.shards) {
    CALKIT_TRY(auto file, manifest::evidence_file("shard", shard));
    evidence.inputs.push_back(std::move(file));
  }
  CALKIT_TRY(const std::string text, describe_frozen(report, opt.shards.front(), reference.dtype, opt.out, evidence));
  evidence.targets = manifest::to_value(source.targets);
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_freeze_merge(CLI::App& group) {
  auto opt = std::make_shared<MergeOptions>();
  CLI::App* app = add_command(group, "merge", "Put the shards of one freeze together.",
                              "  calkit freeze-baseline merge --out baseline shard-1 shard-2 shard-3 shard-4",
                              [opt](const Common& common, Streams io) { return run_merge(*opt, common, io); });
  app->add_option("SHARD", opt->shards, "folders that `model --shard` wrote: all parts, in any order")->required();
  app->add_option("--out", opt->out, "folder to write; an earlier baseline in it is replaced")
      ->type_name("DIR")
      ->required();
}

}  // namespace calkit::cli
