#pragma once
/// freeze-baseline product: what a package on a device (and the service above it) does today, figure by figure, each
/// with its unit and clock, or null with the reason. On the emulated device it says so everywhere.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calkit/load/bench.h"

namespace calkit::load {

struct ProductOptions {
  BenchOptions bench;  ///< package, service manifest, device, matrix
  std::filesystem::path out;
  std::uint64_t prompts = 4, output_tokens = 16;  ///< of the reproducibility check
  std::uint64_t repeats = 3;                      ///< answers to each of them, 2 or more
};

/// A version, or why it is not known.
struct Version {
  std::string what;  ///< "service", "runtime", "driver", "firmware", "calbin", "source"
  std::optional<std::string> value;
  std::string reason;  ///< where it was read; or why there is none
};
/// A figure of one cell of the matrix (empty: of the whole run).
struct ProductFigure {
  std::string name, cell;
  std::optional<double> value;
  std::string unit, clock;  ///< clock: "host, steady", "runtime", "count", "sensor"
  std::uint64_t n = 0;
  std::string reason;  ///< why value is null
};
/// Each prompt was answered `repeats` times in fresh sequences.
struct Reproducibility {
  std::uint64_t prompts = 0, repeats = 0, tokens = 0;
  std::uint64_t answers_different = 0;  ///< answers whose tokens are not those of the first
  std::uint64_t logits_different = 0;   ///< steps whose logits are not the first's bit for bit, of equal tokens so far
  std::vector<std::vector<std::int32_t>> asked, answered;  ///< per prompt; the first answer
  std::vector<double> sampling_ns;                         ///< of every arg-max over the vocabulary
};
struct ProductReport {
  BenchReport bench;
  std::vector<Version> versions;
  std::vector<ProductFigure> figures;
  Reproducibility reproducibility;
};

/// Measures and writes OUT/{product.json, cells.csv, tokens.jsonl, SHA256SUMS}; OUT appears whole or not at all, an
/// earlier product baseline in it is replaced. kInput: OUT holds something else, a length does not fit the package.
Result<ProductReport> freeze_product(const ProductOptions& options);

/// The parts of it, for tests: the answers, and the figures from cells, readings and counts.
Result<Reproducibility> ask_again(device::TokenModel& model, const ProductOptions& options);
std::vector<ProductFigure> product_figures(const BenchReport& bench, const device::Telemetry& telemetry,
                                           const Reproducibility& repeated);

Value to_value(const ProductReport& report);  ///< schema calkit.product-baseline/1, docs/formats/product.md
std::string to_text(const ProductReport& report);
void record(const ProductReport& report, manifest::Evidence& evidence);

}  // namespace calkit::load
