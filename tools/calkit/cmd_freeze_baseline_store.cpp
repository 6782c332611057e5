#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/frozen/store.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct StoreOptions {
  std::string name, store, out;  // name: the baseline's folder, or the digest of a kept one
};

Result<ExitCode> run_keep(const StoreOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("baseline-store", common.argv);
  CALKIT_TRY(const auto report, frozen::keep(opt.name, opt.store), "keeping " + opt.name);
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.figures = {manifest::counted("files", report.files, "files", "of the baseline"),
                      manifest::counted("blobs_added", report.blobs_added, "blobs", "that the store lacked"),
                      manifest::counted("bytes_added", report.bytes_added, "bytes", "of these blobs")};
  evidence.summary = fmt::format("kept as {}: {} of {} files were new, {}", report.digest.substr(0, 12),
                                 report.blobs_added, report.files, format_bytes(report.bytes_added));
  std::string text = fmt::format("store:    {}\n  digest  {}\n", opt.store, report.digest);
  if (report.blobs_repaired > 0) text += fmt::format("repaired: {} damaged blobs\n", report.blobs_repaired);
  return finish(common, io, std::move(evidence), text);
}

Result<ExitCode> run_restore(const StoreOptions& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("baseline-store", common.argv);
  CALKIT_TRY(const auto report, frozen::restore(opt.store, opt.name, opt.out), "restoring " + opt.name);
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary = fmt::format("restored {}: {} files", report.digest.substr(0, 12), report.files);
  const std::string text = fmt::format("baseline: {}\n  digest  {}\n", opt.out, report.digest);
  return finish(common, io, std::move(evidence), text);
}

void add_store_option(CLI::App& app, StoreOptions& opt) {
  app.add_option("--store", opt.store, "folder of the store: blobs by their SHA-256, one list a baseline")
      ->type_name("DIR")
      ->required();
}

}  // namespace

void add_freeze_store(CLI::App& group) {
  auto kept = std::make_shared<StoreOptions>();
  CLI::App* keep = add_command(group, "keep", "Put a baseline into a store, identical files once.",
                               "  calkit freeze-baseline keep baseline --store baselines.store",
                               [kept](const Common& common, Streams io) { return run_keep(*kept, common, io); });
  keep->add_option("DIR", kept->name, "folder of the baseline")->required();
  add_store_option(*keep, *kept);
  auto restored = std::make_shared<StoreOptions>();
  CLI::App* restore =
      add_command(group, "restore", "Take a baseline out of a store, byte for byte.",
                  "  calkit freeze-baseline restore 3f9a1c02 --store baselines.store --out baseline",
                  [restored](const Common& common, Streams io) { return run_restore(*restored, common, io); });
  restore->add_option("DIGEST", restored->name, "what `keep` printed, or at least its first 8 digits")->required();
  add_store_option(*restore, *restored);
  restore->add_option("--out", restored->out, "folder to write; an earlier baseline in it is replaced")
      ->type_name("DIR")
      ->required();
}

}  // namespace calkit::cli
