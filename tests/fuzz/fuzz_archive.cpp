// The bounded reader of .tar.zst: no unsafe path and no more bytes than its limits allow come out.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "calkit/base/archive.h"
#include "calkit/base/files.h"
#include "scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path& path = calkit::fuzz::as_file(data, size);
  constexpr std::uint64_t kMost = 1 << 20;
  std::uint64_t total = 0;
  const auto entry = [&](const std::string& name, std::uint64_t bytes,
                         const calkit::EntryReader& reader) -> calkit::Status {
    if (!calkit::unsafe_path_reason(name).empty()) std::abort();
    std::array<std::byte, 4096> buffer;
    std::uint64_t got_all = 0;
    for (;;) {
      CALKIT_TRY(const std::size_t got, reader(buffer));
      if (got == 0) break;
      got_all += got;
    }
    if (got_all > bytes || (total += bytes) > kMost) std::abort();
    return {};
  };
  static_cast<void>(calkit::read_tar_zst(path, entry, {.max_entries = 100, .max_bytes = kMost}).ok());
  return 0;
}
