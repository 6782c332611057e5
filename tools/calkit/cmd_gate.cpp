#include <ostream>

#include "calkit/base/files.h"
#include "calkit/base/paths.h"
#include "calkit/gate/gate.h"
#include "calkit/report/html.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string dir, html, require = "c2";
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("gate", common.argv);
  const std::string dir = !opt.dir.empty() ? opt.dir : common.evidence_dir == "none" ? "evidence" : common.evidence_dir;
  // A page among the records would be one more file that export and the next reader have to tell apart from them.
  if (!opt.html.empty() && lies_inside(opt.html, dir))
    return Error(ErrorKind::kUsage, "--html is '" + opt.html + "': it lies inside the records' folder " + dir,
                 "write the page beside that folder");
  CALKIT_TRY(const auto records, manifest::read_evidence_dir(dir), "reading the evidence records");
  const gate::Report report = gate::judge(records, opt.require == "c3" ? gate::Require::kC3 : gate::Require::kC2);
  gate::record(report, evidence);
  std::string text = gate::to_text(report);
  if (!opt.html.empty()) {
    CALKIT_CHECK_OK(write_file(opt.html, report::html(records, report)), "writing --html");
    CALKIT_TRY(auto page, manifest::evidence_file("html", opt.html));
    evidence.outputs.push_back(std::move(page));
    text += "page: " + opt.html + "\n";
  }
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_gate(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(root, "gate", "Read the evidence records: which stage is satisfied by what?",
                              "  calkit gate\n"
                              "  calkit gate evidence --html report.html\n"
                              "  calkit gate evidence --require c3    the vendor's gates count too",
                              [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("DIR", opt->dir, "folder of the records; default: that of --evidence");
  app->add_option("--html", opt->html, "write the run as one self-contained page")->type_name("FILE");
  app->add_option("--require", opt->require, "gates that must be satisfied: c2 (the road) or c3 (the vendor's too)")
      ->check(CLI::IsMember({"c2", "c3"}))
      ->type_name("STATUS")
      ->capture_default_str();
}

}  // namespace calkit::cli
