#pragma once
/// A backend without a device, for tests: it answers as its settings say, well or badly, and counts what it handed out.
#include <cstdint>
#include <string>

#include "calkit/abi/device_v1.h"

namespace calkit::device {

struct FakeSettings {
  calkit_layout_v1 token{}, logits{};
  std::uint32_t wait_kind = CALKIT_KIND_OK, wait_scope = CALKIT_SCOPE_NONE;
  std::int64_t raw_code = 0;
  bool unterminated_message = false;
  std::uint32_t job_state = CALKIT_JOB_DONE;
  std::uint64_t map_bytes_short = 0;  ///< taken off what buffer_map reports
  bool interrupted_load = false;      ///< SIGTERM arrives while it loads, and it calls the package bad
  std::uint32_t table_version = CALKIT_DEVICE_ABI_V1;
  std::uint64_t table_short = 0;
};
struct FakeCounts {
  int devices = 0, packages = 0, buffers = 0, mapped = 0, slots = 0, jobs = 0;
  int all() const { return devices + packages + buffers + mapped + slots + jobs; }
};

/// Good settings: vocabulary 8, context 16, f32 logits in tiles of 16 rows.
FakeSettings good_fake();
FakeSettings& fake_settings();
FakeCounts& fake_counts();
const calkit_device_api_v1* fake_entry(std::uint32_t abi_version);

}  // namespace calkit::device
