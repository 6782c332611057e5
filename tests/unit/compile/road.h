#pragma once
/// A model on the road for tests: exported graphs and a baseline frozen from the peer's goldens (Transformers), made
/// once per process; packages of it; and a session on the emulated device.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "calkit/calbin/package.h"
#include "calkit/compile/pack.h"
#include "calkit/device/device.h"
#include "calkit/emulator/emulator.h"
#include "calkit/frozen/baseline.h"
#include "scratch_dir.h"

namespace calkit::compile {

/// What the packages of a road are made from.
struct RoadShape {
  std::string model = "tiny-dense";
  DType dtype = DType::kF32;
  std::int64_t context = 2048, batch = 1;
};

class Road {
 public:
  /// The road of that shape, made at the first call.
  static const Road& of(const RoadShape& shape);
  explicit Road(const RoadShape& shape);

  const std::filesystem::path& dir() const { return dir_.path(); }
  std::filesystem::path onnx() const { return dir_ / "onnx"; }
  std::filesystem::path baseline() const { return dir_ / "base"; }
  const frozen::Reference& reference() const { return reference_; }  ///< the peer's
  PackOptions options(const std::filesystem::path& out) const;

 private:
  testing_support::ScratchDir dir_;
  frozen::Reference reference_;
};

/// A configured package on the emulated device.
struct Running {
  std::optional<device::Device> device;
  std::optional<device::Session> session;
};
Result<Running> start(const std::filesystem::path& package, const PackReport& report);
manifest::ServiceManifest service_of(const PackReport& report);

inline Deadline soon() {
  return Deadline::in(std::chrono::seconds(120));
}

/// How the device's answers compare with a reference.
struct Comparison {
  std::size_t prompts = 0, steps = 0, greedy_equal = 0, greedy_excused = 0;
  double nmse_max = 0;
};
/// Prefill logits of each prompt, then decode along the reference's tokens for at most `steps` steps.
/// @param margin below it another greedy token is excused.
Result<Comparison> compare(device::Session& session, const frozen::Reference& reference, std::size_t prompts,
                           std::size_t steps, double margin = 1e-3);

}  // namespace calkit::compile
