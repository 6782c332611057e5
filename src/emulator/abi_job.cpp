// Buffers, CSRs, KV slots and jobs of the C boundary.
#include <fmt/format.h>

#include <algorithm>

#include "handles.h"

namespace calkit::emulator {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t ns_between(Clock::time_point from, Clock::time_point to) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

Answer null_handle(const char* what) {
  return refuse(CALKIT_KIND_INVALID_ARGUMENT, fmt::format("the {} is NULL", what));
}

/// The package is there and configured.
Answer check_ready(const calkit_package_v1* package) {
  if (package == nullptr) return null_handle("package");
  if (package->machine == nullptr) return refuse(CALKIT_KIND_BAD_STATE, "the package is not configured");
  return {};
}

Answer check_no_job(const calkit_package_v1& package) {
  if (package.running != nullptr) return refuse(CALKIT_KIND_BUSY, "a job is in flight; wait for it first");
  return {};
}

const calbin::Csr* csr_of_role(const Program& program, std::string_view role) {
  for (const calbin::Csr& csr : program.submodel->csr)
    if (csr.role == role) return &csr;
  return nullptr;
}

/// Tokens per row of this call, from cur_seq_len; rows may differ, the longest counts.
Answer read_lengths(const calkit_package_v1& package, MachineCall& call) {
  const Program& program = *call.program;
  const calbin::TokenRange& range = program.submodel->tokens;
  const calbin::Csr* current = csr_of_role(program, "cur_seq_len");
  const calbin::Csr* past = csr_of_role(program, "past_kv_cur_seq_len");
  call.tokens = range.min;
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const auto index = static_cast<std::uint32_t>(row);
    std::int64_t length = range.max, before = 0;
    if (current != nullptr) {
      const auto value = package.machine->read_csr(program, *current, index);
      if (!value.ok()) return from_error(value.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
      length = *value;
    }
    if (past != nullptr) {
      const auto value = package.machine->read_csr(program, *past, index);
      if (!value.ok()) return from_error(value.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
      before = *value;
    }
    if (length < range.min || length > range.max)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT, fmt::format("cur_seq_len[{}] of '{}' is {}; allowed: {}..{}", row,
                                                              program.submodel->name, length, range.min, range.max));
    if (before + length > program.submodel->context)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT,
                    fmt::format("past_kv_cur_seq_len[{}] {} + {} tokens; the context of '{}' is {}", row, before,
                                length, program.submodel->name, program.submodel->context));
    call.tokens = std::max(call.tokens, length);
  }
  return {};
}

/// One buffer for each input and output, in the order of the submodel.
Answer collect_buffers(const calkit_package_v1& package, const calkit_submit_v1& request, const Program& program,
                       std::vector<calkit_buffer_v1*>& out) {
  const std::size_t wanted = program.submodel->inputs.size() + program.submodel->outputs.size();
  if (request.buffers == nullptr || request.buffer_count != wanted)
    return refuse(CALKIT_KIND_INVALID_ARGUMENT,
                  fmt::format("{} buffers; '{}' takes {}", request.buffer_count, program.submodel->name, wanted));
  std::vector<const calbin::IoTensor*> seen;
  for (std::size_t i = 0; i < wanted; ++i) {
    calkit_buffer_v1* buffer = request.buffers[i];
    if (buffer == nullptr) return null_handle("buffer");
    if (buffer->package != &package || buffer->program != &program)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT,
                    fmt::format("buffer {} belongs to another model than '{}'", i, program.submodel->name));
    if (buffer->mapped)
      return refuse(CALKIT_KIND_BAD_STATE,
                    fmt::format("buffer of '{}' is mapped; unmap it first", buffer->tensor->name));
    if (std::find(seen.begin(), seen.end(), buffer->tensor) != seen.end())
      return refuse(CALKIT_KIND_INVALID_ARGUMENT, fmt::format("two buffers for '{}'", buffer->tensor->name));
    seen.push_back(buffer->tensor);
    out.push_back(buffer);
  }
  return {};
}

