// The soak's figures as CSV rows, as a document, as text and as evidence.
#include <fmt/format.h>

#include <cmath>

#include "calkit/load/soak.h"
#include "render.h"

namespace calkit::load {
namespace {

using measure::LeakVerdict;

const char* verdict_word(LeakVerdict verdict) {
  if (verdict == LeakVerdict::kPass) return "pass";
  return verdict == LeakVerdict::kLeak ? "leak" : "inconclusive";
}

Value slope_value(const std::optional<measure::Slope>& slope) {
  if (!slope) return Value();
  // A bound that is infinite (too few samples for one) is written as null.
  return Value::object({{"bytes_per_cycle", slope->slope}, {"lower_95", slope->lower}, {"upper_95", slope->upper}});
}

Value to_value(const SeriesResult& s) {
  const measure::LeakJudgement& j = s.judgement;
  return Value::object({{"name", s.name},
                        {"verdict", verdict_word(j.verdict)},
                        {"slope", slope_value(j.slope)},
                        {"late_slope", slope_value(j.late_slope)},
                        {"level", j.level},
                        {"jump_cycle", j.jump ? Value(j.jump->cycle) : Value()},
                        {"reason", j.reason}});
}

Value to_value(const CounterResult& c) {
  return Value::object({{"name", c.name},
                        {"want", c.want},
                        {"last", c.last},
                        {"first_bad_cycle", c.first_bad_cycle == 0 ? Value() : Value(c.first_bad_cycle)}});
}

Value to_value(const SoakSample& s) {
  return Value::object({{"cycle", s.cycle},
                        {"elapsed_s", s.elapsed_s},
                        {"heap_bytes", s.process.heap_bytes},
                        {"anon_bytes", s.process.anon_bytes},
                        {"rss_bytes", s.process.rss_bytes},
                        {"fds", s.process.fds},
                        {"threads", s.process.threads},
                        {"children", s.process.children}});
}

template <class T>
Value list_of(const std::vector<T>& items) {
  Value out = Value::array();
  for (const T& item : items) out.push(to_value(item));
  return out;
}

std::string summary_of(const SoakReport& r) {
  const SoakResult& s = r.result;
  std::string out = fmt::format("{} cycles in {:.1f} s, verdict {}", s.cycles, s.elapsed_s, verdict_word(s.verdict));
  for (const SeriesResult& series : s.memory)
    if (series.name == "heap_bytes" && series.judgement.slope)
      out += fmt::format(", heap {:+.0f} B a cycle", series.judgement.slope->slope);
  if (!s.findings.empty()) out += "; " + s.findings.front();
  return out + (r.runtime.emulated ? " [emulated]" : "");
}

}  // namespace

std::string csv_header() {
  return "cycle,elapsed_s,heap_bytes,anon_bytes,rss_bytes,fds,threads,children,device_buffers,device_mapped,device_kv_"
         "slots,device_jobs,"
         "device_packages\n";
}

std::string csv_row(const SoakSample& s) {
  return fmt::format("{},{:.6f},{},{},{},{},{},{},{},{},{},{},{}\n", s.cycle, s.elapsed_s, s.process.heap_bytes,
                     s.process.anon_bytes, s.process.rss_bytes, s.process.fds, s.process.threads, s.process.children,
                     s.device.buffers, s.device.mapped, s.device.kv_slots, s.device.jobs, s.device.packages);
}

Value to_value(const SoakReport& r) {
  const SoakResult& s = r.result;
  return Value::object({{"schema", "calkit.soak/1"},
                        {"device", device_value(r.runtime)},
                        {"package", package_value(r.package)},
                        {"cycles", s.cycles},
                        {"warmup_cycles", r.plan.warmup},
                        {"budget_bytes_per_cycle", r.plan.budget_bytes},
                        {"elapsed_s", s.elapsed_s},
                        {"leak_verdict", verdict_word(s.verdict)},
                        {"drift_cycle", s.drift_cycle == 0 ? Value() : Value(s.drift_cycle)},
                        {"counters", list_of(s.counters)},
                        {"memory", list_of(s.memory)},
                        {"series_stride", s.stride},
                        {"series", list_of(s.series)},
                        {"findings", Value::list(s.findings)}});
}

std::string to_text(const SoakReport& r) {
  const SoakResult& s = r.result;
  std::string out = device_line(r.runtime, r.package);
  out += fmt::format("{} cycles of load, configure, run, unload in {:.1f} s\n", s.cycles, s.elapsed_s);
  for (const CounterResult& c : s.counters)
    out += fmt::format(
        "{:<16} {:>6} {}\n", c.name, c.want,
        c.first_bad_cycle == 0 ? "at every quiescent point" : fmt::format("at first, {} at the end", c.last));
  for (const SeriesResult& series : s.memory)
    out += fmt::format("{:<16} {}: {}\n", series.name, verdict_word(series.judgement.verdict), series.judgement.reason);
  out += s.drift_cycle == 0 ? "tokens           the same in every cycle\n"
                            : fmt::format("tokens           differ in cycle {}\n", s.drift_cycle);
  for (const std::string& finding : s.findings) out += fmt::format("finding          {}\n", finding);
  return out;
}

void record(const SoakReport& r, manifest::Evidence& evidence) {
  const SoakResult& s = r.result;
  evidence.device = evidence_device(r.runtime);
  evidence.figures.push_back(
      {"cycles", static_cast<double>(s.cycles), "cycles", s.cycles, "load, configure, run, unload"});
  for (const SeriesResult& series : s.memory) {
    const auto& slope = series.judgement.slope;
    evidence.figures.push_back({series.name + "_slope_per_cycle", slope ? std::optional(slope->slope) : std::nullopt,
                                "B", s.cycles, slope ? "Theil-Sen slope behind the warm-up" : series.judgement.reason});
  }
  for (const CounterResult& c : s.counters)
    evidence.figures.push_back({c.name + "_change", static_cast<double>(c.last) - static_cast<double>(c.want), "1",
                                s.cycles, "last against first quiescent point"});
  evidence.findings = s.findings;
  evidence.verdict = s.verdict == LeakVerdict::kPass   ? manifest::EvidenceVerdict::kPass
                     : s.verdict == LeakVerdict::kLeak ? manifest::EvidenceVerdict::kFail
                                                       : manifest::EvidenceVerdict::kIncomplete;
  evidence.summary = summary_of(r);
  evidence.details = to_value(r);
}

}  // namespace calkit::load
