#include "calkit/base/files.h"
#include "calkit/load/audit.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string file, model;
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("csv-audit", common.argv);
  CALKIT_TRY(const std::string text, read_file(opt.file), "reading the table");
  CALKIT_TRY(const CsvTable table, parse_csv(text, opt.file), "reading the table");
  CALKIT_TRY(const auto audit, load::audit_csv(table, opt.file, opt.model));
  CALKIT_TRY(auto file, manifest::evidence_file("csv", opt.file));
  evidence.inputs.push_back(std::move(file));
  load::record(audit, evidence);
  return finish(common, io, std::move(evidence), load::to_text(audit));
}

}  // namespace

void add_freeze_audit_csv(CLI::App& group) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(group, "audit-csv", "Say whether a CSV of service figures may serve as a baseline.",
                              "  calkit freeze-baseline audit-csv legacy.csv\n"
                              "  calkit freeze-baseline audit-csv legacy.csv --model qwen3-30b-a3b",
                              [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("FILE", opt->file, "the table, with a header line")->required();
  app->add_option("--model", opt->model, "the model that was measured, as the table should name it")->type_name("NAME");
}

}  // namespace calkit::cli
