#pragma once
/// The runtime boundary as C++: RAII over the C ABI (calkit/abi/device_v1.h). Nobody above this header sees a backend.
/// Threads: a Device and everything opened from it is used by one thread at a time.
/// Errors: kInput for arguments the package does not allow (the session stays usable), kDevice for device or runtime
/// failures, kTimeout when a deadline passes. Messages carry scope (request, model, device, host) and the backend's raw
/// code.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calkit/abi/device_v1.h"
#include "calkit/base/process.h"
#include "calkit/base/result.h"
#include "calkit/manifest/service.h"
#include "calkit/tensor/tensor.h"

namespace calkit::device {

struct RuntimeInfo {
  std::string name;
  bool emulated = false;
  std::optional<std::string> runtime_version, driver_version,
      firmware_version;  ///< nullopt: the device has none to tell
};

struct TensorInfo {
  std::string name, role;
  DType dtype = DType::kF32;
  Shape shape;  ///< physical
  Shape logical_shape;
  std::int64_t tile_rows = 0;  ///< D0; 0: no tiling
};
struct ModelInfo {
  std::string name, type;
  std::int64_t batch = 0, min_tokens = 0, max_tokens = 0, context = 0;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> csrs;
};
struct PackageInfo {
  std::string name, version, digest;  ///< digest: SHA-256 of calbin.json
  std::string architecture, runtime_abi;
  std::int64_t vocab = 0, context = 0, batch = 0, slots = 0, max_prefill_tokens = 0;
  std::uint64_t kv_bytes = 0;
  std::vector<ModelInfo> models;
};
struct ConfigureReport {
  std::chrono::nanoseconds duration{};
  std::uint64_t param_bytes = 0, kv_bytes = 0, workspace_bytes = 0, io_bytes = 0, host_bytes = 0;
};
/// What the device holds now: exact counters. All zero after everything was released.
struct Counters {
  std::uint64_t buffers = 0, mapped = 0, kv_slots = 0, jobs = 0, packages = 0;
  std::uint64_t bytes_h2d = 0, bytes_d2h = 0, jobs_done = 0;  ///< running totals
};
/// What the board's sensors say; nullopt: the device has no such reading.
struct Telemetry {
  std::optional<double> power_w, temperature_c, clock_hz, resets;
};
struct StageTimes {
  std::chrono::nanoseconds queue{}, h2d{}, infer{}, d2h{}, convert{};
};
struct StepOutput {
  std::vector<float> logits;  ///< [vocab] of the last token, tiling undone, padding beyond the vocabulary cut
  StageTimes times;
};

class Session;

class Device {
 public:
  /// @param spec "emu" or "plugin:PATH"; `builtin` is the emulated backend's entry point (the binary passes it in).
  static Result<Device> open(const std::string& spec, calkit_device_entry_v1 builtin);
  ~Device();
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;

  const RuntimeInfo& info() const;
  Status status() const;  ///< ok, or the device's own error
  Result<Counters> counters() const;
  Result<Telemetry> telemetry() const;
  /// Loads a package; exact model names only. The package is configured by the Session.
  Result<PackageInfo> load(const std::filesystem::path& package);
  /// Configures the loaded package and binds it as the service manifest says (exact names; every mismatch is kInput
  /// naming field, expected, found). One Session at a time; load() again after it is gone.
  Result<Session> configure(const manifest::ServiceManifest& service, Deadline deadline);
  Status unload();

 private:
  friend class Session;
  struct State;
  explicit Device(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// A KV slot of a session; freed when destroyed.
class Sequence {
 public:
  ~Sequence();
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;
  std::int64_t length() const;  ///< tokens in the cache

 private:
  friend class Session;
  struct State;
  explicit Sequence(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A configured package: sequences, prefill, decode.
class Session {
 public:
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const ConfigureReport& configure_report() const;
  const PackageInfo& package() const;
  /// Allocates and applies a KV slot. kInput (scope request, "KV exhausted") when all slots are taken.
  Result<Sequence> start();
  /// Runs a whole prompt: 1..max_prefill_tokens tokens on an empty sequence; writes cur_seq_len and
  /// past_kv_cur_seq_len, submits, waits.
  Result<StepOutput> prefill(Sequence& sequence, std::span<const std::int32_t> tokens, Deadline deadline);
  /// One more token of that sequence. kInput when the context is full.
  Result<StepOutput> decode(Sequence& sequence, std::int32_t token, Deadline deadline);

 private:
  friend class Device;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit::device
