#include "calkit/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <array>
#include <cstddef>

#include "calkit/base/process.h"
#include "child_process.h"
#include "scratch_dir.h"

namespace calkit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::exit_status_in_child;
using testing_support::ScratchDir;

TEST(ReadFile, ReturnsTheBytes) {
  const ScratchDir dir;
  const std::string content("a\0b\n", 4);
  EXPECT_EQ(*read_file(dir.write("f", content)), content);
  EXPECT_EQ(*read_file(dir.write("empty", "")), "");
  EXPECT_EQ(*read_file(dir / "f", 4), content);
}

TEST(ReadFile, RefusesWhatIsNoRegularFileAndNeverWaits) {
  const ScratchDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(read_file(dir / "fifo").error().message, HasSubstr("found a FIFO; allowed: a regular file"));
  EXPECT_THAT(read_file(dir.path()).error().message, HasSubstr("found a folder"));
  EXPECT_THAT(read_file("/dev/zero").error().message, HasSubstr("found a device"));
  EXPECT_THAT(read_file(dir / "none").error().message, HasSubstr("none: cannot open: No such file or directory"));
  EXPECT_EQ(read_file(dir / "none").error().kind, ErrorKind::kInput);
  EXPECT_THAT(read_file(dir.write("large", "12345"), 4).error().message,
              HasSubstr("found 5 bytes; allowed: at most 4 bytes"));
}

TEST(MappedFile, ShowsTheBytesAlsoAfterRelease) {
  const ScratchDir dir;
  const std::string content(3 * 4096 + 17, 'q');
  const auto file = MappedFile::open(dir.write("f", content)).value();
  EXPECT_EQ(file->size(), content.size());
  file->release(5000, 100);
  file->release(0, UINT64_MAX);
  file->release(content.size(), 1);
  EXPECT_EQ(static_cast<char>(file->bytes().back()), 'q');
  EXPECT_EQ(MappedFile::open(dir.write("empty", "")).value()->bytes().size(), 0u);
}

TEST(MappedFile, GivesItsPagesBack) {
  const ScratchDir dir;
  constexpr std::size_t kBytes = 32u << 20;
  const auto file = MappedFile::open(dir.write("big", std::string(kBytes, 'x'))).value();
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBytes; i += 4096) sum += static_cast<unsigned>(file->bytes()[i]);
  const std::uint64_t touched = process_usage()->rss_bytes;
  file->release(0, kBytes);
  EXPECT_LT(process_usage()->rss_bytes + kBytes / 2, touched) << sum;
}

TEST(UnsafePath, SaysWhatIsWrong) {
  for (const char* good : {"a", "a/b.c", "model-00001-of-00004.safetensors", "..a", "a..b", "\xC3\xA4"})
    EXPECT_EQ(unsafe_path_reason(good), "") << good;
  EXPECT_EQ(unsafe_path_reason(""), "it is empty");
  EXPECT_EQ(unsafe_path_reason("/etc/passwd"), "it is absolute");
  EXPECT_EQ(unsafe_path_reason("../x"), "it has a part '..'");
  EXPECT_EQ(unsafe_path_reason("a/../../x"), "it has a part '..'");
  EXPECT_EQ(unsafe_path_reason("a/.."), "it has a part '..'");
  EXPECT_EQ(unsafe_path_reason("./a"), "it has a part '.'");
  EXPECT_EQ(unsafe_path_reason("a//b"), "it has an empty part");
  EXPECT_EQ(unsafe_path_reason("a/"), "it has an empty part");
  EXPECT_EQ(unsafe_path_reason("a\\b"), "it has a backslash");
  EXPECT_EQ(unsafe_path_reason(std::string_view("a\0b", 3)), "it has a NUL byte");
  EXPECT_EQ(unsafe_path_reason("a\nb"), "it has a control character");
  EXPECT_EQ(unsafe_path_reason("a\xFF"), "it is not UTF-8");
}

