#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "calkit/base/log.h"

namespace calkit::device {
namespace {

using Clock = std::chrono::steady_clock;

void warn(const Status& status) {
  if (!status.ok()) log::warning(status.error().message);
}

/// A mapped buffer, unmapped when it goes out of scope.
class Mapping {
 public:
  static Result<Mapping> open(const Connection& connection, const BoundBuffer& buffer, std::uint32_t mode) {
    Mapping out(connection, buffer.handle);
    void* data = nullptr;
    std::uint64_t bytes = 0;
    CALKIT_CHECK_OK(connection.call("buffer_map", connection.api().buffer_map, buffer.handle, mode, &data, &bytes));
    out.data_ = static_cast<std::byte*>(data);
    if (data == nullptr || bytes < buffer.layout.bytes)
      return Error{ErrorKind::kDevice,
                   fmt::format("device: buffer_map gave {} B; the layout needs {} B", bytes, buffer.layout.bytes)};
    return out;
  }
  ~Mapping() {
    if (data_ != nullptr) warn(connection_->call("buffer_unmap", connection_->api().buffer_unmap, buffer_));
  }
  Mapping(Mapping&& other) noexcept
      : connection_(other.connection_), buffer_(other.buffer_), data_(std::exchange(other.data_, nullptr)) {}
  Mapping& operator=(Mapping&&) = delete;

  std::byte* data() const { return data_; }

