#include <fmt/format.h>

#include <ostream>

#include "calkit/bundle/bundle.h"
#include "command.h"
#include "device_options.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string out, package, baseline, onnx, service, records;
  bool allow_unproven = false;
  CLI::App* verify = nullptr;
  std::string bundle;
};

Status require_options(const Options& opt) {
  const std::pair<const char*, const std::string*> needed[] = {{"--out", &opt.out},
                                                               {"--package", &opt.package},
                                                               {"--baseline", &opt.baseline},
                                                               {"--onnx", &opt.onnx},
                                                               {"--service", &opt.service}};
  for (const auto& [name, value] : needed)
    if (value->empty())
      return Error(ErrorKind::kUsage, fmt::format("{} is required", name), "see `calkit export --help`");
  return {};
}

Result<ExitCode> run_export(const Options& opt, const Common& common, Streams io) {
  CALKIT_CHECK_OK(require_options(opt));
  auto evidence = manifest::start_evidence("export", common.argv);
  bundle::Parts parts{opt.package, opt.baseline, opt.onnx, opt.service, {}, opt.allow_unproven, {}};
  const std::string records = !opt.records.empty() ? opt.records : common.evidence_dir;
  if (records != "none") {
    parts.records_dir = records;
    CALKIT_TRY(parts.records, manifest::read_evidence_dir(records), "reading the evidence records");
  }
  CALKIT_TRY(const auto report, bundle::write_bundle(parts, opt.out));
  CALKIT_CHECK_OK(add_inputs(
      evidence, {{"calbin", opt.package}, {"baseline", opt.baseline}, {"onnx", opt.onnx}, {"service", opt.service}}));
  CALKIT_TRY(auto out, manifest::evidence_file("bundle", opt.out));
  evidence.outputs.push_back(std::move(out));
  bundle::record(report, evidence);
  return finish(common, io, std::move(evidence), bundle::to_text(report));
}

Result<ExitCode> run_verify(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("export-verify", common.argv);
  CALKIT_TRY(const auto report, bundle::verify_bundle(opt.bundle));
  CALKIT_CHECK_OK(add_inputs(evidence, {{"bundle", opt.bundle}}));
  bundle::record(report, evidence);
  return finish(common, io, std::move(evidence), bundle::to_text(report));
}

}  // namespace

void add_export(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(
      root, "export", "Pack package, baseline, graphs and evidence into one deterministic bundle; verify one.",
      "  calkit export --out tiny.bundle.tar.zst --package tiny.calbin --baseline base --onnx onnx --service "
      "tiny.yaml\n"
      "  calkit export verify tiny.bundle.tar.zst",
      [opt](const Common& common, Streams io) {
        return opt->verify->parsed() ? run_verify(*opt, common, io) : run_export(*opt, common, io);
      });
  app->add_option("--out", opt->out, "the bundle, NAME.bundle.tar.zst")->type_name("FILE");
  app->add_option("--package", opt->package, "the package folder")->type_name("DIR");
  app->add_option("--baseline", opt->baseline, "the frozen baseline")->type_name("DIR");
  app->add_option("--onnx", opt->onnx, "the folder of the graphs")->type_name("DIR");
  app->add_option("--service", opt->service, "service manifest")->type_name("FILE");
  app->add_option("--records", opt->records, "evidence records to pack; default: the folder of --evidence")
      ->type_name("DIR");
  app->add_flag("--allow-unproven", opt->allow_unproven,
                "write it although lint or runner did not pass; the bundle says so");
  opt->verify = app->add_subcommand("verify", "check a bundle without extracting it");
  opt->verify->add_option("BUNDLE", opt->bundle, "the bundle")->required();
  opt->verify->fallthrough();
}

}  // namespace calkit::cli