Answer collect_slots(const calkit_package_v1& package, MachineCall& call) {
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const auto slot = package.row_slots[static_cast<std::size_t>(row)];
    if (!slot) return refuse(CALKIT_KIND_BAD_STATE, fmt::format("row {} has no KV slot; kv_apply one", row));
    if (std::find(call.slots.begin(), call.slots.end(), *slot) != call.slots.end())
      return refuse(CALKIT_KIND_INVALID_ARGUMENT, fmt::format("KV slot {} is applied to two rows", *slot));
    call.slots.push_back(*slot);
  }
  return {};
}

/// Transfers in, ops, transfers out; each part timed.
Status run(calkit_job_v1& job, const Deadline& deadline) {
  Machine& machine = *job.package->machine;
  const auto start = Clock::now();
  job.times.queue_ns = ns_between(job.submitted, start);
  for (calkit_buffer_v1* buffer : job.buffers) {
    if (!buffer->input) {
      CALKIT_CHECK_OK(machine.poison(*buffer->tensor));
      continue;
    }
    CALKIT_TRY(const std::uint64_t moved,
               machine.host_to_device(job.call, *buffer->tensor, {buffer->bytes.get(), buffer->tensor->size}));
    job.times.bytes_h2d += moved;
  }
  const auto sent = Clock::now();
  job.times.h2d_ns = ns_between(start, sent);
  const Status executed = machine.execute(job.call, deadline);
  const auto computed = Clock::now();
  job.times.infer_ns = ns_between(sent, computed);
  if (!executed.ok()) return executed;
  for (calkit_buffer_v1* buffer : job.buffers) {
    if (buffer->input) continue;
    CALKIT_TRY(const std::uint64_t moved,
               machine.device_to_host(*buffer->tensor, {buffer->bytes.get(), buffer->tensor->size}));
    job.times.bytes_d2h += moved;
  }
  job.times.d2h_ns = ns_between(computed, Clock::now());
  return {};
}

void finish(calkit_job_v1& job, const Status& result) {
  calkit_counters_v1& counters = job.package->device->counters;
  counters.bytes_h2d += job.times.bytes_h2d;
  counters.bytes_d2h += job.times.bytes_d2h;
  for (calkit_buffer_v1* buffer : job.buffers) buffer->in_flight = false;
  job.package->running = nullptr;
  if (result.ok()) {
    job.state = CALKIT_JOB_DONE;
    ++counters.jobs_done;
    return;
  }
  job.state = CALKIT_JOB_FAILED;
  const bool late = result.error().kind == ErrorKind::kTimeout;
  job.answer = from_error(result.error(), late ? CALKIT_SCOPE_REQUEST : CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
  job.answer.lost = CALKIT_LOST_KV;
}

}  // namespace

std::uint32_t buffer_create(calkit_package_v1* package, const char* model, std::uint32_t direction, const char* tensor,
                            calkit_buffer_v1** buffer, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (Answer ready = check_ready(package); !ready.ok()) return ready;
    if (tensor == nullptr || buffer == nullptr) return null_handle("tensor name or the place for the buffer");
    Answer refusal;
    const Program* program = find_program(*package, model, refusal);
    if (program == nullptr) return refusal;
    if (direction != CALKIT_INPUT && direction != CALKIT_OUTPUT)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT,
                    fmt::format("direction {}; allowed: 0 (input), 1 (output)", direction));
    for (const calbin::IoTensor& io :
         direction == CALKIT_INPUT ? program->submodel->inputs : program->submodel->outputs) {
      if (io.name != tensor) continue;
      auto made = std::make_unique<calkit_buffer_v1>();
      made->package = package;
      made->program = program;
      made->tensor = &io;
      made->input = direction == CALKIT_INPUT;
      made->bytes = std::make_unique<std::byte[]>(io.size);
      ++package->children;
      ++package->device->counters.buffers;
      *buffer = made.release();
      return {};
    }
    return refuse(CALKIT_KIND_NOT_FOUND,
                  fmt::format("'{}' has no {} '{}'", model, direction == CALKIT_INPUT ? "input" : "output", tensor));
  });
}