/// A folder with everything that a path from a hostile file could reach for.
struct RootFixture {
  ScratchDir dir;
  RootFixture() {
    dir.write("root/good.bin", "good");
    dir.write("root/sub/deep.bin", "deep");
    dir.write("secret.bin", "secret");
    fs::create_symlink("../secret.bin", dir / "root/link.bin");
    fs::create_symlink("good.bin", dir / "root/inner-link.bin");
    fs::create_symlink("..", dir / "root/up");
    fs::create_symlink("sub", dir / "root/inner-sub");
    fs::create_symlink("/proc/self/root", dir / "root/magic");
    fs::create_symlink("loop", dir / "root/loop");
    ::mkfifo((dir / "root/fifo").c_str(), 0600);
  }
  /// Empty when all is as it should be, else what was not.
  std::string check() const {
    const auto root = Root::open(dir / "root");
    if (!root.ok()) return root.error().message;
    if (root->read("good.bin").ok() == false || *root->read("sub/deep.bin") != "deep") return "good files";
    if (root->map("good.bin").value()->size() != 4 || root->stat("good.bin")->bytes != 4) return "map and stat";
    for (const char* bad :
         {"../secret.bin", "sub/../../secret.bin", "link.bin", "inner-link.bin", "up/secret.bin", "inner-sub/deep.bin",
          "magic/etc/passwd", "loop", "loop/x", "fifo", "none", "sub", "good.bin/x", "", "/etc/passwd"}) {
      if (const auto opened = root->read(bad); opened.ok() || opened.error().kind != ErrorKind::kInput) return bad;
    }
    for (const char* link : {"link.bin", "inner-link.bin", "up/secret.bin", "inner-sub/deep.bin", "magic/etc/passwd"}) {
      const std::string text = root->read(link).error().message;
      if (text.find("symbolic link") == std::string::npos) return text;
    }
    return {};
  }
};

TEST(Root, CannotBeLeft) {
  EXPECT_EQ(RootFixture().check(), "");
}

TEST(Root, CannotBeLeftWhereTheKernelLacksOpenat2) {
  const RootFixture fixture;
  constexpr int kNoFilter = 77;
  const int status = exit_status_in_child([&fixture] {
    std::array<sock_filter, 4> program{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
    const sock_fprog filter{program.size(), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      return kNoFilter;
    const std::string fault = fixture.check();
    if (!fault.empty()) std::fprintf(stderr, "walking: %s\n", fault.c_str());
    return fault.empty() ? 0 : 1;
  });
  if (status == kNoFilter) GTEST_SKIP() << "system call filters are not available here";
  EXPECT_EQ(status, 0);
}

TEST(Root, TellsHowManyNamesAFileHas) {
  const ScratchDir dir;
  dir.write("a", "x");
  fs::create_hard_link(dir / "a", dir / "b");
  EXPECT_EQ(Root::open(dir.path())->stat("a")->links, 2u);
}

TEST(Root, MustBeAFolder) {
  const ScratchDir dir;
  EXPECT_EQ(Root::open(dir.write("f", "")).error().kind, ErrorKind::kInput);
  EXPECT_EQ(Root::open(dir / "none").error().kind, ErrorKind::kInput);
}

TEST(ListTree, SortsByBytes) {
  const ScratchDir dir;
  for (const char* name : {"b/x", "b.txt", "a", "B", "b/a/z", "\xC3\xA4"}) dir.write(name, "");
  EXPECT_EQ(*list_tree(dir.path()), (std::vector<std::string>{"B", "a", "b.txt", "b/a/z", "b/x", "\xC3\xA4"}));
  EXPECT_EQ(*list_tree(dir.path().string() + "/"), *list_tree(dir.path()));
}

TEST(ListTree, RefusesLinksSpecialFilesAndOddNames) {
  const ScratchDir dir;
  dir.write("t1/a", "");
  fs::create_symlink("a", dir / "t1/link");
  EXPECT_THAT(list_tree(dir / "t1").error().message, HasSubstr("t1/link: found a symbolic link"));
  fs::create_directory(dir / "t2");
  ::mkfifo((dir / "t2/fifo").c_str(), 0600);
  EXPECT_THAT(list_tree(dir / "t2").error().message, HasSubstr("fifo: found a special file"));
  dir.write("t3/a\nb", "");
  EXPECT_THAT(list_tree(dir / "t3").error().message, HasSubstr("a control character"));
  EXPECT_EQ(list_tree(dir / "none").error().kind, ErrorKind::kInput);
}

}  // namespace
}  // namespace calkit
