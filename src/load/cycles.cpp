// The loop of the soak and its judge. Knows no device: it is given a cycle and a way to read the process.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>

#include "calkit/load/soak.h"

namespace calkit::load {
namespace {

using measure::LeakVerdict;

constexpr std::size_t kMaxSeries = 2000;

struct ExactCounter {
  const char* name;
  std::uint64_t (*read)(const SoakSample&);
};
const ExactCounter kCounters[] = {
    {"device_buffers", [](const SoakSample& s) { return s.device.buffers; }},
    {"device_mapped", [](const SoakSample& s) { return s.device.mapped; }},
    {"device_kv_slots", [](const SoakSample& s) { return s.device.kv_slots; }},
    {"device_jobs", [](const SoakSample& s) { return s.device.jobs; }},
    {"device_packages", [](const SoakSample& s) { return s.device.packages; }},
    {"fds", [](const SoakSample& s) -> std::uint64_t { return s.process.fds; }},
    {"threads", [](const SoakSample& s) -> std::uint64_t { return s.process.threads; }},
    {"children", [](const SoakSample& s) -> std::uint64_t { return s.process.children; }},
};

struct MemorySeries {
  const char* name;
  std::uint64_t (*read)(const SoakSample&);
};
const MemorySeries kMemory[] = {
    {"heap_bytes", [](const SoakSample& s) { return s.process.heap_bytes; }},
    {"anon_bytes", [](const SoakSample& s) { return s.process.anon_bytes; }},
    {"rss_bytes", [](const SoakSample& s) { return s.process.rss_bytes; }},
};

void lower(std::uint64_t& a, std::uint64_t b) {
  a = std::min(a, b);
}

// The series of a long soak must not look like a leak itself: it is thinned to the low water of neighbouring cycles.
class Series {
 public:
  explicit Series(SoakResult& out) : out_(out) { out_.series.reserve(kMaxSeries); }
  void add(const SoakSample& sample) {
    if (pending_ == 0)
      out_.series.push_back(sample);
    else
      merge(out_.series.back(), sample);
    pending_ = (pending_ + 1) % out_.stride;
    if (out_.series.size() == kMaxSeries && pending_ == 0) halve();
  }

