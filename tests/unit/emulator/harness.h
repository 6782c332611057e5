#pragma once
/// The C boundary with little ceremony, for tests of the emulated device.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/emulator/emulator.h"
#include "package_builder.h"
#include "scratch_dir.h"

namespace calkit::emulator {

inline constexpr std::int64_t kLong = 60'000'000'000;

template <class T>
T sized() {
  T out{};
  out.size = sizeof(T);
  return out;
}

/// An opened device; leaves nothing loaded behind.
class AbiDevice {
 public:
  AbiDevice() : api(*entry(CALKIT_DEVICE_ABI_V1)), status(sized<calkit_status_v1>()) {
    EXPECT_EQ(api.open(&device, &status), 0u);
  }
  ~AbiDevice() { EXPECT_EQ(api.close(device, &status), 0u) << status.message; }
  AbiDevice(const AbiDevice&) = delete;
  AbiDevice& operator=(const AbiDevice&) = delete;

  std::uint32_t load(const std::filesystem::path& path) { return api.load(device, path.c_str(), &package, &status); }
  std::uint32_t configure(std::int64_t limit = kLong) {
    auto memory = sized<calkit_memory_report_v1>();
    return api.configure(package, limit, &memory, &status);
  }
  void unload() {
    EXPECT_EQ(api.unload(package, &status), 0u) << status.message;
    package = nullptr;
  }
  calkit_counters_v1 counters() {
    auto out = sized<calkit_counters_v1>();
    EXPECT_EQ(api.counters(device, &out, &status), 0u);
    return out;
  }

  const calkit_device_api_v1& api;
  calkit_device_v1* device = nullptr;
  calkit_package_v1* package = nullptr;
  calkit_status_v1 status;
};

/// Buffers of one model of a loaded package, written and read as their layout says.
class AbiModel {
 public:
  AbiModel(AbiDevice& device, std::string model) : d_(device), model_(std::move(model)) {
    make(CALKIT_INPUT, 0);
    make(CALKIT_INPUT, 1);
    make(CALKIT_OUTPUT, 0);
  }
  ~AbiModel() {
    for (calkit_buffer_v1* buffer : buffers)
      EXPECT_EQ(d_.api.buffer_destroy(buffer, &d_.status), 0u) << d_.status.message;
  }
  AbiModel(const AbiModel&) = delete;
  AbiModel& operator=(const AbiModel&) = delete;

  void write(std::size_t which, const std::vector<std::int64_t>& values) {
    void* data = nullptr;
    std::uint64_t bytes = 0;
    ASSERT_EQ(d_.api.buffer_map(buffers[which], CALKIT_MAP_WRITE, &data, &bytes, &d_.status), 0u);
    ASSERT_LE(values.size() * 8, bytes);
    std::memcpy(data, values.data(), values.size() * 8);
    ASSERT_EQ(d_.api.buffer_unmap(buffers[which], &d_.status), 0u);
  }
  void set(const char* csr, std::int64_t value) {
    ASSERT_EQ(d_.api.csr_write(d_.package, model_.c_str(), csr, 0, value, &d_.status), 0u) << d_.status.message;
  }
  std::uint32_t submit(calkit_job_v1** job, std::uint32_t rows = 1) {
    auto call = sized<calkit_submit_v1>();
    call.rows = rows;
    call.model = model_.c_str();
    call.buffers = buffers.data();
    call.buffer_count = buffers.size();
    return d_.api.submit(d_.package, &call, job, &d_.status);
  }
  /// Runs one call; the answer's kind.
  std::uint32_t run(const std::vector<std::int64_t>& tokens, std::int64_t past) {
    write(0, tokens);
    write(1, std::vector<std::int64_t>(tokens.size(), past));
    set("cur_seq_len", static_cast<std::int64_t>(tokens.size()));
    set("past_kv_cur_seq_len", past);
    calkit_job_v1* job = nullptr;
    if (const auto kind = submit(&job); kind != 0) return kind;
    std::uint32_t state = CALKIT_JOB_RUNNING;
    const std::uint32_t kind = d_.api.wait(job, kLong, &state, &d_.status);
    const calkit_status_v1 kept = d_.status;
    EXPECT_EQ(d_.api.job_release(job, &d_.status), 0u);
    d_.status = kept;
    return kind;
  }
  /// The whole output buffer as floats, padding included.
  std::vector<float> output() {
    void* data = nullptr;
    std::uint64_t bytes = 0;
    EXPECT_EQ(d_.api.buffer_map(buffers[2], CALKIT_MAP_READ, &data, &bytes, &d_.status), 0u);
    std::vector<float> out(bytes / 4);
    std::memcpy(out.data(), data, bytes);
    EXPECT_EQ(d_.api.buffer_unmap(buffers[2], &d_.status), 0u);
    return out;
  }

  std::vector<calkit_buffer_v1*> buffers;

 private:
  void make(std::uint32_t direction, std::uint32_t index) {
    auto info = sized<calkit_tensor_info_v1>();
    ASSERT_EQ(d_.api.tensor_info(d_.package, model_.c_str(), direction, index, &info, &d_.status), 0u)
        << d_.status.message;
    calkit_buffer_v1* buffer = nullptr;
    ASSERT_EQ(d_.api.buffer_create(d_.package, model_.c_str(), direction, info.name, &buffer, &d_.status), 0u);
    buffers.push_back(buffer);
  }
  AbiDevice& d_;
  std::string model_;
};

/// A KV slot on row 0.
class AbiSlot {
 public:
  explicit AbiSlot(AbiDevice& device) : d_(device) {
    EXPECT_EQ(d_.api.kv_allocate(d_.package, &kv, &d_.status), 0u) << d_.status.message;
    EXPECT_EQ(d_.api.kv_apply(kv, 0, &d_.status), 0u);
  }
  ~AbiSlot() { EXPECT_EQ(d_.api.kv_free(kv, &d_.status), 0u); }
  AbiSlot(const AbiSlot&) = delete;
  AbiSlot& operator=(const AbiSlot&) = delete;
  calkit_kv_v1* kv = nullptr;

 private:
  AbiDevice& d_;
};

}  // namespace calkit::emulator
