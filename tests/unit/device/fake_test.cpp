// A backend that lies, fails or dies: what the wrapper makes of it, and that it leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "calkit/base/process.h"
#include "calkit/device/device.h"
#include "fake_backend.h"

namespace calkit::device {
namespace {

using testing::HasSubstr;

Deadline soon() {
  return Deadline::in(std::chrono::seconds(30));
}

manifest::ServiceManifest fake_service() {
  manifest::ServiceManifest out;
  out.architecture = "qwen3";
  out.calbin_version = "1.0.0";
  out.runtime_abi = "0.7.6";
  out.context = 16;
  out.batch = 1;
  out.vocab = 8;
  out.prefill_model = "fake-prefill";
  out.decode_model = "fake-decode";
  out.token = {"inputs", 0, "inputs[0]"};
  out.position = {"inputs", 1, "inputs[1]"};
  out.logits = {"outputs", 0, "outputs[0]"};
  out.csr_current = {"cur_seq_len", 0, "cur_seq_len[0]"};
  out.csr_past_current = {"past_kv_cur_seq_len", 0, "past_kv_cur_seq_len[0]"};
  return out;
}

class Fake : public testing::Test {
 protected:
  void SetUp() override {
    fake_settings() = good_fake();
    fake_counts() = {};
  }
  void TearDown() override { EXPECT_EQ(fake_counts().all(), 0) << "something was not given back"; }

  /// Opens, loads, configures and runs a prefill of three tokens.
  Result<StepOutput> run() {
    CALKIT_TRY(Device device, Device::open("emu", &fake_entry));
    CALKIT_TRY(const PackageInfo package, device.load("anything"));
    CALKIT_TRY(Session session, device.configure(fake_service(), soon()));
    CALKIT_TRY(Sequence sequence, session.start());
    const std::vector<std::int32_t> tokens = {1, 2, 3};
    return session.prefill(sequence, tokens, soon());
  }
};

TEST_F(Fake, AGoodOneGivesRowZeroAndItsStageTimes) {
  const auto out = run();
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_THAT(out->logits, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(out->times.queue.count(), 1);
  EXPECT_EQ(out->times.h2d.count(), 2);
  EXPECT_EQ(out->times.infer.count(), 3);
  EXPECT_EQ(out->times.d2h.count(), 4);
}

using FakeDeathTest = Fake;

TEST_F(FakeDeathTest, AnInterruptDuringTheLoadIsNoBadPackage) {
  const auto load_interrupted = [] {
    install_interrupt_handlers();
    fake_settings().interrupted_load = true;
    auto device = Device::open("emu", &fake_entry);
    const auto loaded = device->load("anything");
    if (loaded.ok()) std::_Exit(99);
    std::cerr << loaded.error().message << '\n';
    std::_Exit(loaded.error().kind == ErrorKind::kInterrupted ? 0 : 98);
  };
  EXPECT_EXIT(load_interrupted(), testing::ExitedWithCode(0), "^interrupted");
}

TEST_F(Fake, StridesDecideWhereLogitsAre) {
  fake_settings().logits.strides_bytes[1] = 8;
  const auto out = run();
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_THAT(out->logits, testing::ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
}

TEST_F(Fake, ALayoutThatLeavesItsBufferIsRefusedBeforeAnythingIsRead) {
  for (const auto& damage : std::vector<std::function<void(calkit_layout_v1&)>>{
           [](calkit_layout_v1& l) { l.bytes = 8 * 4 - 1; },
           [](calkit_layout_v1& l) { l.strides_bytes[1] = UINT64_MAX / 4; },
           [](calkit_layout_v1& l) { l.logical_shape[1] = INT64_MAX; },
           [](calkit_layout_v1& l) { l.logical_shape[0] = 0; }, [](calkit_layout_v1& l) { l.rank = 9; },
           [](calkit_layout_v1& l) { l.dtype = 99; }}) {
    fake_settings() = good_fake();
    damage(fake_settings().logits);
    const auto out = run();
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().kind, ErrorKind::kInput) << out.error().message;
  }
}

TEST_F(Fake, AMapThatGivesTooFewBytesIsTheDevicesFault) {
  fake_settings().map_bytes_short = 4;
  const auto out = run();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind, ErrorKind::kDevice) << out.error().message;
}

TEST_F(Fake, ALostDeviceIsADeviceErrorWithTheVendorsCode) {
  fake_settings().wait_kind = CALKIT_KIND_DEVICE_LOST;
  fake_settings().wait_scope = CALKIT_SCOPE_DEVICE;
  fake_settings().raw_code = -4711;
  const auto out = run();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind, ErrorKind::kDevice);
  EXPECT_THAT(out.error().message, HasSubstr("device lost (device scope)"));
  EXPECT_THAT(out.error().message, HasSubstr("raw code -4711"));
}

TEST_F(Fake, ATimeoutIsATimeout) {
  fake_settings().wait_kind = CALKIT_KIND_TIMEOUT;
  fake_settings().wait_scope = CALKIT_SCOPE_REQUEST;
  const auto out = run();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind, ErrorKind::kTimeout);
}

TEST_F(Fake, AnUnknownKindAndAMessageWithoutEndAreSurvived) {
  fake_settings().wait_kind = 4000;
  fake_settings().wait_scope = 77;
  fake_settings().unterminated_message = true;
  const auto out = run();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind, ErrorKind::kDevice);
  EXPECT_THAT(out.error().message, HasSubstr("unknown (unknown scope)"));
}

TEST_F(Fake, AJobThatEndsUndoneWithoutAnErrorIsNotTakenForAResult) {
  fake_settings().job_state = CALKIT_JOB_RUNNING;
  const auto out = run();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind, ErrorKind::kDevice);
}

TEST_F(Fake, AFailedSequenceIsNotUsedAgain) {
  auto device = Device::open("emu", &fake_entry);
  ASSERT_TRUE(device.ok() && device->load("anything").ok());
  auto session = device->configure(fake_service(), soon());
  ASSERT_TRUE(session.ok()) << session.error().message;
  auto sequence = session->start();
  ASSERT_TRUE(sequence.ok());
  fake_settings().wait_kind = CALKIT_KIND_TIMEOUT;
  const std::vector<std::int32_t> tokens = {1};
  EXPECT_FALSE(session->prefill(*sequence, tokens, soon()).ok());
  fake_settings().wait_kind = CALKIT_KIND_OK;
  const auto again = session->prefill(*sequence, tokens, soon());
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("a failed sequence"));
}

TEST_F(Fake, ATableOfAnotherVersionOrSizeIsRefused) {
  fake_settings().table_version = 2;
  EXPECT_FALSE(Device::open("emu", &fake_entry).ok());
  fake_settings() = good_fake();
  fake_settings().table_short = 8;
  const auto opened = Device::open("emu", &fake_entry);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("another ABI version or size"));
}

TEST_F(Fake, ASequenceMayOutliveItsSession) {
  auto device = Device::open("emu", &fake_entry);
  ASSERT_TRUE(device.ok() && device->load("anything").ok());
  std::optional<Sequence> kept;
  {
    auto session = device->configure(fake_service(), soon());
    ASSERT_TRUE(session.ok());
    auto sequence = session->start();
    ASSERT_TRUE(sequence.ok());
    kept.emplace(std::move(*sequence));
  }
  EXPECT_EQ(fake_counts().packages, 1) << "the package waits for its last sequence";
  kept.reset();
  EXPECT_EQ(fake_counts().packages, 0);
}

}  // namespace
}  // namespace calkit::device