std::uint32_t buffer_map(calkit_buffer_v1* buffer, std::uint32_t mode, void** data, std::uint64_t* bytes,
                         calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (buffer == nullptr || data == nullptr || bytes == nullptr) return null_handle("buffer or a place for its bytes");
    if (mode != CALKIT_MAP_WRITE && mode != CALKIT_MAP_READ)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT, fmt::format("map mode {}; allowed: 1 (write), 2 (read)", mode));
    if (buffer->mapped) return refuse(CALKIT_KIND_BAD_STATE, "the buffer is mapped already");
    if (buffer->in_flight) return refuse(CALKIT_KIND_BUSY, "a job in flight uses the buffer");
    buffer->mapped = true;
    ++buffer->package->device->counters.mapped;
    *data = buffer->bytes.get();
    *bytes = buffer->tensor->size;
    return {};
  });
}

std::uint32_t buffer_unmap(calkit_buffer_v1* buffer, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (buffer == nullptr) return null_handle("buffer");
    if (!buffer->mapped) return refuse(CALKIT_KIND_BAD_STATE, "the buffer is not mapped");
    buffer->mapped = false;
    --buffer->package->device->counters.mapped;
    return {};
  });
}

std::uint32_t buffer_destroy(calkit_buffer_v1* buffer, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (buffer == nullptr) return null_handle("buffer");
    if (buffer->mapped) return refuse(CALKIT_KIND_BAD_STATE, "the buffer is mapped; unmap it first");
    if (buffer->in_flight) return refuse(CALKIT_KIND_BUSY, "a job in flight uses the buffer");
    --buffer->package->children;
    --buffer->package->device->counters.buffers;
    delete buffer;
    return {};
  });
}

std::uint32_t csr_write(calkit_package_v1* package, const char* model, const char* csr, std::uint32_t index,
                        std::int64_t value, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (Answer ready = check_ready(package); !ready.ok()) return ready;
    if (csr == nullptr) return null_handle("CSR name");
    if (Answer idle = check_no_job(*package); !idle.ok()) return idle;
    Answer refusal;
    const Program* program = find_program(*package, model, refusal);
    if (program == nullptr) return refusal;
    for (const calbin::Csr& known : program->submodel->csr) {
      if (known.name != csr) continue;
      if (index >= static_cast<std::uint32_t>(known.count))
        return refuse(CALKIT_KIND_NOT_FOUND, fmt::format("{}[{}]; it has {} elements", csr, index, known.count));
      if (value < 0 || value > INT32_MAX)
        return refuse(CALKIT_KIND_INVALID_ARGUMENT,
                      fmt::format("{}[{}] = {}; allowed: 0..{}", csr, index, value, INT32_MAX));
      const Status written = package->machine->write_csr(*program, known, index, static_cast<std::uint32_t>(value));
      return written.ok() ? Answer{} : from_error(written.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
    }
    return refuse(CALKIT_KIND_NOT_FOUND, fmt::format("'{}' has no CSR '{}'", model, csr));
  });
}

std::uint32_t kv_allocate(calkit_package_v1* package, calkit_kv_v1** kv, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (Answer ready = check_ready(package); !ready.ok()) return ready;
    if (kv == nullptr) return null_handle("place for the KV slot");
    const auto free = std::find(package->slots_taken.begin(), package->slots_taken.end(), false);
    if (free == package->slots_taken.end())
      return refuse(CALKIT_KIND_KV_EXHAUSTED,
                    fmt::format("KV exhausted: all {} slots are taken", package->slots_taken.size()),
                    CALKIT_RETRY_AFTER_BACKOFF);
    auto made = std::make_unique<calkit_kv_v1>();
    made->package = package;
    made->slot = free - package->slots_taken.begin();
    const Status cleared = package->machine->clear_slot(made->slot);
    if (!cleared.ok()) return from_error(cleared.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
    *free = true;
    ++package->children;
    ++package->device->counters.kv_slots;
    *kv = made.release();
    return {};
  });
}

std::uint32_t kv_apply(calkit_kv_v1* kv, std::uint32_t row, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (kv == nullptr) return null_handle("KV slot");
    if (Answer idle = check_no_job(*kv->package); !idle.ok()) return idle;
    if (row >= kv->package->row_slots.size())
      return refuse(CALKIT_KIND_INVALID_ARGUMENT,
                    fmt::format("row {}; the package takes {} rows", row, kv->package->row_slots.size()));
    kv->package->row_slots[row] = kv->slot;
    return {};
  });
}

