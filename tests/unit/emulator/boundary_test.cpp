// The emulated device through the C boundary: what is allowed, what is refused, and what is left afterwards.
#include <gmock/gmock.h>

#include <cmath>

#include "harness.h"

extern "C" std::uint64_t c11_table_bytes(void);
extern "C" std::uint64_t c11_tensor_info_bytes(void);
extern "C" std::uint64_t c11_status_bytes(void);

namespace calkit::emulator {
namespace {

using testing::HasSubstr;
using testing_support::good_package;
using testing_support::PackageShape;
using testing_support::ScratchDir;
using testing_support::table_value;

TEST(Boundary, CAndCxxAgreeOnEveryStruct) {
  EXPECT_EQ(c11_table_bytes(), sizeof(calkit_device_api_v1));
  EXPECT_EQ(c11_tensor_info_bytes(), sizeof(calkit_tensor_info_v1));
  EXPECT_EQ(c11_status_bytes(), sizeof(calkit_status_v1));
}

TEST(Boundary, AnotherVersionGetsNoTable) {
  EXPECT_EQ(entry(0), nullptr);
  EXPECT_EQ(entry(2), nullptr);
}

TEST(Boundary, TheDeviceSaysItIsEmulatedAndHasNothingToTell) {
  AbiDevice d;
  auto info = sized<calkit_device_info_v1>();
  ASSERT_EQ(d.api.info(d.device, &info, &d.status), 0u);
  EXPECT_EQ(info.emulated, 1u);
  EXPECT_EQ(info.runtime_version, nullptr);
  EXPECT_EQ(info.driver_version, nullptr);
  EXPECT_EQ(info.firmware_version, nullptr);
  auto telemetry = sized<calkit_telemetry_v1>();
  ASSERT_EQ(d.api.telemetry(d.device, &telemetry, &d.status), 0u);
  EXPECT_EQ(telemetry.power_w.available, 0u);
  EXPECT_EQ(telemetry.temperature_c.available, 0u);
  EXPECT_EQ(telemetry.clock_hz.available, 0u);
  EXPECT_EQ(telemetry.resets.available, 0u);
}

TEST(Boundary, AStructOfAnotherSizeIsRefused) {
  AbiDevice d;
  calkit_device_info_v1 info{};
  info.size = sizeof info - 1;
  EXPECT_EQ(d.api.info(d.device, &info, &d.status), static_cast<std::uint32_t>(CALKIT_KIND_ABI));
  calkit_status_v1 small{};
  small.size = 8;
  EXPECT_EQ(d.api.health(d.device, &small), static_cast<std::uint32_t>(CALKIT_KIND_ABI));
}

TEST(Boundary, NullHandlesAreRefusedNotDereferenced) {
  AbiDevice d;
  const auto invalid = static_cast<std::uint32_t>(CALKIT_KIND_INVALID_ARGUMENT);
  EXPECT_EQ(d.api.close(nullptr, &d.status), invalid);
  EXPECT_EQ(d.api.unload(nullptr, &d.status), invalid);
  EXPECT_EQ(d.api.load(d.device, nullptr, &d.package, &d.status), invalid);
  EXPECT_EQ(d.api.buffer_map(nullptr, CALKIT_MAP_READ, nullptr, nullptr, &d.status), invalid);
  EXPECT_EQ(d.api.kv_free(nullptr, &d.status), invalid);
  EXPECT_EQ(d.api.submit(nullptr, nullptr, nullptr, &d.status), invalid);
  EXPECT_EQ(d.api.wait(nullptr, 1, nullptr, &d.status), invalid);
  EXPECT_EQ(d.api.job_release(nullptr, nullptr), invalid) << "a NULL status is allowed";
}

class Loaded : public testing::Test {
 protected:
  void SetUp() override {
    shape_.tile = 16;
    good_package(shape_).write(dir_ / "mini.calbin");
    ASSERT_EQ(d_.load(dir_ / "mini.calbin"), 0u) << d_.status.message;
  }
  void TearDown() override {
    if (d_.package != nullptr) d_.unload();
    const auto left = d_.counters();
    EXPECT_EQ(left.packages + left.buffers + left.mapped + left.kv_slots + left.jobs, 0u);
  }
  std::vector<float> row(std::int64_t token) const {
    std::vector<float> out;
    for (std::int64_t column = 0; column < shape_.vocab; ++column) out.push_back(table_value(token, column));
    return out;
  }
  std::uint32_t kind(int value) const { return static_cast<std::uint32_t>(value); }

