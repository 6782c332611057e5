#include "calkit/device/device.h"

#include <cmath>
#include <utility>

#include "calkit/base/process.h"
#include "connection.h"
#include "facts.h"
#include "session.h"

namespace calkit::device {

struct Device::State {
  std::shared_ptr<Connection> connection;
  RuntimeInfo info;
  PackageInfo package;
};

Device::Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

Result<Device> Device::open(const std::string& spec, calkit_device_entry_v1 builtin) {
  auto state = std::make_shared<State>();
  CALKIT_TRY(state->connection, Connection::open(spec, builtin), "opening device " + spec);
  calkit_device_info_v1 raw{};
  raw.size = sizeof raw;
  CALKIT_CHECK_OK(state->connection->call("info", state->connection->api().info, state->connection->device(), &raw));
  const auto maybe = [](const char* text) { return text != nullptr ? std::optional<std::string>(text) : std::nullopt; };
  state->info = {raw.name != nullptr ? raw.name : "", raw.emulated != 0, maybe(raw.runtime_version),
                 maybe(raw.driver_version), maybe(raw.firmware_version)};
  return Device(std::move(state));
}

const RuntimeInfo& Device::info() const {
  return state_->info;
}

Status Device::status() const {
  const Connection& connection = *state_->connection;
  return connection.call("health", connection.api().health, connection.device());
}

Result<Counters> Device::counters() const {
  const Connection& connection = *state_->connection;
  calkit_counters_v1 raw{};
  raw.size = sizeof raw;
  CALKIT_CHECK_OK(connection.call("counters", connection.api().counters, connection.device(), &raw));
  return Counters{raw.buffers,  raw.mapped,    raw.kv_slots,  raw.jobs,
                  raw.packages, raw.bytes_h2d, raw.bytes_d2h, raw.jobs_done};
}

Result<Telemetry> Device::telemetry() const {
  const Connection& connection = *state_->connection;
  calkit_telemetry_v1 raw{};
  raw.size = sizeof raw;
  CALKIT_CHECK_OK(connection.call("telemetry", connection.api().telemetry, connection.device(), &raw));
  const auto reading = [](const calkit_reading_v1& r) {
    return r.available != 0 && std::isfinite(r.value) ? std::optional<double>(r.value) : std::nullopt;
  };
  return Telemetry{reading(raw.power_w), reading(raw.temperature_c), reading(raw.clock_hz), reading(raw.resets)};
}

Result<PackageInfo> Device::load(const std::filesystem::path& package) {
  Connection& connection = *state_->connection;
  if (connection.package != nullptr)
    return Error{ErrorKind::kInput, "device: a package is loaded already", "end its session, or unload it, first"};
  const Status loaded =
      connection.call("load", connection.api().load, connection.device(), package.c_str(), &connection.package);
  // The boundary has no kind for it: a backend that was stopped while it hashed can only call the package bad.
  if (!loaded.ok() && interrupted()) return interrupted_error().during("loading the package " + package.string());
  CALKIT_CHECK_OK(loaded, "loading the package " + package.string());
  auto info = read_package_info(connection);
  if (!info.ok()) {
    (void)unload();
    return std::move(info).error().during("loading the package " + package.string());
  }
  state_->package = info.value();
  return info;
}

Result<Session> Device::configure(const manifest::ServiceManifest& service, Deadline deadline) {
  const std::shared_ptr<Connection>& connection = state_->connection;
  if (connection->session_alive)
    return Error{ErrorKind::kInput, "device: a session is alive already", "one session at a time"};
  if (connection->package == nullptr) return Error{ErrorKind::kInput, "device: no package is loaded", "load one first"};
  CALKIT_CHECK_OK(check_binding(*connection, state_->package, service),
                  "binding the package as the service manifest says");
  CALKIT_TRY(std::shared_ptr<SessionCore> core, SessionCore::create(connection, state_->package, service, deadline),
             "configuring the package");
  return Session(std::make_unique<Session::State>(Session::State{std::move(core)}));
}

Status Device::unload() {
  Connection& connection = *state_->connection;
  if (connection.session_alive) return Error{ErrorKind::kInput, "device: a session is alive", "end it first"};
  if (connection.package == nullptr) return {};
  CALKIT_CHECK_OK(connection.call("unload", connection.api().unload, connection.package));
  connection.package = nullptr;
  return {};
}

}  // namespace calkit::device