std::uint32_t kv_clear(calkit_kv_v1* kv, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (kv == nullptr) return null_handle("KV slot");
    if (Answer idle = check_no_job(*kv->package); !idle.ok()) return idle;
    const Status cleared = kv->package->machine->clear_slot(kv->slot);
    return cleared.ok() ? Answer{} : from_error(cleared.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
  });
}

std::uint32_t kv_free(calkit_kv_v1* kv, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (kv == nullptr) return null_handle("KV slot");
    if (Answer idle = check_no_job(*kv->package); !idle.ok()) return idle;
    for (auto& slot : kv->package->row_slots)
      if (slot == kv->slot) slot.reset();
    kv->package->slots_taken[static_cast<std::size_t>(kv->slot)] = false;
    --kv->package->children;
    --kv->package->device->counters.kv_slots;
    delete kv;
    return {};
  });
}

std::uint32_t submit_job(calkit_package_v1* package, const calkit_submit_v1* request, calkit_job_v1** job,
                         calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (Answer ready = check_ready(package); !ready.ok()) return ready;
    if (!speaks(request)) return refuse(CALKIT_KIND_ABI, "calkit_submit_v1 is NULL or too small");
    if (job == nullptr) return null_handle("place for the job");
    if (Answer idle = check_no_job(*package); !idle.ok()) return idle;
    auto made = std::make_unique<calkit_job_v1>();
    made->package = package;
    Answer answer;
    made->call.program = find_program(*package, request->model, answer);
    if (made->call.program == nullptr) return answer;
    made->call.rows = request->rows;
    const std::int64_t most = std::min<std::int64_t>(made->call.program->submodel->batch,
                                                     static_cast<std::int64_t>(package->row_slots.size()));
    if (made->call.rows < 1 || made->call.rows > most)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT, fmt::format("{} rows; allowed: 1..{}", request->rows, most));
    if (answer = collect_buffers(*package, *request, *made->call.program, made->buffers); !answer.ok()) return answer;
    if (answer = collect_slots(*package, made->call); !answer.ok()) return answer;
    if (answer = read_lengths(*package, made->call); !answer.ok()) return answer;
    for (calkit_buffer_v1* buffer : made->buffers) buffer->in_flight = true;
    made->submitted = Clock::now();
    ++package->children;
    ++package->device->counters.jobs;
    package->running = made.get();
    *job = made.release();
    return {};
  });
}

std::uint32_t wait_job(calkit_job_v1* job, std::int64_t timeout_ns, std::uint32_t* state, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (job == nullptr || state == nullptr) return null_handle("job or the place for its state");
    if (timeout_ns <= 0) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the time limit must be positive");
    // The work is done here, on the caller's thread: the emulated device has none of its own.
    if (job->state == CALKIT_JOB_RUNNING) finish(*job, run(*job, Deadline::in(std::chrono::nanoseconds(timeout_ns))));
    if (job->answer.ok()) *state = job->state;
    return job->answer;
  });
}

std::uint32_t job_times(calkit_job_v1* job, calkit_job_times_v1* times, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (job == nullptr) return null_handle("job");
    if (!speaks(times)) return refuse(CALKIT_KIND_ABI, "calkit_job_times_v1 is NULL or too small");
    if (job->state == CALKIT_JOB_RUNNING) return refuse(CALKIT_KIND_BAD_STATE, "the job is not done");
    const std::uint32_t size = times->size;
    *times = job->times;
    times->size = size;
    return {};
  });
}

std::uint32_t job_release(calkit_job_v1* job, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (job == nullptr) return null_handle("job");
    if (job->state == CALKIT_JOB_RUNNING) {  // abandoned before anybody waited
      for (calkit_buffer_v1* buffer : job->buffers) buffer->in_flight = false;
      job->package->running = nullptr;
    }
    --job->package->children;
    --job->package->device->counters.jobs;
    delete job;
    return {};
  });
}

}  // namespace calkit::emulator
