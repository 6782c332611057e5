// The figures of a product baseline, and its documents.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "product_files.h"
#include "render.h"

namespace calkit::load {
namespace {

constexpr const char* kHost = "host, steady";
constexpr const char* kRuntime = "runtime";
constexpr const char* kNoService = "no service was measured: the figures were taken at the runtime boundary";

class Figures {
 public:
  explicit Figures(std::string cell = {}) : cell_(std::move(cell)) {}

  void add(std::string name, std::optional<double> value, const char* unit, const char* clock, std::uint64_t n,
           const char* why_none) {
    out.push_back({std::move(name), cell_, value, unit, clock, n, value ? "" : why_none});
  }
  void count(std::string name, std::uint64_t value, const char* unit, std::uint64_t n) {
    out.push_back({std::move(name), cell_, static_cast<double>(value), unit, "count", n, ""});
  }
  std::vector<ProductFigure> out;

 private:
  std::string cell_;
};

void add_stages(Figures& figures, const std::string& phase, const StageMeans& stages) {
  const char* none = "no such step was taken";
  figures.add(phase + "_queue_mean_ns", stages.queue_ns, "ns", kRuntime, stages.steps, none);
  figures.add(phase + "_h2d_mean_ns", stages.h2d_ns, "ns", kRuntime, stages.steps, none);
  figures.add(phase + "_infer_mean_ns", stages.infer_ns, "ns", kRuntime, stages.steps, none);
  figures.add(phase + "_d2h_mean_ns", stages.d2h_ns, "ns", kRuntime, stages.steps, none);
  figures.add(phase + "_to_f32_mean_ns", stages.convert_ns, "ns", kHost, stages.steps, none);
}

void add_cell(Figures& figures, const Cell& cell, std::int64_t context) {
  const char* none = "no request succeeded";
  const char* one = "a single output token has no time between tokens";
  for (const auto& [name, value] :
       {std::pair{"p50", cell.ttft_ns.p50}, {"p90", cell.ttft_ns.p90}, {"p99", cell.ttft_ns.p99}})
    figures.add(fmt::format("ttft_{}_ns", name), value, "ns", kHost, cell.ttft_ns.n, none);
  for (const auto& [name, value] :
       {std::pair{"p50", cell.tpot_ns.p50}, {"p90", cell.tpot_ns.p90}, {"p99", cell.tpot_ns.p99}})
    figures.add(fmt::format("tpot_{}_ns", name), value, "ns", kHost, cell.tpot_ns.n, one);
  figures.add("prefill_tokens_per_s", cell.prefill_tokens_per_s, "tokens/s", kHost, cell.prefill.steps, none);
  figures.add("decode_tokens_per_s", cell.decode_tokens_per_s, "tokens/s", kHost, cell.decode.steps, one);
  figures.add("output_tokens_per_s", cell.output_tokens_per_s, "tokens/s", kHost, cell.succeeded, none);
  add_stages(figures, "prefill", cell.prefill);
  add_stages(figures, "decode", cell.decode);
  const auto tokens = static_cast<std::uint64_t>(cell.spec.prompt_tokens + cell.spec.output_tokens - 1);
  figures.count("kv_tokens_per_sequence", tokens, "tokens", cell.succeeded);
  figures.add("kv_share_of_context", static_cast<double>(tokens) / static_cast<double>(context), "1", "count",
              cell.succeeded, none);
  figures.count("requests_failed", cell.failed, "requests", cell.succeeded + cell.failed);
}

Value to_value(const ProductFigure& f) {
  return Value::object({{"name", f.name},
                        {"cell", f.cell.empty() ? Value() : Value(f.cell)},
                        {"value", f.value},
                        {"unit", f.unit},
                        {"clock", f.clock},
                        {"n", f.n},
                        {"null_reason", f.value ? Value() : Value(f.reason)}});
}

Value to_value(const Version& v) {
  return Value::object({{"what", v.what},
                        {"value", v.value},
                        {"source", v.value ? Value(v.reason) : Value()},
                        {"null_reason", v.value ? Value() : Value(v.reason)}});
}

Value to_value(const Reproducibility& r) {
  return Value::object({{"prompts", r.prompts},
                        {"answers_to_each", r.repeats},
                        {"tokens_per_round", r.tokens},
                        {"answers_different", r.answers_different},
                        {"logits_different", r.logits_different}});
}

Value list(const auto& items) {
  Value out = Value::array();
  for (const auto& item : items) out.push(to_value(item));
  return out;
}

}  // namespace

std::vector<ProductFigure> product_figures(const BenchReport& bench, const device::Telemetry& telemetry,
                                           const Reproducibility& repeated) {
  Figures whole;
  const char* no_sensor = "the device has no such reading";
  whole.add("configure_ns", static_cast<double>(bench.configure.duration.count()), "ns", kHost, 1, "");
  whole.count("kv_capacity_bytes", bench.package.kv_bytes, "bytes", 1);
  whole.count("kv_slots", static_cast<std::uint64_t>(bench.package.slots), "sequences", 1);
  const auto sampling = measure::summarize(repeated.sampling_ns);
  whole.add("sampling_p50_ns", sampling.p50, "ns", kHost, sampling.n, "no token was chosen");
  whole.add("power_w", telemetry.power_w, "W", "sensor", 1, no_sensor);
  whole.add("temperature_c", telemetry.temperature_c, "degC", "sensor", 1, no_sensor);
  whole.add("clock_hz", telemetry.clock_hz, "Hz", "sensor", 1, no_sensor);
  whole.add("resets", telemetry.resets, "resets", "sensor", 1, no_sensor);
  whole.count("requests_failed", bench.failed(), "requests", 1);
  whole.add("client_first_byte_ns", std::nullopt, "ns", "client", 0, kNoService);
  whole.add("service_prompt_ns", std::nullopt, "ns", "service", 0, kNoService);
  whole.add("end_to_end_tokens_per_s", std::nullopt, "tokens/s", "client", 0, kNoService);
  auto out = std::move(whole.out);
  for (const Cell& cell : bench.cells) {
    Figures figures(fmt::format("prompt {}, output {}, concurrency {}", cell.spec.prompt_tokens,
                                cell.spec.output_tokens, cell.spec.concurrency));
    add_cell(figures, cell, bench.package.context);
    out.insert(out.end(), std::make_move_iterator(figures.out.begin()), std::make_move_iterator(figures.out.end()));
  }
  return out;
}

Value to_value(const ProductReport& r) {
  return Value::object({{"schema", "calkit.product-baseline/1"},
                        {"emulated", r.bench.runtime.emulated},
                        {"device", device_value(r.bench.runtime)},
                        {"package", package_value(r.bench.package)},
                        {"percentile_method", "nearest rank"},
                        {"versions", list(r.versions)},
                        {"figures", list(r.figures)},
                        {"reproducibility", to_value(r.reproducibility)},
                        {"env", Value::object({{"calkit", calkit_version()}, {"commit", calkit_commit()}})}});
}

Status write_product_files(const std::filesystem::path& staged_dir, const ProductReport& report) {
  CALKIT_CHECK_OK(write_file(staged_dir / kProductFile, to_json(to_value(report)) + "\n"));
  CALKIT_CHECK_OK(write_file(staged_dir / "cells.csv", to_csv(report.bench)));
  std::string lines;
  const Reproducibility& repeated = report.reproducibility;
  for (std::size_t i = 0; i < repeated.asked.size(); ++i)
    lines += to_json(Value::object({{"prompt_ids", Value::list(repeated.asked[i])},
                                    {"greedy_ids", Value::list(repeated.answered[i])}}),
                     {true, -1}) +
             "\n";
  return write_file(staged_dir / "tokens.jsonl", lines);
}

std::string to_text(const ProductReport& r) {
  std::string out = to_text(r.bench) + "\n";
  for (const Version& v : r.versions)
    out += fmt::format("{:<9} {}\n", v.what, v.value ? *v.value : "- (" + v.reason + ")");
  const auto& again = r.reproducibility;
  out += fmt::format("\n{} prompts answered {} times: {} answers and the logits of {} steps differ from the first\n",
                     again.prompts, again.repeats, again.answers_different, again.logits_different);
  const auto nulls = std::count_if(r.figures.begin(), r.figures.end(), [](const auto& f) { return !f.value; });
  out += fmt::format("{} figures, {} of them null with a reason\n", r.figures.size(), nulls);
  return out;
}

void record(const ProductReport& r, manifest::Evidence& evidence) {
  record(r.bench, evidence);
  const auto& again = r.reproducibility;
  evidence.figures.push_back(manifest::counted("answers_different", again.answers_different, "answers",
                                               "same prompts, fresh sequences, against the first answer"));
  evidence.figures.push_back(manifest::counted("logits_different", again.logits_different, "steps",
                                               "bit for bit, as long as the tokens are the same"));
  if (again.answers_different > 0)
    evidence.findings.push_back(
        fmt::format("{} answers to the same prompts differ: the output is not reproducible", again.answers_different));
  if (!evidence.findings.empty()) evidence.verdict = manifest::EvidenceVerdict::kFail;
  evidence.summary = fmt::format("{} figures, {} answers differ of {}{}", r.figures.size(), again.answers_different,
                                 again.prompts * (again.repeats > 0 ? again.repeats - 1 : 0),
                                 r.bench.runtime.emulated ? " [emulated]" : "");
  evidence.details = to_value(r);
}

}  // namespace calkit::load