  PackageShape shape_;
  ScratchDir dir_;
  AbiDevice d_;
};

TEST_F(Loaded, PackageAndModelsAreToldByExactName) {
  auto package = sized<calkit_package_info_v1>();
  ASSERT_EQ(d_.api.package_info(d_.package, &package, &d_.status), 0u);
  EXPECT_STREQ(package.name, "mini");
  EXPECT_STREQ(package.architecture, "qwen3");
  EXPECT_EQ(package.models, 2u);
  EXPECT_EQ(package.slots, shape_.slots);
  EXPECT_EQ(std::string(package.digest).substr(0, 7), "sha256:");
  auto model = sized<calkit_model_info_v1>();
  ASSERT_EQ(d_.api.model_info(d_.package, 0, &model, &d_.status), 0u);
  EXPECT_STREQ(model.name, "mini-prefill");
  EXPECT_EQ(model.max_tokens, shape_.max_tokens);
  EXPECT_EQ(d_.api.model_info(d_.package, 2, &model, &d_.status), kind(CALKIT_KIND_NOT_FOUND));
  auto tensor = sized<calkit_tensor_info_v1>();
  ASSERT_EQ(d_.api.tensor_info(d_.package, "mini-decode", CALKIT_OUTPUT, 0, &tensor, &d_.status), 0u);
  EXPECT_EQ(tensor.layout.tile_rows, 16);
  EXPECT_EQ(tensor.layout.shape[0], 16);
  EXPECT_EQ(tensor.layout.logical_shape[0], 1);
  EXPECT_EQ(d_.api.tensor_info(d_.package, "mini", CALKIT_OUTPUT, 0, &tensor, &d_.status), kind(CALKIT_KIND_NOT_FOUND));
  EXPECT_THAT(d_.status.message, HasSubstr("mini-prefill, mini-decode"));
}

TEST_F(Loaded, NothingRunsBeforeConfigure) {
  calkit_kv_v1* kv = nullptr;
  EXPECT_EQ(d_.api.kv_allocate(d_.package, &kv, &d_.status), kind(CALKIT_KIND_BAD_STATE));
  EXPECT_EQ(d_.api.csr_write(d_.package, "mini-decode", "cur_seq_len", 0, 1, &d_.status), kind(CALKIT_KIND_BAD_STATE));
  calkit_buffer_v1* buffer = nullptr;
  EXPECT_EQ(d_.api.buffer_create(d_.package, "mini-decode", CALKIT_INPUT, "token_ids", &buffer, &d_.status),
            kind(CALKIT_KIND_BAD_STATE));
  EXPECT_EQ(buffer, nullptr);
  ASSERT_EQ(d_.configure(), 0u) << d_.status.message;
  EXPECT_EQ(d_.configure(), kind(CALKIT_KIND_BAD_STATE));
}

TEST_F(Loaded, AConfigureThatIsTooSlowTimesOutAndMayBeRepeated) {
  EXPECT_EQ(d_.configure(1), kind(CALKIT_KIND_TIMEOUT));
  EXPECT_EQ(d_.configure(0), kind(CALKIT_KIND_INVALID_ARGUMENT));
  EXPECT_EQ(d_.configure(), 0u) << d_.status.message;
}

TEST_F(Loaded, PrefillTakesTheLastValidTokenAndDecodeItsOne) {
  ASSERT_EQ(d_.configure(), 0u);
  const AbiSlot slot(d_);
  AbiModel prefill(d_, "mini-prefill"), decode(d_, "mini-decode");
  ASSERT_EQ(prefill.run({3, 9, 5}, 0), 0u) << d_.status.message;
  auto out = prefill.output();
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + shape_.vocab), row(5));
  ASSERT_EQ(prefill.run({3, 9}, 0), 0u);
  out = prefill.output();
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + shape_.vocab), row(9));
  ASSERT_EQ(decode.run({7}, 2), 0u) << d_.status.message;
  out = decode.output();
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + shape_.vocab), row(7));
  const auto counters = d_.counters();
  EXPECT_EQ(counters.jobs_done, 3u);
  EXPECT_EQ(counters.bytes_h2d, (3u + 2u + 1u) * 2 * 8);
  EXPECT_EQ(counters.bytes_d2h, 3u * 16 * 4 * static_cast<std::uint64_t>(shape_.vocab));
}

TEST_F(Loaded, RowsThatPadATileAreNeverNumbers) {
  ASSERT_EQ(d_.configure(), 0u);
  const AbiSlot slot(d_);
  AbiModel decode(d_, "mini-decode");
  ASSERT_EQ(decode.run({7}, 2), 0u) << d_.status.message;
  const auto out = decode.output();
  ASSERT_EQ(out.size(), static_cast<std::size_t>(16 * shape_.vocab));
  for (std::size_t i = static_cast<std::size_t>(shape_.vocab); i < out.size(); ++i)
    ASSERT_TRUE(std::isnan(out[i])) << i;
}

