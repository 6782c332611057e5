// The bench's figures as a document, as CSV, as a table and as evidence.
#include <fmt/format.h>

#include "calkit/load/bench.h"
#include "render.h"

namespace calkit::load {
namespace {

constexpr double kMillisecond = 1e6;

Value to_value(const measure::Summary& s) {
  return Value::object({{"n", s.n},
                        {"mean", s.mean},
                        {"min", s.min},
                        {"p50", s.p50},
                        {"p90", s.p90},
                        {"p99", s.p99},
                        {"max", s.max},
                        {"n_too_small_for", Value::list(too_few_for(s.n))}});
}

Value to_value(const StageMeans& s) {
  return Value::object({{"steps", s.steps},
                        {"queue_ns", s.queue_ns},
                        {"h2d_ns", s.h2d_ns},
                        {"infer_ns", s.infer_ns},
                        {"d2h_ns", s.d2h_ns},
                        {"convert_ns", s.convert_ns}});
}

Value to_value(const Cell& c) {
  return Value::object({{"prompt_tokens", c.spec.prompt_tokens},
                        {"output_tokens", c.spec.output_tokens},
                        {"concurrency", c.spec.concurrency},
                        {"requests", c.spec.requests},
                        {"warmup_requests", c.spec.warmup},
                        {"seed", c.spec.seed},
                        {"succeeded", c.succeeded},
                        {"failed", c.failed},
                        {"first_failure", c.first_failure.empty() ? Value() : Value(c.first_failure)},
                        {"ttft_ns", to_value(c.ttft_ns)},
                        {"tpot_ns", to_value(c.tpot_ns)},
                        {"e2e_ns", to_value(c.e2e_ns)},
                        {"prefill_tokens_per_s", c.prefill_tokens_per_s},
                        {"decode_tokens_per_s", c.decode_tokens_per_s},
                        {"output_tokens_per_s", c.output_tokens_per_s},
                        {"wall_ns", static_cast<std::int64_t>(c.wall.count())},
                        {"prefill_stages", to_value(c.prefill)},
                        {"decode_stages", to_value(c.decode)}});
}

std::string csv(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : "";
}
std::string milliseconds(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value / kMillisecond) : "-";
}
std::string microseconds(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value / 1e3) : "-";
}
std::string whole(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : "-";
}

// "3.41*" when n is too small for that percentile.
std::string flagged(const std::optional<double>& value, std::size_t n, std::size_t needed) {
  return milliseconds(value) + (value && n < needed ? "*" : "");
}

std::string row(const Cell& c) {
  return fmt::format("{:>6} {:>6} {:>4} {:>5} {:>4} | {:>8} {:>9} {:>9} | {:>7} {:>8} {:>8} | {:>8} {:>8} {:>8}\n",
                     c.spec.prompt_tokens, c.spec.output_tokens, c.spec.concurrency, c.succeeded, c.failed,
                     milliseconds(c.ttft_ns.p50), flagged(c.ttft_ns.p90, c.ttft_ns.n, kSamplesForP90),
                     flagged(c.ttft_ns.p99, c.ttft_ns.n, kSamplesForP99), milliseconds(c.tpot_ns.p50),
                     flagged(c.tpot_ns.p90, c.tpot_ns.n, kSamplesForP90),
                     flagged(c.tpot_ns.p99, c.tpot_ns.n, kSamplesForP99), whole(c.prefill_tokens_per_s),
                     whole(c.decode_tokens_per_s), whole(c.output_tokens_per_s));
}

std::string stage_row(std::string_view name, const Cell& c, const StageMeans& s) {
  return fmt::format("{:>6} {:>6} {:>4} {:<8} {:>8} {:>8} {:>10} {:>8} {:>8}\n", c.spec.prompt_tokens,
                     c.spec.output_tokens, c.spec.concurrency, name, microseconds(s.queue_ns), microseconds(s.h2d_ns),
                     microseconds(s.infer_ns), microseconds(s.d2h_ns), microseconds(s.convert_ns));
}

}  // namespace

std::vector<std::string> too_few_for(std::size_t samples) {
  std::vector<std::string> out;
  if (samples < kSamplesForP90) out.push_back("p90");
  if (samples < kSamplesForP99) out.push_back("p99");
  return out;
}

Value to_value(const BenchReport& r) {
  Value cells = Value::array();
  for (const Cell& cell : r.cells) cells.push(to_value(cell));
  return Value::object({{"schema", "calkit.bench/1"},
                        {"device", device_value(r.runtime)},
                        {"package", package_value(r.package)},
                        {"loop", "closed"},
                        {"target", "runtime"},
                        {"slots", r.package.slots},
                        {"percentile_method", "nearest rank"},
                        {"configure_ns", static_cast<std::int64_t>(r.configure.duration.count())},
                        {"cells", std::move(cells)}});
}

