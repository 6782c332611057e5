#include "calkit/base/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "scratch_dir.h"

namespace calkit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::ScratchDir;

int shell(const std::string& command) {
  return std::system(command.c_str());
}

using Contents = std::map<std::string, std::string>;
Result<Contents> unpack(const fs::path& archive, const ArchiveLimits& limits = {}) {
  Contents out;
  const Status status = read_tar_zst(
      archive,
      [&out](const std::string& path, std::uint64_t bytes, const EntryReader& reader) -> Status {
        std::string content;
        std::array<std::byte, 1000> buffer;
        for (;;) {
          CALKIT_TRY(const std::size_t got, reader(buffer));
          if (got == 0) break;
          content.append(reinterpret_cast<const char*>(buffer.data()), got);
        }
        EXPECT_EQ(content.size(), bytes);
        out[path] = content;
        return {};
      },
      limits);
  if (!status.ok()) return status.error();
  return out;
}

std::string random_looking(std::size_t size) {
  std::string out(size, '\0');
  std::uint32_t state = 1;
  for (char& c : out) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

TEST(Archive, BringsEveryFileBack) {
  const ScratchDir dir;
  const Contents files{{"a.txt", "one\n"},
                       {"sub/b.bin", random_looking(300000)},
                       {"empty", ""},
                       {"sub/\xC3\xA4\xE4\xBD\xA0.json", "{}"},
                       {std::string(150, 'n'), "a long name"}};
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    dir.write("t/" + name, content);
    names.insert(names.begin(), name);
  }
  ASSERT_TRUE(write_tar_zst(dir / "out.tar.zst", dir / "t", names).ok());
  const auto back = unpack(dir / "out.tar.zst");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, files);
  if (shell("command -v zstd >/dev/null") == 0) {
    EXPECT_EQ(shell("cd " + dir.path().string() +
                    " && zstd -dcq out.tar.zst | tar tf - >/dev/null 2>&1 && mkdir x && zstd -dcq out.tar.zst | tar xf "
                    "- -C x 2>/dev/null "
                    "&& diff -r t x"),
              0);
  }
}

TEST(Archive, HasTheSameBytesWhateverTheMachineDoes) {
  const ScratchDir dir;
  const auto build = [&dir](const std::string& name, bool backwards) {
    std::vector<std::string> files;
    for (int i = 0; i < 30; ++i) {
      const std::string file = "f" + std::to_string(backwards ? 29 - i : i);
      dir.write(name + "/" + file, random_looking(static_cast<std::size_t>(std::stoi(file.substr(1))) * 1000));
      files.push_back(file);
    }
    return files;
  };
  const auto first = build("one", false);
  ASSERT_TRUE(write_tar_zst(dir / "1.tar.zst", dir / "one", first).ok());

  const mode_t before = ::umask(077);
  ::setenv("TZ", "Asia/Kathmandu", 1);
  ::tzset();
  const auto second = build("two", true);
  for (const std::string& file : second) {
    fs::permissions(dir / ("two/" + file), fs::perms::owner_read | fs::perms::owner_exec);
    fs::last_write_time(dir / ("two/" + file), fs::file_time_type::clock::now() - std::chrono::hours(100));
  }
  EXPECT_TRUE(write_tar_zst(dir / "2.tar.zst", dir / "two", second).ok());
  ::umask(before);
  ::unsetenv("TZ");
  ::tzset();
  EXPECT_EQ(hash_file(dir / "1.tar.zst")->sha256, hash_file(dir / "2.tar.zst")->sha256);
}

TEST(Archive, HoldsNothingOfTheUserOrTheTime) {
  const ScratchDir dir;
  dir.write("t/a", "x");
  ASSERT_TRUE(write_tar_zst(dir / "o.tar.zst", dir / "t", {"a"}).ok());
  if (shell("command -v zstd >/dev/null") != 0) GTEST_SKIP() << "no zstd command";
  ASSERT_EQ(shell("cd " + dir.path().string() + " && zstd -dcq o.tar.zst | TZ=UTC tar tvf - > list"), 0);
  EXPECT_THAT(dir.read("list"), HasSubstr("-rw-r--r-- 0/0"));
  EXPECT_THAT(dir.read("list"), HasSubstr("1970-01-01 00:00 a"));
}

