// The emulated device as a plug-in, behind dlopen: sessions, bindings, and what is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "calkit/device/device.h"
#include "package_builder.h"
#include "scratch_dir.h"

namespace calkit::device {
namespace {

using testing::HasSubstr;
using testing_support::good_package;
using testing_support::good_service;
using testing_support::PackageShape;
using testing_support::ScratchDir;
using testing_support::table_value;

Deadline soon() {
  return Deadline::in(std::chrono::seconds(60));
}

class Plugin : public testing::Test {
 protected:
  void SetUp() override {
    shape_.tile = 32;
    good_package(shape_).write(dir_ / "mini.calbin");
    auto opened = Device::open("plugin:" CALKIT_EMU_PLUGIN, nullptr);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    device_.emplace(std::move(*opened));
  }
  void expect_nothing_held() {
    const auto counters = device_->counters();
    ASSERT_TRUE(counters.ok());
    EXPECT_EQ(counters->buffers + counters->mapped + counters->kv_slots + counters->jobs + counters->packages, 0u);
  }

  PackageShape shape_;
  ScratchDir dir_;
  std::optional<Device> device_;
};

TEST_F(Plugin, SaysWhatItIs) {
  EXPECT_TRUE(device_->info().emulated);
  EXPECT_FALSE(device_->info().runtime_version.has_value());
  EXPECT_TRUE(device_->status().ok());
}

TEST_F(Plugin, RunsAPromptAndGoesOnTokenByToken) {
  const auto package = device_->load(dir_ / "mini.calbin");
  ASSERT_TRUE(package.ok()) << package.error().message;
  EXPECT_EQ(package->name, "mini");
  EXPECT_EQ(package->models.at(1).outputs.at(0).tile_rows, 32);
  {
    auto session = device_->configure(good_service(shape_), soon());
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_GT(session->configure_report().param_bytes, 0u);
    auto sequence = session->start();
    ASSERT_TRUE(sequence.ok());
    const std::vector<std::int32_t> prompt = {3, 9, 5};
    auto out = session->prefill(*sequence, prompt, soon());
    ASSERT_TRUE(out.ok()) << out.error().message;
    for (std::int32_t token = 5; sequence->length() < 10; token = (token + 1) % 32) {
      ASSERT_EQ(out->logits.size(), 32u);
      for (std::int64_t column = 0; column < 32; ++column)
        ASSERT_EQ(out->logits[static_cast<std::size_t>(column)], table_value(token, column));
      out = session->decode(*sequence, (token + 1) % 32, soon());
      ASSERT_TRUE(out.ok()) << out.error().message;
    }
    EXPECT_FALSE(device_->unload().ok()) << "a session is alive";
    EXPECT_FALSE(device_->configure(good_service(shape_), soon()).ok()) << "one session at a time";
  }
  expect_nothing_held();
  EXPECT_TRUE(device_->unload().ok());
  EXPECT_TRUE(device_->load(dir_ / "mini.calbin").ok()) << "it can be loaded again";
}

TEST_F(Plugin, RequestsBeyondTheLimitsAreRefusedAndTheSessionGoesOn) {
  ASSERT_TRUE(device_->load(dir_ / "mini.calbin").ok());
  auto session = device_->configure(good_service(shape_), soon());
  ASSERT_TRUE(session.ok());
  std::vector<Sequence> sequences;
  for (std::int64_t i = 0; i < shape_.slots; ++i) {
    auto sequence = session->start();
    ASSERT_TRUE(sequence.ok());
    sequences.push_back(std::move(*sequence));
  }
  const auto more = session->start();
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().kind, ErrorKind::kInput);
  EXPECT_THAT(more.error().message, HasSubstr("KV exhausted (request scope)"));
  Sequence& sequence = sequences[0];
  EXPECT_FALSE(session->decode(sequence, 1, soon()).ok()) << "an empty cache";
  EXPECT_FALSE(session->prefill(sequence, {}, soon()).ok());
  EXPECT_FALSE(session->prefill(sequence, std::vector<std::int32_t>(17, 1), soon()).ok()) << "max_tokens is 16";
  const std::vector<std::int32_t> outside = {32}, negative = {-1}, good(16, 1);
  EXPECT_FALSE(session->prefill(sequence, outside, soon()).ok());
  EXPECT_FALSE(session->prefill(sequence, negative, soon()).ok());
  ASSERT_TRUE(session->prefill(sequence, good, soon()).ok());
  EXPECT_FALSE(session->prefill(sequence, good, soon()).ok()) << "the cache is not empty";
  while (sequence.length() < shape_.context) ASSERT_TRUE(session->decode(sequence, 1, soon()).ok());
  const auto full = session->decode(sequence, 1, soon());
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().kind, ErrorKind::kInput);
  sequences.erase(sequences.begin());
  EXPECT_TRUE(session->start().ok()) << "a freed slot can be taken";
}

