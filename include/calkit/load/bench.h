#pragma once
/// Closed-loop load on the runtime: C clients, each asking again as soon as it was answered, on the package's KV slots.
///   TTFT  from the client's intended start (waiting for a slot included) to the first token
///   TPOT  (last token - first token) / (tokens - 1) of one request; none for a single token
///   slots fewer than clients: first come, first served; active sequences take decode steps in turn, one each
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/value.h"
#include "calkit/device/token_model.h"
#include "calkit/manifest/evidence.h"
#include "calkit/measure/stats.h"

namespace calkit::load {

/// Steady time; tests pass a clock of their own.
using Now = std::function<std::chrono::nanoseconds()>;
std::chrono::nanoseconds steady_now();

struct CellSpec {
  std::int64_t prompt_tokens = 16, output_tokens = 16, concurrency = 1;
  std::uint64_t requests = 8;  ///< measured ones
  std::uint64_t warmup = 1;    ///< before the clock starts, one at a time
  std::uint64_t seed = 1;      ///< of the prompts: random tokens, none twice while there are ids enough
};

/// Mean of one step's stages; nullopt when no step was taken.
struct StageMeans {
  std::uint64_t steps = 0;
  std::optional<double> queue_ns, h2d_ns, infer_ns, d2h_ns, convert_ns;
};

struct Cell {
  CellSpec spec;
  std::uint64_t succeeded = 0, failed = 0;
  std::string first_failure;
  measure::Summary ttft_ns, tpot_ns, e2e_ns;   ///< of the requests that succeeded
  std::optional<double> prefill_tokens_per_s;  ///< prompt tokens over the time spent in prefills
  std::optional<double> decode_tokens_per_s;   ///< decoded tokens over the time spent in decode steps
  std::optional<double> output_tokens_per_s;   ///< all answered tokens over the cell's wall time
  std::chrono::nanoseconds wall{};
  StageMeans prefill, decode;
};

/// kInput if the lengths do not fit the package. A request that fails for a reason of its own is counted; kDevice,
/// kTimeout and kInterrupted end the run.
Result<Cell> run_cell(device::TokenModel& model, const CellSpec& spec, std::chrono::nanoseconds timeout,
                      const Now& now = steady_now);

struct BenchOptions {
  std::filesystem::path package, service;
  std::string device = "emu";
  calkit_device_entry_v1 builtin = nullptr;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  std::vector<std::int64_t> prompt_lengths = {16, 128}, output_lengths = {16}, concurrency = {1, 2, 4};
  std::uint64_t requests = 8, warmup = 1, seed = 1;
};
struct BenchReport {
  device::RuntimeInfo runtime;
  device::PackageInfo package;
  device::ConfigureReport configure;
  std::vector<Cell> cells;
  std::uint64_t failed() const;
};
Result<BenchReport> run_bench(const BenchOptions& options);

/// The cells of the matrix, in the order prompt, output, concurrency.
Result<std::vector<Cell>> run_cells(device::TokenModel& model, const BenchOptions& options);

/// Percentiles an upper bound of which needs more samples than there are: P90 needs 29, P99 needs 299.
std::vector<std::string> too_few_for(std::size_t samples);

/// The report document, schema calkit.bench/1 (docs/cli/bench.md); the same figures as CSV and as a table.
Value to_value(const BenchReport& report);
std::string to_csv(const BenchReport& report);
std::string to_text(const BenchReport& report);
void record(const BenchReport& report, manifest::Evidence& evidence);

}  // namespace calkit::load
