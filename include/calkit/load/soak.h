#pragma once
/// Load, run, unload, over and over: does anything stay behind? Exact counters are compared first; memory, which is
/// never exact, is judged by its slope over the cycles (measure::judge_cycles).
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/process.h"
#include "calkit/base/value.h"
#include "calkit/device/token_model.h"
#include "calkit/manifest/evidence.h"
#include "calkit/measure/stats.h"

namespace calkit::load {

struct SoakPlan {
  std::uint64_t cycles = 30;
  std::optional<std::chrono::seconds> duration;  ///< instead of a number of cycles
  std::uint64_t warmup = 3;                      ///< cycles before the first quiescent point that counts
  double budget_bytes = 52428.8;                 ///< 0.05 MiB a cycle: what the memory series may grow
};

/// What one cycle leaves when everything is released again.
struct CycleEnd {
  std::vector<std::int32_t> tokens;  ///< the answer to the canary prompts: the same in every cycle
  device::Counters device;
};
/// The two things a soak watches. Tests plant leaks through them.
using RunCycle = std::function<Result<CycleEnd>()>;
using ReadUsage = std::function<Result<ProcessUsage>()>;
/// Gives free memory back to the system, then reads what the process holds.
Result<ProcessUsage> quiescent_usage();

struct SoakSample {
  std::uint64_t cycle = 0;  ///< from 1
  double elapsed_s = 0;
  device::Counters device;
  ProcessUsage process;
};
std::string csv_header();
std::string csv_row(const SoakSample& sample);

/// An exact counter: `want` is its value at the first quiescent point.
struct CounterResult {
  std::string name;
  std::uint64_t want = 0, last = 0;
  std::uint64_t first_bad_cycle = 0;  ///< 0: never differed
};
struct SeriesResult {
  std::string name;  ///< "heap_bytes", "anon_bytes", "rss_bytes"
  measure::LeakJudgement judgement;
};
struct SoakResult {
  std::uint64_t cycles = 0;
  double elapsed_s = 0;
  std::vector<SoakSample> series;  ///< at most 2000: longer runs keep the lowest memory of each `stride` cycles
  std::uint64_t stride = 1;
  std::vector<CounterResult> counters;
  std::vector<SeriesResult> memory;
  std::uint64_t drift_cycle = 0;  ///< first cycle whose tokens differ from those of cycle 1; 0: none
  measure::LeakVerdict verdict = measure::LeakVerdict::kInconclusive;
  std::vector<std::string> findings;
};
/// Errors of a cycle end the run, with the number of the cycle. `on_sample` is called after each cycle.
Result<SoakResult> run_cycles(const SoakPlan& plan, const RunCycle& cycle, const ReadUsage& usage,
                              const std::function<Status(const SoakSample&)>& on_sample = {});

struct SoakOptions {
  std::filesystem::path package, service;
  std::optional<std::filesystem::path> csv;  ///< rows go to FILE.partial as they come; renamed to FILE at the end
  std::string device = "emu";
  calkit_device_entry_v1 builtin = nullptr;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  SoakPlan plan;
  std::uint64_t prompts = 3, output_tokens = 8, seed = 1;
};
struct SoakReport {
  device::RuntimeInfo runtime;
  device::PackageInfo package;
  SoakPlan plan;
  SoakResult result;
};
Result<SoakReport> run_soak(const SoakOptions& options);

/// The report document, schema calkit.soak/1 (docs/cli/soak.md).
Value to_value(const SoakReport& report);
std::string to_text(const SoakReport& report);
void record(const SoakReport& report, manifest::Evidence& evidence);

}  // namespace calkit::load