TEST_F(Loaded, KvSlotsRunOutWithATypedErrorAndComeBack) {
  ASSERT_EQ(d_.configure(), 0u);
  std::vector<calkit_kv_v1*> slots(static_cast<std::size_t>(shape_.slots));
  for (auto& kv : slots) ASSERT_EQ(d_.api.kv_allocate(d_.package, &kv, &d_.status), 0u);
  calkit_kv_v1* more = nullptr;
  EXPECT_EQ(d_.api.kv_allocate(d_.package, &more, &d_.status), kind(CALKIT_KIND_KV_EXHAUSTED));
  EXPECT_EQ(d_.status.scope, kind(CALKIT_SCOPE_REQUEST));
  EXPECT_EQ(d_.status.retry, kind(CALKIT_RETRY_AFTER_BACKOFF));
  EXPECT_EQ(d_.counters().kv_slots, static_cast<std::uint64_t>(shape_.slots));
  EXPECT_EQ(d_.api.kv_free(slots[0], &d_.status), 0u);
  ASSERT_EQ(d_.api.kv_allocate(d_.package, &slots[0], &d_.status), 0u);
  for (calkit_kv_v1* kv : slots) EXPECT_EQ(d_.api.kv_free(kv, &d_.status), 0u);
}

TEST_F(Loaded, AParentWithChildrenIsBusyAndChangesNothing) {
  ASSERT_EQ(d_.configure(), 0u);
  {
    const AbiSlot slot(d_);
    AbiModel decode(d_, "mini-decode");
    EXPECT_EQ(d_.api.unload(d_.package, &d_.status), kind(CALKIT_KIND_BUSY));
    EXPECT_EQ(d_.api.close(d_.device, &d_.status), kind(CALKIT_KIND_BUSY));
    EXPECT_EQ(decode.run({1}, 0), 0u) << "still usable: " << d_.status.message;
  }
}

TEST_F(Loaded, SubmitRefusesWhatDoesNotFit) {
  ASSERT_EQ(d_.configure(), 0u);
  AbiModel decode(d_, "mini-decode"), prefill(d_, "mini-prefill");
  EXPECT_EQ(decode.run({1}, 0), kind(CALKIT_KIND_BAD_STATE)) << "no KV slot on row 0";
  const AbiSlot slot(d_);
  EXPECT_EQ(decode.run({1}, shape_.context), kind(CALKIT_KIND_INVALID_ARGUMENT)) << "the context is full";
  EXPECT_EQ(decode.run({1}, shape_.context - 1), 0u) << d_.status.message;
  decode.set("cur_seq_len", 2);
  calkit_job_v1* job = nullptr;
  EXPECT_EQ(decode.submit(&job), kind(CALKIT_KIND_INVALID_ARGUMENT)) << "decode takes one token";
  prefill.set("cur_seq_len", 0);
  EXPECT_EQ(prefill.submit(&job), kind(CALKIT_KIND_INVALID_ARGUMENT));
  EXPECT_EQ(decode.submit(&job, 2), kind(CALKIT_KIND_INVALID_ARGUMENT)) << "batch 1";
  std::swap(decode.buffers[0], prefill.buffers[0]);
  EXPECT_EQ(decode.submit(&job), kind(CALKIT_KIND_INVALID_ARGUMENT)) << "a buffer of another model";
  std::swap(decode.buffers[0], prefill.buffers[0]);
  EXPECT_EQ(job, nullptr);
  EXPECT_EQ(d_.counters().jobs, 0u);
}

TEST_F(Loaded, ATokenOutsideTheTableFailsTheJobOnly) {
  ASSERT_EQ(d_.configure(), 0u);
  const AbiSlot slot(d_);
  AbiModel decode(d_, "mini-decode");
  EXPECT_NE(decode.run({shape_.vocab}, 0), 0u);
  EXPECT_EQ(d_.status.state_lost, kind(CALKIT_LOST_KV));
  EXPECT_EQ(decode.run({1}, 0), 0u) << d_.status.message;
}