TEST(Archive, IsNotWrittenWhenAFileIsMissingOrALink) {
  const ScratchDir dir;
  dir.write("t/a", "x");
  fs::create_symlink("a", dir / "t/l");
  EXPECT_EQ(write_tar_zst(dir / "o.tar.zst", dir / "t", {"a", "none"}).error().kind, ErrorKind::kInput);
  EXPECT_EQ(write_tar_zst(dir / "o.tar.zst", dir / "t", {"a", "l"}).error().kind, ErrorKind::kInput);
  EXPECT_EQ(write_tar_zst(dir / "o.tar.zst", dir / "t", {"../x"}).error().kind, ErrorKind::kInput);
  EXPECT_EQ(dir.entries(), 1u);
}

/// Archives that GNU tar makes and no receiver should take.
class HostileArchive : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v zstd >/dev/null && command -v tar >/dev/null") != 0) GTEST_SKIP() << "no tar or zstd command";
    dir_.write("t/a", "aaaa");
    dir_.write("t/sub/b", "bbbb");
  }
  std::string refusal(const std::string& tar_arguments, const ArchiveLimits& limits = {}) {
    EXPECT_EQ(shell("cd " + (dir_ / "t").string() + " && tar cPf - " + tar_arguments +
                    " 2>/dev/null | zstd -q -o ../o.tar.zst -f"),
              0);
    const auto contents = unpack(dir_ / "o.tar.zst", limits);
    if (contents.ok()) return "(accepted)";
    EXPECT_EQ(contents.error().kind, ErrorKind::kInput);
    return contents.error().message;
  }
  ScratchDir dir_;
};

TEST_F(HostileArchive, WithPlainFilesIsTaken) {
  EXPECT_EQ(refusal("a sub"), "(accepted)");
}
TEST_F(HostileArchive, WithAPathThatLeavesIsRefused) {
  EXPECT_THAT(refusal("--transform=s,^a,../evil, a"), HasSubstr("a part '..'"));
  EXPECT_THAT(refusal("--transform=s,^a,/evil, a"), HasSubstr("absolute"));
  EXPECT_THAT(refusal("--transform=s,^a,x/./y, a"), HasSubstr("a part '.'"));
}
TEST_F(HostileArchive, WithLinksOrSpecialFilesIsRefused) {
  fs::create_symlink("a", dir_ / "t/link");
  fs::create_hard_link(dir_ / "t/a", dir_ / "t/hard");
  ::mkfifo((dir_ / "t/fifo").c_str(), 0600);
  EXPECT_THAT(refusal("link"), HasSubstr("a link or a special file"));
  EXPECT_THAT(refusal("a hard"), HasSubstr("a link or a special file"));
  EXPECT_THAT(refusal("fifo"), HasSubstr("a link or a special file"));
}
TEST_F(HostileArchive, WithARepeatedPathIsRefused) {
  EXPECT_THAT(refusal("a --transform=s,^sub/b,a, sub/b"), HasSubstr("a path given twice"));
}
TEST_F(HostileArchive, BeyondItsLimitsIsRefused) {
  EXPECT_THAT(refusal("a sub/b", {.max_entries = 1}), HasSubstr("at most 1 entries"));
  EXPECT_THAT(refusal("a sub/b", {.max_bytes = 7}), HasSubstr("at most 7 bytes in all"));
  dir_.write("t/zeros", std::string(4 << 20, '\0'));
  EXPECT_THAT(refusal("zeros"), HasSubstr("at most 1000 times the packed size"));
}
TEST_F(HostileArchive, WithAHugeSparseFileIsRefused) {
  dir_.write("t/sparse", "");
  fs::resize_file(dir_ / "t/sparse", 1ull << 40);
  EXPECT_THAT(refusal("--sparse sparse"), HasSubstr("packed size"));
}
TEST_F(HostileArchive, CutOrSpoiltIsRefused) {
  dir_.write("t/noise", random_looking(100000));
  EXPECT_EQ(refusal("noise"), "(accepted)");
  const std::string whole = dir_.read("o.tar.zst");
  EXPECT_EQ(unpack(dir_.write("cut.tar.zst", whole.substr(0, whole.size() / 2))).error().kind, ErrorKind::kInput);
  std::string spoilt = whole;
  spoilt[20] = static_cast<char>(~spoilt[20]);
  EXPECT_FALSE(unpack(dir_.write("spoilt.tar.zst", spoilt)).ok());
  EXPECT_FALSE(unpack(dir_.write("text.tar.zst", "no archive at all")).ok());
  EXPECT_FALSE(unpack(dir_.write("empty.tar.zst", "")).ok());
  EXPECT_FALSE(unpack(dir_ / "none.tar.zst").ok());
}

}  // namespace
}  // namespace calkit