std::string to_csv(const BenchReport& r) {
  std::string out =
      "device,prompt_tokens,output_tokens,concurrency,requests,succeeded,failed,ttft_p50_ns,ttft_p90_ns,ttft_p99_ns,"
      "tpot_n,tpot_p50_ns,"
      "tpot_p90_ns,tpot_p99_ns,prefill_tokens_per_s,decode_tokens_per_s,output_tokens_per_s,n_too_small_for\n";
  for (const Cell& c : r.cells)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                       r.runtime.emulated ? "emulated" : "plugin", c.spec.prompt_tokens, c.spec.output_tokens,
                       c.spec.concurrency, c.spec.requests, c.succeeded, c.failed, csv(c.ttft_ns.p50),
                       csv(c.ttft_ns.p90), csv(c.ttft_ns.p99), c.tpot_ns.n, csv(c.tpot_ns.p50), csv(c.tpot_ns.p90),
                       csv(c.tpot_ns.p99), csv(c.prefill_tokens_per_s), csv(c.decode_tokens_per_s),
                       csv(c.output_tokens_per_s), fmt::join(too_few_for(c.ttft_ns.n), " "));
  return out;
}

std::string to_text(const BenchReport& r) {
  std::string out = device_line(r.runtime, r.package);
  out += fmt::format(
      "closed loop on {} KV slots; TTFT and TPOT in ms, rates in tokens/s; * n too small for this percentile\n\n",
      r.package.slots);
  out +=
      "prompt output conc    ok fail | TTFT P50       P90       P99 | TPOT P50   P90      P99 |  prefill   decode   "
      "output\n";
  for (const Cell& c : r.cells) out += row(c);
  out += "\nmean of each stage, us\nprompt output conc step        queue      h2d      infer      d2h  convert\n";
  for (const Cell& c : r.cells)
    out += stage_row("prefill", c, c.prefill) + (c.decode.steps > 0 ? stage_row("decode", c, c.decode) : "");
  for (const Cell& c : r.cells)
    if (!c.first_failure.empty()) out += fmt::format("\nfailed: {}", c.first_failure);
  return out;
}

void record(const BenchReport& r, manifest::Evidence& evidence) {
  evidence.device = evidence_device(r.runtime);
  std::uint64_t succeeded = 0;
  for (const Cell& c : r.cells) {
    succeeded += c.succeeded;
    const std::string at = fmt::format("prompt {}, output {}, concurrency {}", c.spec.prompt_tokens,
                                       c.spec.output_tokens, c.spec.concurrency);
    const std::string key = fmt::format("p{}_o{}_c{}", c.spec.prompt_tokens, c.spec.output_tokens, c.spec.concurrency);
    const auto figure = [&](std::string name, std::optional<double> value, std::string unit, std::uint64_t n,
                            std::string_view why_none) {
      evidence.figures.push_back(
          {fmt::format("{}_{}", name, key), value, std::move(unit), n, value ? at : std::string(why_none)});
    };
    figure("ttft_p50_ns", c.ttft_ns.p50, "ns", c.ttft_ns.n, "no request succeeded");
    figure("tpot_p50_ns", c.tpot_ns.p50, "ns", c.tpot_ns.n, "a single output token has no time between tokens");
    figure("prefill_tokens_per_s", c.prefill_tokens_per_s, "tokens/s", c.prefill.steps, "no prefill was timed");
    figure("decode_tokens_per_s", c.decode_tokens_per_s, "tokens/s", c.decode.steps, "no decode step was timed");
    if (!c.first_failure.empty())
      evidence.findings.push_back(
          fmt::format("{}: {} of {} requests failed; {}", at, c.failed, c.spec.requests, c.first_failure));
  }
  const std::uint64_t failed = r.failed();
  evidence.figures.push_back(
      {"requests_succeeded", static_cast<double>(succeeded), "requests", succeeded + failed, "warm-up left out"});
  evidence.figures.push_back(
      {"requests_failed", static_cast<double>(failed), "requests", succeeded + failed, "warm-up left out"});
  evidence.verdict = failed == 0 && succeeded > 0 ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary = fmt::format("{} cells, {} requests, {} failed", r.cells.size(), succeeded + failed, failed);
  if (!r.cells.empty())
    evidence.summary +=
        fmt::format(", TTFT P50 {} ms and decode {} tokens/s in the first cell",
                    milliseconds(r.cells.front().ttft_ns.p50), whole(r.cells.front().decode_tokens_per_s));
  if (r.runtime.emulated) evidence.summary += " [emulated]";
  evidence.details = to_value(r);
}

}  // namespace calkit::load
