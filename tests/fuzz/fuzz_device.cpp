// The emulated device with a foreign op list: whatever the list says, loading and running it end with a status.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "../support/package_builder.cpp"
#include "calkit/emulator/emulator.h"
#include "scratch_file.h"

namespace {

namespace fs = std::filesystem;
using calkit::testing_support::PackageShape;
using calkit::testing_support::TestPackage;

constexpr std::int64_t kLimit = 5'000'000'000;

/// The calls of one decode; each checks that the kind is one of the header's.
class Run {
 public:
  void package(const fs::path& path) {
    if (check(api_.open(&device_, &status_))) return;
    if (!check(api_.load(device_, path.c_str(), &package_, &status_))) {
      calkit_memory_report_v1 memory{};
      memory.size = sizeof memory;
      if (!check(api_.configure(package_, kLimit, &memory, &status_))) decode();
      if (check(api_.unload(package_, &status_))) std::abort();  // everything was given back
    }
    if (check(api_.close(device_, &status_))) std::abort();
  }

 private:
  bool check(std::uint32_t kind) {
    if (kind > CALKIT_KIND_INTERNAL || kind == CALKIT_KIND_INTERNAL) std::abort();
    return kind != CALKIT_KIND_OK;
  }

  void decode() {
    calkit_kv_v1* kv = nullptr;
    if (check(api_.kv_allocate(package_, &kv, &status_)) || check(api_.kv_apply(kv, 0, &status_))) std::abort();
    check(api_.csr_write(package_, "mini-decode", "cur_seq_len", 0, 1, &status_));
    calkit_buffer_v1* buffers[3] = {};
    check(api_.buffer_create(package_, "mini-decode", CALKIT_INPUT, "token_ids", &buffers[0], &status_));
    check(api_.buffer_create(package_, "mini-decode", CALKIT_INPUT, "position_ids", &buffers[1], &status_));
    check(api_.buffer_create(package_, "mini-decode", CALKIT_OUTPUT, "logits", &buffers[2], &status_));
    calkit_submit_v1 call{};
    call.size = sizeof call;
    call.rows = 1;
    call.model = "mini-decode";
    call.buffers = buffers;
    call.buffer_count = 3;
    calkit_job_v1* job = nullptr;
    if (!check(api_.submit(package_, &call, &job, &status_))) {
      std::uint32_t state = 0;
      check(api_.wait(job, kLimit, &state, &status_));
      check(api_.job_release(job, &status_));
    }
    for (calkit_buffer_v1* buffer : buffers)
      if (buffer != nullptr) check(api_.buffer_destroy(buffer, &status_));
    check(api_.kv_free(kv, &status_));
  }

  const calkit_device_api_v1& api_ = *calkit::emulator::entry(CALKIT_DEVICE_ABI_V1);
  calkit_status_v1 status_{.size = sizeof(calkit_status_v1),
                           .scope = 0,
                           .kind = 0,
                           .retry = 0,
                           .state_lost = 0,
                           .raw_code = 0,
                           .message = {}};
  calkit_device_v1* device_ = nullptr;
  calkit_package_v1* package_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = calkit::parse_json(text, "oplist.json");
  if (!document.ok()) return 0;
  auto list = calkit::calbin::parse_oplist(calkit::Cursor(*document, "oplist.json"));
  if (!list.ok()) return 0;
  static const TestPackage good = calkit::testing_support::good_package({8, 8, 2, 1, 0});
  TestPackage package = good;
  package.decode = std::move(*list);
  package.write(calkit::fuzz::scratch_folder());
  Run().package(calkit::fuzz::scratch_folder());
  return 0;
}