 private:
  Mapping(const Connection& connection, calkit_buffer_v1* buffer) : connection_(&connection), buffer_(buffer) {}
  const Connection* connection_;
  calkit_buffer_v1* buffer_;
  std::byte* data_ = nullptr;
};

/// A submitted job, released when it goes out of scope.
class Job {
 public:
  explicit Job(const Connection& connection) : connection_(connection) {}
  ~Job() {
    if (handle != nullptr) warn(connection_.call("job_release", connection_.api().job_release, handle));
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  calkit_job_v1* handle = nullptr;

 private:
  const Connection& connection_;
};

Result<std::int64_t> nanoseconds_left(const Deadline& deadline, const char* what) {
  const std::int64_t left = deadline.left().count();
  if (left <= 0) return Error{ErrorKind::kTimeout, fmt::format("device: the deadline passed before {}", what)};
  return left;
}

}  // namespace

Result<std::shared_ptr<SessionCore>> SessionCore::create(std::shared_ptr<Connection> connection,
                                                         const PackageInfo& package,
                                                         const manifest::ServiceManifest& service, Deadline deadline) {
  CALKIT_TRY(const std::int64_t left, nanoseconds_left(deadline, "configure"));
  calkit_memory_report_v1 memory{};
  memory.size = sizeof memory;
  CALKIT_CHECK_OK(connection->call("configure", connection->api().configure, connection->package, left, &memory));
  std::shared_ptr<SessionCore> core(new SessionCore());
  core->connection_ = std::move(connection);
  core->connection_->session_alive = true;
  core->package_ = package;
  core->service_ = service;
  core->report_ = {std::chrono::nanoseconds(memory.duration_ns),
                   memory.param_bytes,
                   memory.kv_bytes,
                   memory.workspace_bytes,
                   memory.io_bytes,
                   memory.host_bytes};
  CALKIT_CHECK_OK(core->bind(core->prefill_, service.prefill_model));
  CALKIT_CHECK_OK(core->bind(core->decode_, service.decode_model));
  return core;
}

SessionCore::~SessionCore() {
  const calkit_device_api_v1& api = connection_->api();
  for (calkit_buffer_v1* buffer : buffers_) warn(connection_->call("buffer_destroy", api.buffer_destroy, buffer));
  const Status unloaded = connection_->call("unload", api.unload, connection_->package);
  warn(unloaded);
  if (unloaded.ok()) connection_->package = nullptr;
  connection_->session_alive = false;
}

Result<BoundBuffer> SessionCore::make_buffer(const std::string& model, std::uint32_t direction, std::uint32_t index) {
  calkit_tensor_info_v1 info{};
  info.size = sizeof info;
  info.layout.size = sizeof info.layout;
  const calkit_device_api_v1& api = connection_->api();
  CALKIT_CHECK_OK(
      connection_->call("tensor_info", api.tensor_info, connection_->package, model.c_str(), direction, index, &info));
  BoundBuffer out;
  out.layout = info.layout;
  CALKIT_CHECK_OK(connection_->call("buffer_create", api.buffer_create, connection_->package, model.c_str(), direction,
                                    info.name, &out.handle));
  buffers_.push_back(out.handle);
  return out;
}

Status SessionCore::bind(BoundModel& model, const std::string& name) {
  model.name = name;
  for (const ModelInfo& info : package_.models)
    if (info.name == name) model.max_tokens = info.max_tokens;
  CALKIT_TRY(model.token, make_buffer(name, CALKIT_INPUT, service_.token.index));
  CALKIT_TRY(model.position, make_buffer(name, CALKIT_INPUT, service_.position.index));
  CALKIT_TRY(model.logits, make_buffer(name, CALKIT_OUTPUT, service_.logits.index));
  return {};
}

Status SessionCore::write_row(const BoundBuffer& buffer, std::span<const std::int64_t> values) {
  const calkit_layout_v1& layout = buffer.layout;
  if (static_cast<std::int64_t>(values.size()) > layout.logical_shape[1])
    return Error{ErrorKind::kInternal,
                 fmt::format("{} values for a row of {}", values.size(), layout.logical_shape[1])};
  CALKIT_TRY(const Mapping mapping, Mapping::open(*connection_, buffer, CALKIT_MAP_WRITE));
  std::byte* at = mapping.data();
  for (const std::int64_t value : values) {
    const auto narrow = static_cast<std::int32_t>(value);
    if (layout.dtype == CALKIT_I64)
      std::memcpy(at, &value, sizeof value);
    else
      std::memcpy(at, &narrow, sizeof narrow);
    at += layout.strides_bytes[1];
  }
  return {};
}

Status SessionCore::write_inputs(const BoundModel& model, std::int64_t past, std::span<const std::int32_t> tokens) {
  std::vector<std::int64_t> values(tokens.begin(), tokens.end());
  CALKIT_CHECK_OK(write_row(model.token, values));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = past + static_cast<std::int64_t>(i);
  CALKIT_CHECK_OK(write_row(model.position, values));
  const calkit_device_api_v1& api = connection_->api();
  const auto write = [&](const manifest::Binding& csr, std::int64_t value) {
    return connection_->call("csr_write", api.csr_write, connection_->package, model.name.c_str(), csr.name.c_str(),
                             csr.index, value);
  };
  CALKIT_CHECK_OK(write(service_.csr_current, static_cast<std::int64_t>(tokens.size())));
  return write(service_.csr_past_current, past);
}

Status SessionCore::run_job(const BoundModel& model, Deadline deadline, StageTimes& times) {
  const calkit_device_api_v1& api = connection_->api();
  calkit_buffer_v1* const buffers[] = {model.token.handle, model.position.handle, model.logits.handle};
  calkit_submit_v1 call{};
  call.size = sizeof call;
  call.rows = 1;
  call.model = model.name.c_str();
  call.buffers = buffers;
  call.buffer_count = std::size(buffers);
  Job job(*connection_);
  CALKIT_CHECK_OK(connection_->call("submit", api.submit, connection_->package, &call, &job.handle));
  CALKIT_TRY(const std::int64_t left, nanoseconds_left(deadline, "wait"));
  std::uint32_t state = CALKIT_JOB_RUNNING;
  CALKIT_CHECK_OK(connection_->call("wait", api.wait, job.handle, left, &state));
  if (state != CALKIT_JOB_DONE)
    return Error{ErrorKind::kDevice, fmt::format("device: wait returned without an error in state {}", state)};
  calkit_job_times_v1 raw{};
  raw.size = sizeof raw;
  CALKIT_CHECK_OK(connection_->call("job_times", api.job_times, job.handle, &raw));
  times.queue = std::chrono::nanoseconds(raw.queue_ns);
  times.h2d = std::chrono::nanoseconds(raw.h2d_ns);
  times.infer = std::chrono::nanoseconds(raw.infer_ns);
  times.d2h = std::chrono::nanoseconds(raw.d2h_ns);
  return {};
}

Status SessionCore::read_logits(const BoundBuffer& buffer, StepOutput& out) {
  CALKIT_TRY(const Mapping mapping, Mapping::open(*connection_, buffer, CALKIT_MAP_READ));
  const auto start = Clock::now();
  const calkit_layout_v1& layout = buffer.layout;
  out.logits.resize(static_cast<std::size_t>(service_.vocab));
  const std::byte* at = mapping.data();  // row 0: the tile's padding rows come after it and are never read
  for (float& logit : out.logits) {
    if (layout.dtype == CALKIT_BF16) {
      BF16 value;
      std::memcpy(&value.bits, at, sizeof value.bits);
      logit = to_float(value);
    } else {
      std::memcpy(&logit, at, sizeof logit);
    }
    at += layout.strides_bytes[1];
  }
  out.times.convert = Clock::now() - start;
  return {};
}

Result<StepOutput> SessionCore::step(const BoundModel& model, calkit_kv_v1* kv, std::int64_t past,
                                     std::span<const std::int32_t> tokens, Deadline deadline) {
  StepOutput out;
  CALKIT_CHECK_OK(connection_->call("kv_apply", connection_->api().kv_apply, kv, 0u));
  CALKIT_CHECK_OK(write_inputs(model, past, tokens));
  CALKIT_CHECK_OK(run_job(model, deadline, out.times));
  CALKIT_CHECK_OK(read_logits(model.logits, out));
  return out;
}

struct Sequence::State {
  std::shared_ptr<SessionCore> core;
  calkit_kv_v1* kv = nullptr;
  std::int64_t length = 0;
  bool broken = false;  ///< a job failed after it had begun to write the cache

