#include "calkit/base/paths.h"
#include "calkit/emulator/emulator.h"
#include "calkit/load/product.h"
#include "device_options.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct Options {
  load::ProductOptions product;
  std::string package, service, out, device = "emu";
  std::string prompt_lengths = "16,128", output_lengths = "16", concurrency = "1,2,4";
  double timeout_s = 60;
};

Status check_out(const Options& opt) {
  for (const std::string& input : {opt.package, opt.service})
    if (lies_inside(opt.out, input) || lies_inside(input, opt.out))
      return Error(ErrorKind::kUsage, fmt::format("--out is '{}', which is or holds an input", printable(opt.out, 200)),
                   "name another folder");
  return {};
}

Result<ExitCode> run(Options opt, const Common& common, Streams io) {
  CALKIT_CHECK_OK(check_out(opt));
  auto evidence = manifest::start_evidence("baseline-product", common.argv);
  load::BenchOptions& bench = opt.product.bench;
  bench.package = opt.package;
  bench.service = opt.service;
  bench.device = opt.device;
  bench.builtin = &emulator::entry;
  bench.prompt_lengths = numbers_of(opt.prompt_lengths);
  bench.output_lengths = numbers_of(opt.output_lengths);
  bench.concurrency = numbers_of(opt.concurrency);
  CALKIT_TRY(bench.timeout, timeout_from_seconds(opt.timeout_s));
  opt.product.out = opt.out;
  CALKIT_TRY(const auto report, load::freeze_product(opt.product));
  CALKIT_CHECK_OK(add_inputs(evidence, {{"calbin", opt.package}, {"service", opt.service}}));
  CALKIT_TRY(auto written, manifest::evidence_file("product-baseline", opt.out));
  evidence.outputs.push_back(std::move(written));
  load::record(report, evidence);
  return finish(common, io, std::move(evidence), load::to_text(report));
}

}  // namespace

void add_freeze_product(CLI::App& group) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(
      group, "product", "Freeze what a package on a device does today: versions, times, rates, reproducibility.",
      "  calkit freeze-baseline product tiny.calbin --service tiny.yaml --out product\n"
      "  calkit freeze-baseline product tiny.calbin --service tiny.yaml --out product --device plugin:./board.so",
      [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("PACKAGE", opt->package, "the package")->required();
  app->add_option("--service", opt->service, "service manifest")->type_name("FILE")->required();
  app->add_option("--out", opt->out, "folder to write; an earlier product baseline in it is replaced")
      ->type_name("DIR")
      ->required();
  const auto list = [app](const char* name, std::string& into, std::uint64_t most, const char* help) {
    app->add_option(name, into, help)->type_name("N,...")->check(whole_numbers(1, most))->capture_default_str();
  };
  constexpr std::uint64_t kMostTokens = (1ull << 31) - 1;
  list("--prompt-lengths", opt->prompt_lengths, kMostTokens, "prompt lengths of the matrix, in tokens");
  list("--output-lengths", opt->output_lengths, kMostTokens, "output lengths of the matrix, in tokens");
  list("--concurrency", opt->concurrency, 1024, "clients at once");
  load::ProductOptions& product = opt->product;
  add_number(*app, "--requests", product.bench.requests, 1, 1000000, "measured requests per cell")
      ->capture_default_str();
  add_number(*app, "--warmup", product.bench.warmup, 0, 1000000, "requests before the clock starts, per cell")
      ->capture_default_str();
  add_number(*app, "--seed", product.bench.seed, 0, kMostSeed, "seed of the prompts")->capture_default_str();
  add_number(*app, "--repeat-prompts", product.prompts, 1, 1000, "prompts of the reproducibility check")
      ->capture_default_str();
  add_number(*app, "--repeats", product.repeats, 2, 1000, "answers to each of them")->capture_default_str();
  add_device_options(*app, opt->device, opt->timeout_s);
}

}  // namespace calkit::cli