 private:
  static void merge(SoakSample& into, const SoakSample& sample) {
    lower(into.process.heap_bytes, sample.process.heap_bytes);
    lower(into.process.anon_bytes, sample.process.anon_bytes);
    lower(into.process.rss_bytes, sample.process.rss_bytes);
  }
  void halve() {
    for (std::size_t i = 0; i < kMaxSeries / 2; ++i) {
      out_.series[i] = out_.series[2 * i];
      merge(out_.series[i], out_.series[2 * i + 1]);
    }
    out_.series.resize(kMaxSeries / 2);
    out_.stride *= 2;
  }
  SoakResult& out_;
  std::uint64_t pending_ = 0;
};

void check_counters(const SoakSample& sample, bool first, SoakResult& out) {
  for (std::size_t i = 0; i < std::size(kCounters); ++i) {
    const std::uint64_t value = kCounters[i].read(sample);
    if (first) out.counters.push_back({kCounters[i].name, value, value, 0});
    CounterResult& counter = out.counters[i];
    counter.last = value;
    if (value != counter.want && counter.first_bad_cycle == 0) counter.first_bad_cycle = sample.cycle;
  }
}

std::string fd_forecast(const CounterResult& counter, double per_cycle) {
  rlimit limit{};
  if (counter.name != "fds" || per_cycle <= 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY)
    return {};
  const double left = static_cast<double>(limit.rlim_cur) - static_cast<double>(counter.last);
  return fmt::format("; the limit of {} descriptors is reached in about {:.0f} more cycles", limit.rlim_cur,
                     std::max(0.0, left / per_cycle));
}

void judge_counters(const SoakPlan& plan, SoakResult& out) {
  for (const CounterResult& counter : out.counters) {
    if (counter.first_bad_cycle == 0) continue;
    const auto cycles = static_cast<double>(out.cycles - plan.warmup - 1);
    const double per_cycle =
        cycles > 0 ? (static_cast<double>(counter.last) - static_cast<double>(counter.want)) / cycles : 0;
    out.findings.push_back(fmt::format(
        "{}: {} at the first quiescent point (cycle {}), differs from cycle {} on, {} at cycle {} ({:+.2f} a cycle){}",
        counter.name, counter.want, plan.warmup + 1, counter.first_bad_cycle, counter.last, out.cycles, per_cycle,
        fd_forecast(counter, per_cycle)));
    out.verdict = LeakVerdict::kLeak;
  }
}

// The judge knows no unit; here the samples are bytes, and nobody reads 1.06402e+06.
std::string in_bytes(const measure::LeakJudgement& j, double budget) {
  if (j.verdict == LeakVerdict::kInconclusive || !j.slope || !j.late_slope) return j.reason;
  std::string out = fmt::format(
      "slope {:+.0f} B per cycle (lower bound {:+.0f} B), later half {:+.0f} B (lower bound {:+.0f} B), budget {:.0f} "
      "B",
      j.slope->slope, j.slope->lower, j.late_slope->slope, j.late_slope->lower, budget);
  if (j.verdict == LeakVerdict::kPass && j.jump)
    out += fmt::format("; level went from {:.0f} B to {:.0f} B at cycle {} and did not grow on", j.jump->from,
                       j.jump->to, j.jump->cycle);
  return out;
}

void judge_memory(const SoakPlan& plan, SoakResult& out) {
  std::string undecided;
  for (const MemorySeries& series : kMemory) {
    std::vector<double> values;
    for (const SoakSample& sample : out.series) values.push_back(static_cast<double>(series.read(sample)));
    const auto warmup = static_cast<std::size_t>((plan.warmup + out.stride - 1) / out.stride);
    const double budget = plan.budget_bytes * static_cast<double>(out.stride);
    auto judgement = measure::judge_cycles(values, budget, warmup);
    judgement.reason = in_bytes(judgement, budget);
    if (judgement.verdict == LeakVerdict::kLeak) {
      out.verdict = LeakVerdict::kLeak;
      out.findings.push_back(fmt::format("{} grows: {}", series.name, judgement.reason));
    }
    if (judgement.verdict == LeakVerdict::kInconclusive)
      undecided = fmt::format("{}: {}", series.name, judgement.reason);
    out.memory.push_back({series.name, std::move(judgement)});
  }
  if (undecided.empty() || out.verdict == LeakVerdict::kLeak) return;
  out.verdict = LeakVerdict::kInconclusive;
  out.findings.push_back("no verdict on memory: " + undecided);
}

void judge(const SoakPlan& plan, SoakResult& out) {
  out.verdict = LeakVerdict::kPass;
  judge_counters(plan, out);
  if (out.drift_cycle != 0) {
    out.verdict = LeakVerdict::kLeak;
    out.findings.push_back(
        fmt::format("cycle {} answered the same prompts with other tokens than cycle 1", out.drift_cycle));
  }
  judge_memory(plan, out);
  if (out.counters.empty() && out.verdict == LeakVerdict::kPass) {
    out.verdict = LeakVerdict::kInconclusive;
    out.findings.push_back("no quiescent point after the warm-up");
  }
}

bool over(const SoakPlan& plan, std::uint64_t cycles, double elapsed_s) {
  if (plan.duration) return cycles > 0 && elapsed_s >= static_cast<double>(plan.duration->count());
  return cycles >= plan.cycles;
}

}  // namespace

Result<ProcessUsage> quiescent_usage() {
  malloc_trim(0);
  return process_usage();
}

Result<SoakResult> run_cycles(const SoakPlan& plan, const RunCycle& cycle, const ReadUsage& usage,
                              const std::function<Status(const SoakSample&)>& on_sample) {
  SoakResult out;
  Series series(out);
  std::vector<std::int32_t> canary;
  const auto start = std::chrono::steady_clock::now();
  while (!over(plan, out.cycles, out.elapsed_s)) {
    if (interrupted()) return interrupted_error();
    SoakSample sample;
    sample.cycle = out.cycles + 1;
    {
      CALKIT_TRY(const CycleEnd end, cycle(), fmt::format("soak cycle {}", sample.cycle));
      if (sample.cycle == 1) canary = end.tokens;
      if (end.tokens != canary && out.drift_cycle == 0) out.drift_cycle = sample.cycle;
      sample.device = end.device;
    }
    CALKIT_TRY(sample.process, usage(), "reading what the process holds");
    out.cycles = sample.cycle;
    out.elapsed_s = sample.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (out.cycles > plan.warmup) check_counters(sample, out.cycles == plan.warmup + 1, out);
    series.add(sample);
    if (on_sample) CALKIT_CHECK_OK(on_sample(sample));
  }
  judge(plan, out);
  return out;
}

}  // namespace calkit::load
