#pragma once
/// The objects behind the opaque handles of the C boundary. Each holds its parent; a parent counts its children (D8).
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer.h"
#include "calkit/abi/device_v1.h"
#include "machine.h"

struct calkit_device_v1 {
  calkit_counters_v1 counters{};
  calkit_package_v1* package = nullptr;
};

struct calkit_package_v1 {
  calkit_device_v1* device = nullptr;
  calkit::emulator::Image image;
  std::unique_ptr<calkit::emulator::Machine> machine;  ///< absent until configured
  std::vector<bool> slots_taken;
  std::vector<std::optional<std::int64_t>> row_slots;  ///< by row: the slot that kv_apply bound
  std::uint64_t children = 0;                          ///< buffers, KV slots and jobs
  calkit_job_v1* running = nullptr;                    ///< submitted and not yet done
};

struct calkit_buffer_v1 {
  calkit_package_v1* package = nullptr;
  const calkit::emulator::Program* program = nullptr;
  const calkit::calbin::IoTensor* tensor = nullptr;
  bool input = false, mapped = false, in_flight = false;
  std::unique_ptr<std::byte[]> bytes;
};

struct calkit_kv_v1 {
  calkit_package_v1* package = nullptr;
  std::int64_t slot = 0;
};

struct calkit_job_v1 {
  calkit_package_v1* package = nullptr;
  calkit::emulator::MachineCall call;
  std::vector<calkit_buffer_v1*> buffers;
  std::chrono::steady_clock::time_point submitted;
  std::uint32_t state = CALKIT_JOB_RUNNING;
  calkit::emulator::Answer answer;
  calkit_job_times_v1 times{};
};

namespace calkit::emulator {

// The functions of the table, by file. Contracts: calkit/abi/device_v1.h.
std::uint32_t open_device(calkit_device_v1** device, calkit_status_v1* status);
std::uint32_t close_device(calkit_device_v1* device, calkit_status_v1* status);
std::uint32_t device_info(calkit_device_v1* device, calkit_device_info_v1* info, calkit_status_v1* status);
std::uint32_t device_health(calkit_device_v1* device, calkit_status_v1* status);
std::uint32_t device_counters(calkit_device_v1* device, calkit_counters_v1* counters, calkit_status_v1* status);
std::uint32_t device_telemetry(calkit_device_v1* device, calkit_telemetry_v1* telemetry, calkit_status_v1* status);

std::uint32_t load_package(calkit_device_v1* device, const char* path, calkit_package_v1** package,
                           calkit_status_v1* status);
std::uint32_t unload_package(calkit_package_v1* package, calkit_status_v1* status);
std::uint32_t package_info(calkit_package_v1* package, calkit_package_info_v1* info, calkit_status_v1* status);
std::uint32_t model_info(calkit_package_v1* package, std::uint32_t index, calkit_model_info_v1* info,
                         calkit_status_v1* status);
std::uint32_t tensor_info(calkit_package_v1* package, const char* model, std::uint32_t direction, std::uint32_t index,
                          calkit_tensor_info_v1* info, calkit_status_v1* status);
std::uint32_t csr_info(calkit_package_v1* package, const char* model, std::uint32_t index, calkit_csr_info_v1* info,
                       calkit_status_v1* status);
std::uint32_t configure_package(calkit_package_v1* package, std::int64_t timeout_ns, calkit_memory_report_v1* memory,
                                calkit_status_v1* status);

std::uint32_t buffer_create(calkit_package_v1* package, const char* model, std::uint32_t direction, const char* tensor,
                            calkit_buffer_v1** buffer, calkit_status_v1* status);
std::uint32_t buffer_map(calkit_buffer_v1* buffer, std::uint32_t mode, void** data, std::uint64_t* bytes,
                         calkit_status_v1* status);
std::uint32_t buffer_unmap(calkit_buffer_v1* buffer, calkit_status_v1* status);
std::uint32_t buffer_destroy(calkit_buffer_v1* buffer, calkit_status_v1* status);
std::uint32_t csr_write(calkit_package_v1* package, const char* model, const char* csr, std::uint32_t index,
                        std::int64_t value, calkit_status_v1* status);
std::uint32_t kv_allocate(calkit_package_v1* package, calkit_kv_v1** kv, calkit_status_v1* status);
std::uint32_t kv_apply(calkit_kv_v1* kv, std::uint32_t row, calkit_status_v1* status);
std::uint32_t kv_clear(calkit_kv_v1* kv, calkit_status_v1* status);
std::uint32_t kv_free(calkit_kv_v1* kv, calkit_status_v1* status);

std::uint32_t submit_job(calkit_package_v1* package, const calkit_submit_v1* call, calkit_job_v1** job,
                         calkit_status_v1* status);
std::uint32_t wait_job(calkit_job_v1* job, std::int64_t timeout_ns, std::uint32_t* state, calkit_status_v1* status);
std::uint32_t job_times(calkit_job_v1* job, calkit_job_times_v1* times, calkit_status_v1* status);
std::uint32_t job_release(calkit_job_v1* job, calkit_status_v1* status);

/// The program of that exact name, or a refusal that lists the names.
const Program* find_program(const calkit_package_v1& package, const char* model, Answer& refusal);

}  // namespace calkit::emulator
