#include "calkit/load/bench.h"

#include <fmt/format.h>

#include "calkit/base/log.h"

namespace calkit::load {

Result<std::vector<Cell>> run_cells(device::TokenModel& model, const BenchOptions& options) {
  std::vector<Cell> cells;
  std::uint64_t number = 0;
  for (const std::int64_t prompt : options.prompt_lengths)
    for (const std::int64_t output : options.output_lengths)
      for (const std::int64_t concurrency : options.concurrency) {
        CellSpec spec{prompt, output, concurrency, options.requests, options.warmup, options.seed + number++};
        const std::string name = fmt::format("prompt {} x output {} x concurrency {}", prompt, output, concurrency);
        log::debug("bench: " + name);
        CALKIT_TRY(auto cell, run_cell(model, spec, options.timeout), name);
        cells.push_back(std::move(cell));
      }
  return cells;
}

std::uint64_t BenchReport::failed() const {
  std::uint64_t total = 0;
  for (const Cell& cell : cells) total += cell.failed;
  return total;
}

Result<BenchReport> run_bench(const BenchOptions& options) {
  if (options.prompt_lengths.empty() || options.output_lengths.empty() || options.concurrency.empty())
    return Error(ErrorKind::kUsage, "the matrix is empty; at least one prompt length, output length and concurrency");
  BenchReport report;
  CALKIT_TRY(const auto service, manifest::read_service(options.service), "reading --service");
  CALKIT_TRY(auto device, device::Device::open(options.device, options.builtin), "opening the device");
  report.runtime = device.info();
  CALKIT_TRY(report.package, device.load(options.package), "loading the package");
  {
    CALKIT_TRY(auto session, device.configure(service, Deadline::in(options.timeout)), "configuring the package");
    report.configure = session.configure_report();
    device::SessionModel model(session);
    CALKIT_TRY(report.cells, run_cells(model, options));
  }
  CALKIT_CHECK_OK(device.unload(), "unloading the package");
  return report;
}

}  // namespace calkit::load