  ~State() { warn(core->connection().call("kv_free", core->connection().api().kv_free, kv)); }
};

Sequence::Sequence(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sequence::~Sequence() = default;
Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(Sequence&&) noexcept = default;
std::int64_t Sequence::length() const {
  return state_->length;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
const ConfigureReport& Session::configure_report() const {
  return state_->core->report();
}
const PackageInfo& Session::package() const {
  return state_->core->package();
}

Result<Sequence> Session::start() {
  const Connection& connection = state_->core->connection();
  calkit_kv_v1* kv = nullptr;
  CALKIT_CHECK_OK(connection.call("kv_allocate", connection.api().kv_allocate, connection.package, &kv));
  auto state = std::make_unique<Sequence::State>();
  state->core = state_->core;
  state->kv = kv;
  return Sequence(std::move(state));
}

namespace {

/// What the package cannot take is refused here, before anything is written.
Status check_tokens(const SessionCore& core, std::span<const std::int32_t> tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= core.package().vocab)
      return input_error("request", fmt::format("token {}", i), fmt::format("{}", tokens[i]),
                         fmt::format("0..{}", core.package().vocab - 1));
  return {};
}

}  // namespace

Result<StepOutput> Session::prefill(Sequence& sequence, std::span<const std::int32_t> tokens, Deadline deadline) {
  Sequence::State& state = *sequence.state_;
  const SessionCore& core = *state_->core;
  if (state.core != state_->core) return Error{ErrorKind::kUsage, "request: the sequence belongs to another session"};
  if (state.length != 0 || state.broken)
    return input_error("request", "sequence",
                       state.broken ? "a failed sequence" : fmt::format("{} tokens in the cache", state.length),
                       "an empty sequence for prefill", "start a new sequence");
  const std::int64_t most = std::min({core.prefill().max_tokens, core.package().max_prefill_tokens, core.context()});
  if (tokens.empty() || static_cast<std::int64_t>(tokens.size()) > most)
    return input_error("request", "prompt", fmt::format("{} tokens", tokens.size()), fmt::format("1..{} tokens", most),
                       "shorten the prompt");
  CALKIT_CHECK_OK(check_tokens(core, tokens));
  auto out = state_->core->step(core.prefill(), state.kv, 0, tokens, deadline);
  state.broken = !out.ok();
  if (out.ok()) state.length = static_cast<std::int64_t>(tokens.size());
  return out;
}

Result<StepOutput> Session::decode(Sequence& sequence, std::int32_t token, Deadline deadline) {
  Sequence::State& state = *sequence.state_;
  const SessionCore& core = *state_->core;
  if (state.core != state_->core) return Error{ErrorKind::kUsage, "request: the sequence belongs to another session"};
  if (state.length == 0 || state.broken)
    return input_error("request", "sequence", state.broken ? "a failed sequence" : "an empty cache",
                       "a sequence that was prefilled", "start a new sequence and prefill it");
  if (state.length + 1 > core.context())
    return input_error("request", "sequence", fmt::format("{} tokens in the cache", state.length),
                       fmt::format("room for one more in the context of {}", core.context()), "end the sequence");
  CALKIT_CHECK_OK(check_tokens(core, std::span(&token, 1)));
  auto out = state_->core->step(core.decode(), state.kv, state.length, std::span(&token, 1), deadline);
  state.broken = !out.ok();
  if (out.ok()) ++state.length;
  return out;
}

}  // namespace calkit::device