TEST_F(Loaded, BuffersInFlightCannotBeMappedOrDestroyed) {
  ASSERT_EQ(d_.configure(), 0u);
  const AbiSlot slot(d_);
  AbiModel decode(d_, "mini-decode");
  decode.write(0, {4});
  decode.write(1, {0});
  decode.set("cur_seq_len", 1);
  calkit_job_v1* job = nullptr;
  ASSERT_EQ(decode.submit(&job), 0u) << d_.status.message;
  void* data = nullptr;
  std::uint64_t bytes = 0;
  EXPECT_EQ(d_.api.buffer_map(decode.buffers[0], CALKIT_MAP_WRITE, &data, &bytes, &d_.status), kind(CALKIT_KIND_BUSY));
  EXPECT_EQ(d_.api.buffer_destroy(decode.buffers[0], &d_.status), kind(CALKIT_KIND_BUSY));
  EXPECT_EQ(d_.api.csr_write(d_.package, "mini-decode", "cur_seq_len", 0, 1, &d_.status), kind(CALKIT_KIND_BUSY));
  EXPECT_EQ(d_.api.kv_clear(slot.kv, &d_.status), kind(CALKIT_KIND_BUSY));
  calkit_job_v1* second = nullptr;
  EXPECT_EQ(decode.submit(&second), kind(CALKIT_KIND_BUSY));
  auto times = sized<calkit_job_times_v1>();
  EXPECT_EQ(d_.api.job_times(job, &times, &d_.status), kind(CALKIT_KIND_BAD_STATE));
  std::uint32_t state = 0;
  ASSERT_EQ(d_.api.wait(job, kLong, &state, &d_.status), 0u);
  EXPECT_EQ(state, kind(CALKIT_JOB_DONE));
  ASSERT_EQ(d_.api.job_times(job, &times, &d_.status), 0u);
  EXPECT_GT(times.infer_ns, 0u);
  EXPECT_EQ(times.bytes_h2d, 16u);
  EXPECT_EQ(d_.api.job_release(job, &d_.status), 0u);
}

TEST_F(Loaded, AJobThatIsAbandonedGivesItsBuffersBack) {
  ASSERT_EQ(d_.configure(), 0u);
  const AbiSlot slot(d_);
  AbiModel decode(d_, "mini-decode");
  decode.set("cur_seq_len", 1);
  calkit_job_v1* job = nullptr;
  ASSERT_EQ(decode.submit(&job), 0u);
  EXPECT_EQ(d_.api.job_release(job, &d_.status), 0u);
  EXPECT_EQ(decode.run({1}, 0), 0u) << d_.status.message;
}

TEST_F(Loaded, AWaitThatIsTooShortTimesOutAndLosesTheRowsCache) {
  ASSERT_EQ(d_.configure(), 0u);
  const AbiSlot slot(d_);
  AbiModel decode(d_, "mini-decode");
  decode.write(0, {4});
  decode.set("cur_seq_len", 1);
  calkit_job_v1* job = nullptr;
  ASSERT_EQ(decode.submit(&job), 0u);
  std::uint32_t state = 0;
  EXPECT_EQ(d_.api.wait(job, 1, &state, &d_.status), kind(CALKIT_KIND_TIMEOUT));
  EXPECT_EQ(d_.status.scope, kind(CALKIT_SCOPE_REQUEST));
  EXPECT_EQ(d_.api.wait(job, kLong, &state, &d_.status), kind(CALKIT_KIND_TIMEOUT)) << "the job stays over";
  EXPECT_EQ(d_.api.job_release(job, &d_.status), 0u);
}

TEST_F(Loaded, NamesAreNeverPrefixesOrDefaults) {
  ASSERT_EQ(d_.configure(), 0u);
  calkit_buffer_v1* buffer = nullptr;
  for (const char* name : {"token", "TOKEN_IDS", "token_ids ", ""})
    EXPECT_EQ(d_.api.buffer_create(d_.package, "mini-decode", CALKIT_INPUT, name, &buffer, &d_.status),
              kind(CALKIT_KIND_NOT_FOUND));
  EXPECT_EQ(d_.api.buffer_create(d_.package, "mini-decode", CALKIT_OUTPUT, "token_ids", &buffer, &d_.status),
            kind(CALKIT_KIND_NOT_FOUND));
  EXPECT_EQ(d_.api.csr_write(d_.package, "mini-decode", "cur_seq", 0, 1, &d_.status), kind(CALKIT_KIND_NOT_FOUND));
  EXPECT_EQ(d_.api.csr_write(d_.package, "mini-decode", "cur_seq_len", 1, 1, &d_.status), kind(CALKIT_KIND_NOT_FOUND));
  EXPECT_EQ(d_.api.csr_write(d_.package, "mini-decode", "cur_seq_len", 0, -1, &d_.status),
            kind(CALKIT_KIND_INVALID_ARGUMENT));
}

TEST_F(Loaded, ASecondPackageIsBusy) {
  calkit_package_v1* second = nullptr;
  EXPECT_EQ(d_.api.load(d_.device, (dir_ / "mini.calbin").c_str(), &second, &d_.status), kind(CALKIT_KIND_BUSY));
  EXPECT_EQ(second, nullptr);
}

}  // namespace
}  // namespace calkit::emulator
