// The run of a product baseline: one device, one session, the matrix and the repeated answers.
#include "calkit/load/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "calkit/base/files.h"
#include "calkit/calbin/package.h"
#include "calkit/frozen/writer.h"
#include "product_files.h"
#include "tokens.h"

namespace calkit::load {
namespace {

Status check_options(const ProductOptions& options) {
  if (options.repeats < 2)
    return Error(ErrorKind::kUsage, fmt::format("{} repeats; allowed: 2 or more", options.repeats),
                 "one answer alone shows nothing about the next");
  for (const auto& [name, numbers] : {std::pair{"--prompt-lengths", options.bench.prompt_lengths},
                                      std::pair{"--output-lengths", options.bench.output_lengths},
                                      std::pair{"--concurrency", options.bench.concurrency}}) {
    auto sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      return Error(ErrorKind::kUsage, fmt::format("{}: found {} twice; allowed: each once", name, *twice),
                   "two cells of one name could not be told apart");
  }
  return frozen::check_target(options.out);
}

struct Answer {
  std::vector<std::int32_t> tokens;
  std::vector<std::vector<float>> logits;
};

Result<Answer> answer(device::TokenModel& model, const ProductOptions& options, std::span<const std::int32_t> prompt,
                      std::vector<double>& sampling_ns) {
  Answer out;
  CALKIT_TRY(const auto handle, model.start());
  CALKIT_TRY(auto step, model.prefill(handle, prompt, Deadline::in(options.bench.timeout)));
  for (std::uint64_t n = 0; n < options.output_tokens; ++n) {
    if (interrupted()) return interrupted_error();
    const auto before = steady_now();
    const auto token = greedy_token(step.logits);
    sampling_ns.push_back(static_cast<double>((steady_now() - before).count()));
    if (!token) return Error(ErrorKind::kDevice, fmt::format("the logits of token {} are not finite", n));
    out.tokens.push_back(*token);
    out.logits.push_back(std::move(step.logits));
    if (n + 1 == options.output_tokens) break;
    CALKIT_TRY(step, model.decode(handle, *token, Deadline::in(options.bench.timeout)));
  }
  model.finish(handle);
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void count_differences(const Answer& first, const Answer& again, Reproducibility& out) {
  if (first.tokens != again.tokens) ++out.answers_different;
  for (std::size_t i = 0; i < first.tokens.size(); ++i) {
    if (!same_bits(first.logits[i], again.logits[i])) ++out.logits_different;
    if (first.tokens[i] != again.tokens[i]) return;  // from here on they follow different texts
  }
}

std::vector<Version> versions_of(const device::RuntimeInfo& runtime, const device::PackageInfo& package,
                                 const calbin::Description& description) {
  const auto asked = [](const char* what, const std::optional<std::string>& value) {
    return Version{what, value, value ? "the device's own report" : "the device reports none"};
  };
  std::string commits;
  for (const auto& [part, commit] : description.provenance.commits)
    commits += fmt::format("{}{} {}", commits.empty() ? "" : ", ", part, commit);
  return {{"service", std::nullopt, "no service was measured: the figures were taken at the runtime boundary"},
          asked("runtime", runtime.runtime_version),
          asked("driver", runtime.driver_version),
          asked("firmware", runtime.firmware_version),
          {"calbin", package.version, "calbin.json"},
          {"source", commits.empty() ? std::nullopt : std::optional(commits),
           commits.empty() ? "calbin.json names no commit" : "calbin.json /provenance/commits"}};
}

Status measure(device::Device& device, const ProductOptions& options, device::Telemetry& telemetry,
               ProductReport& report) {
  CALKIT_TRY(const auto service, manifest::read_service(options.bench.service), "reading --service");
  CALKIT_TRY(auto session, device.configure(service, Deadline::in(options.bench.timeout)), "configuring the package");
  report.bench.configure = session.configure_report();
  device::SessionModel model(session);
  CALKIT_TRY(report.bench.cells, run_cells(model, options.bench));
  CALKIT_TRY(report.reproducibility, ask_again(model, options), "answering the same prompts again");
  CALKIT_TRY(telemetry, device.telemetry(), "reading the device's sensors");
  return {};
}

}  // namespace

Result<Reproducibility> ask_again(device::TokenModel& model, const ProductOptions& options) {
  const auto facts = model.facts();
  const auto room =
      std::min(facts.max_prefill_tokens, facts.context - static_cast<std::int64_t>(options.output_tokens));
  if (room < 1)
    return Error(ErrorKind::kInput, fmt::format("{} output tokens leave no room for a prompt in a context of {}",
                                                options.output_tokens, facts.context));
  Reproducibility out;
  out.repeats = options.repeats;
  for (std::uint64_t i = 0; i < options.prompts; ++i) {
    const auto length = std::min<std::int64_t>(room, static_cast<std::int64_t>(1 + 16 * i));  // 1, 17, 33, ...
    const auto prompt = random_tokens(options.bench.seed, length, facts.vocab, i);
    CALKIT_TRY(const Answer first, answer(model, options, prompt, out.sampling_ns), fmt::format("prompt {}", i));
    for (std::uint64_t again = 1; again < options.repeats; ++again) {
      CALKIT_TRY(const Answer other, answer(model, options, prompt, out.sampling_ns), fmt::format("prompt {}", i));
      count_differences(first, other, out);
    }
    ++out.prompts;
    out.tokens += first.tokens.size();
    out.asked.push_back(prompt);
    out.answered.push_back(first.tokens);
  }
  return out;
}

Result<ProductReport> freeze_product(const ProductOptions& options) {
  CALKIT_CHECK_OK(check_options(options));
  CALKIT_TRY(StagedDir stage, StagedDir::create(options.out), "creating the baseline's folder");
  ProductReport report;
  CALKIT_TRY(auto device, device::Device::open(options.bench.device, options.bench.builtin), "opening the device");
  report.bench.runtime = device.info();
  CALKIT_TRY(report.bench.package, device.load(options.bench.package), "loading the package");
  device::Telemetry telemetry;
  CALKIT_CHECK_OK(measure(device, options, telemetry, report));
  CALKIT_CHECK_OK(device.unload(), "unloading the package");
  CALKIT_TRY(const auto package, calbin::Package::open(options.bench.package), "reading the package");
  report.versions = versions_of(report.bench.runtime, report.bench.package, package.description());
  report.figures = product_figures(report.bench, telemetry, report.reproducibility);
  CALKIT_CHECK_OK(write_product_files(stage.path(), report), "writing the baseline");
  CALKIT_CHECK_OK(frozen::seal(stage.path()), "sealing the baseline");
  CALKIT_CHECK_OK(stage.commit(), "committing the baseline");
  return report;
}

}  // namespace calkit::load
