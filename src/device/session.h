#pragma once
/// The state behind Session and Sequence. It lives as long as either of them, so that either may go first.
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calkit/device/device.h"
#include "connection.h"

namespace calkit::device {

/// One buffer of the boundary, destroyed with its owner.
struct BoundBuffer {
  calkit_buffer_v1* handle = nullptr;
  calkit_layout_v1 layout{};
};

/// Prefill or decode, ready to be called.
struct BoundModel {
  std::string name;
  std::int64_t max_tokens = 0;
  BoundBuffer token, position, logits;
};

class SessionCore {
 public:
  static Result<std::shared_ptr<SessionCore>> create(std::shared_ptr<Connection> connection, const PackageInfo& package,
                                                     const manifest::ServiceManifest& service, Deadline deadline);
  /// Gives buffers back and unloads the package: a session takes its package with it.
  ~SessionCore();
  SessionCore(const SessionCore&) = delete;
  SessionCore& operator=(const SessionCore&) = delete;

  Connection& connection() const { return *connection_; }
  const PackageInfo& package() const { return package_; }
  const ConfigureReport& report() const { return report_; }
  const BoundModel& prefill() const { return prefill_; }
  const BoundModel& decode() const { return decode_; }
  std::int64_t context() const { return service_.context; }

  /// One call of a submodel for one row: writes inputs and CSRs, submits, waits, reads the logits.
  Result<StepOutput> step(const BoundModel& model, calkit_kv_v1* kv, std::int64_t past,
                          std::span<const std::int32_t> tokens, Deadline deadline);

 private:
  SessionCore() = default;
  Result<BoundBuffer> make_buffer(const std::string& model, std::uint32_t direction, std::uint32_t index);
  Status bind(BoundModel& model, const std::string& name);
  Status write_row(const BoundBuffer& buffer, std::span<const std::int64_t> values);
  Status write_inputs(const BoundModel& model, std::int64_t past, std::span<const std::int32_t> tokens);
  Status read_logits(const BoundBuffer& buffer, StepOutput& out);
  Status run_job(const BoundModel& model, Deadline deadline, StageTimes& times);

  std::shared_ptr<Connection> connection_;
  PackageInfo package_;
  manifest::ServiceManifest service_;
  ConfigureReport report_;
  BoundModel prefill_, decode_;
  std::vector<calkit_buffer_v1*> buffers_;
};

struct Session::State {
  std::shared_ptr<SessionCore> core;
};

}  // namespace calkit::device