TEST_F(Plugin, APassedDeadlineIsATimeout) {
  ASSERT_TRUE(device_->load(dir_ / "mini.calbin").ok());
  const auto late = device_->configure(good_service(shape_), Deadline::in(std::chrono::nanoseconds(0)));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::kTimeout);
}

TEST_F(Plugin, ADamagedPackageIsABadInput) {
  std::filesystem::resize_file(dir_ / "mini.calbin/params/blk0.bin", 100);
  const auto loaded = device_->load(dir_ / "mini.calbin");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().kind, ErrorKind::kInput);
  EXPECT_THAT(loaded.error().message, HasSubstr("blk0.bin"));
  expect_nothing_held();
}

struct Wrong {
  const char* field;
  std::function<void(manifest::ServiceManifest&)> edit;
};

TEST_F(Plugin, EachFieldOfTheServiceManifestIsCheckedAndNamed) {
  const std::vector<Wrong> all = {
      {"architecture", [](auto& s) { s.architecture = "qwen3_moe"; }},
      {"calbin_version", [](auto& s) { s.calbin_version = "1.0"; }},
      {"runtime_abi", [](auto& s) { s.runtime_abi = "0.8.0"; }},
      {"context", [](auto& s) { s.context = 65; }},
      {"batch", [](auto& s) { s.batch = 4; }},
      {"vocab", [](auto& s) { s.vocab = 31; }},
      {"vocab", [](auto& s) { s.vocab = 33; }},
      {"models/prefill", [](auto& s) { s.prefill_model = "mini"; }},
      {"models/decode", [](auto& s) { s.decode_model = "mini-decode "; }},
      {"models/decode type", [](auto& s) { s.decode_model = "mini-prefill"; }},
      {"tensors/token", [](auto& s) { s.token = {"inputs", 2, "inputs[2]"}; }},
      {"tensors/token", [](auto& s) { s.token = {"inputs", 1, "inputs[1]"}; }},
      {"tensors/position", [](auto& s) { s.position = {"input", 1, "input[1]"}; }},
      {"tensors/logits", [](auto& s) { s.logits = {"outputs", 1, "outputs[1]"}; }},
      {"csr/current", [](auto& s) { s.csr_current = {"cur_seq", 0, "cur_seq[0]"}; }},
      {"csr/current", [](auto& s) { std::swap(s.csr_current, s.csr_past_current); }},
      {"csr/past_current", [](auto& s) { s.csr_past_current.index = 1; }},
  };
  ASSERT_TRUE(device_->load(dir_ / "mini.calbin").ok());
  for (const Wrong& wrong : all) {
    auto service = good_service(shape_);
    wrong.edit(service);
    const auto session = device_->configure(service, soon());
    ASSERT_FALSE(session.ok()) << wrong.field;
    EXPECT_EQ(session.error().kind, ErrorKind::kInput);
    EXPECT_THAT(session.error().message, HasSubstr("service manifest: " + std::string(wrong.field) + ":"));
  }
  EXPECT_TRUE(device_->configure(good_service(shape_), soon()).ok()) << "a refused manifest changes nothing";
}

TEST(DeviceSpec, WhatIsNoBackendIsRefused) {
  for (const char* spec : {"", "emulator", "plugin:", "plugin:/nonexistent.so", "EMU"}) {
    const auto device = Device::open(spec, nullptr);
    ASSERT_FALSE(device.ok()) << spec;
    EXPECT_EQ(device.error().kind, std::string(spec).starts_with("plugin:/") ? ErrorKind::kInput : ErrorKind::kUsage);
  }
  const ScratchDir dir;
  const auto text = dir.write("notes.so", "not an object");
  EXPECT_FALSE(Device::open("plugin:" + text.string(), nullptr).ok());
}

TEST(DeviceSpec, APipeOrAFolderIsRefusedAtOnce) {
  const ScratchDir dir;
  const auto pipe = dir.write("gone", "").parent_path() / "pipe.so";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& path : {pipe, pipe.parent_path()}) {
    const auto device = Device::open("plugin:" + path.string(), nullptr);
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.error().kind, ErrorKind::kInput);
    EXPECT_NE(device.error().message.find("no regular file"), std::string::npos) << device.error().message;
  }
}

}  // namespace
}  // namespace calkit::device
