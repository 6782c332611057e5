#pragma once
// The checkpoints of tests/data/refuse.tar.zst, unpacked once: each says what must happen and which field is at fault.
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/archive.h"
#include "calkit/base/document.h"
#include "scratch_dir.h"

namespace calkit::testing_support {

struct RefuseCase {
  std::string name, group, expect, field;  ///< expect: accept, refuse, warn or either
  std::filesystem::path dir;
};

inline Status unpack_refuse_cases(const ScratchDir& dir) {
  return read_tar_zst(CALKIT_TEST_DATA "/refuse.tar.zst",
                      [&](const std::string& path, std::uint64_t bytes, const EntryReader& reader) -> Status {
                        std::string content(bytes, '\0');
                        for (std::size_t at = 0; at < content.size();) {
                          CALKIT_TRY(const std::size_t got,
                                     reader(std::as_writable_bytes(std::span(content).subspan(at))));
                          if (got == 0) return Error(ErrorKind::kInput, path + " is short");
                          at += got;
                        }
                        dir.write(path, content);
                        return {};
                      });
}

inline const std::vector<RefuseCase>& refuse_cases() {
  static const ScratchDir dir;
  static const std::vector<RefuseCase> all = [] {
    const Status unpacked = unpack_refuse_cases(dir);
    EXPECT_TRUE(unpacked.ok()) << unpacked.error().message;
    std::vector<RefuseCase> out;
    for (const auto& folder : std::filesystem::directory_iterator(dir.path())) {
      const auto expect = read_json(folder.path() / "expect.json");
      EXPECT_TRUE(expect.ok());
      const auto text = [&](const char* key) {
        const Value* value = expect->find(key);
        return value != nullptr && value->if_string() != nullptr ? *value->if_string() : std::string();
      };
      out.push_back({text("case"), text("group"), text("expect"), text("field"), folder.path()});
    }
    return out;
  }();
  return all;
}

}  // namespace calkit::testing_support
