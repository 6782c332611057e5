#include <ostream>

#include "calkit/emulator/emulator.h"
#include "calkit/runner/run.h"
#include "command.h"
#include "device_options.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string package, service, baseline, peer, thresholds, device = "emu";
  double timeout_s = 60;
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("runner", common.argv);
  runner::RunOptions options;
  options.package = opt.package;
  options.service = opt.service;
  options.baseline = opt.baseline;
  if (!opt.peer.empty()) options.peer = opt.peer;
  if (!opt.thresholds.empty()) options.thresholds = opt.thresholds;
  options.device = opt.device;
  options.builtin = &emulator::entry;
  CALKIT_TRY(options.timeout, timeout_from_seconds(opt.timeout_s));
  CALKIT_TRY(const auto report, runner::run(options));
  CALKIT_CHECK_OK(add_inputs(evidence, {{"calbin", opt.package},
                                        {"service", opt.service},
                                        {"baseline", opt.baseline},
                                        {"peer", opt.peer},
                                        {"thresholds", opt.thresholds}}));
  runner::record(report, evidence);
  return finish(common, io, std::move(evidence), runner::to_text(report));
}

}  // namespace

void add_runner(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(
      root, "runner", "Load a package on a device and hold it against the baseline, token by token.",
      "  calkit runner tiny.calbin --service tiny.yaml --baseline base\n"
      "  calkit runner tiny.calbin --service tiny.yaml --baseline base --peer goldens   expected values of a peer\n"
      "  calkit runner tiny.calbin --service tiny.yaml --baseline base --device plugin:./libboard.so",
      [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("PACKAGE", opt->package, "the package folder")->required();
  app->add_option("--service", opt->service, "service manifest")->type_name("FILE")->required();
  app->add_option("--baseline", opt->baseline, "frozen baseline")->type_name("DIR")->required();
  app->add_option("--peer", opt->peer, "take the expected values from a peer's goldens")->type_name("DIR");
  app->add_option("--thresholds", opt->thresholds, "limits instead of the built-in ones (calkit.thresholds/1)")
      ->type_name("FILE");
  add_device_options(*app, opt->device, opt->timeout_s);
}

}  // namespace calkit::cli
