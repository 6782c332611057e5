#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "child_process.h"
#include "scratch_dir.h"

namespace calkit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::exit_status_in_child;
using testing_support::ScratchDir;
using testing_support::StoppedChild;

void put(const fs::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

TEST(StagedDir, AppearsOnlyAtCommit) {
  const ScratchDir dir;
  auto staged = StagedDir::create(dir / "deep/out/").value();
  put(staged.path() / "a", "1");
  fs::create_directory(staged.path() / "sub");
  put(staged.path() / "sub/b", "2");
  EXPECT_FALSE(fs::exists(dir / "deep/out"));
  ASSERT_TRUE(staged.commit().ok());
  EXPECT_EQ(dir.read("deep/out/sub/b"), "2");
  EXPECT_FALSE(fs::exists(staged.path()));
}

TEST(StagedDir, LeavesNothingWithoutCommit) {
  const ScratchDir dir;
  {
    auto staged = StagedDir::create(dir / "out").value();
    put(staged.path() / "a", "1");
    StagedDir moved = std::move(staged);
    EXPECT_EQ(dir.entries(), 1u);
  }
  EXPECT_EQ(dir.entries(), 0u);
}

TEST(StagedDir, ReplacesAnOlderFolderWhole) {
  const ScratchDir dir;
  dir.write("out/old", "old");
  auto staged = StagedDir::create(dir / "out").value();
  put(staged.path() / "new", "new");
  ASSERT_TRUE(staged.commit().ok());
  EXPECT_FALSE(fs::exists(dir / "out/old"));
  EXPECT_EQ(dir.read("out/new"), "new");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(StagedDir, RefusesATargetThatIsNoFolder) {
  const ScratchDir dir;
  dir.write("file", "x");
  fs::create_directory(dir / "elsewhere");
  fs::create_symlink("elsewhere", dir / "link");
  EXPECT_THAT(StagedDir::create(dir / "file").error().message, HasSubstr("found a file; allowed: a folder"));
  EXPECT_THAT(StagedDir::create(dir / "link").error().message, HasSubstr("found a symbolic link"));
  EXPECT_EQ(StagedDir::create("/").error().kind, ErrorKind::kInput);
  EXPECT_EQ(StagedDir::create("..").error().kind, ErrorKind::kInput);
  EXPECT_EQ(StagedDir::create(dir / "file/sub").error().kind, ErrorKind::kInput);
  EXPECT_EQ(dir.read("file"), "x");
}

TEST(StagedDir, KeepsTheUsualPermissions) {
  const ScratchDir dir;
  const mode_t before = ::umask(027);
  auto staged = StagedDir::create(dir / "out").value();
  ::umask(before);
  ASSERT_TRUE(staged.commit().ok());
  EXPECT_EQ(static_cast<unsigned>(fs::status(dir / "out").permissions()), 0750u);
}

TEST(StagedDir, OfAKilledRunIsRemovedByTheNextOne) {
  const ScratchDir dir;
  StoppedChild child([&dir](const auto& here) {
    auto staged = StagedDir::create(dir / "out").value();
    put(staged.path() / "half", "h");
    here();
  });
  ASSERT_TRUE(child.arrived());
  child.kill();
  EXPECT_FALSE(fs::exists(dir / "out"));
  EXPECT_EQ(dir.entries(), 1u);
  dir.write(".out.calkit-tmp-abc123/old", "what an exchange left behind");
  dir.write(".other.calkit-tmp-abc123/x", "another target's");
  auto staged = StagedDir::create(dir / "out").value();
  EXPECT_EQ(dir.entries(), 2u);  // the other target's and the new one
  ASSERT_TRUE(staged.commit().ok());
}

TEST(StagedDir, OfALiveRunIsLeftAlone) {
  const ScratchDir dir;
  StoppedChild child([&dir](const auto& here) {
    auto staged = StagedDir::create(dir / "out").value();
    put(staged.path() / "half", "h");
    here();
  });
  ASSERT_TRUE(child.arrived());
  auto staged = StagedDir::create(dir / "out").value();
  EXPECT_EQ(dir.entries(), 2u);
  ASSERT_TRUE(staged.commit().ok());
  EXPECT_EQ(dir.entries(), 2u);
}

TEST(StagedDir, IsWholeOrOldWheneverItsRunIsKilled) {
  const ScratchDir dir;
  std::mt19937 random(20);
  for (int point = 0; point < 20; ++point) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (int round = 0;; ++round) {
        auto staged = StagedDir::create(dir / "out");
        if (!staged.ok()) ::_exit(1);
        for (const char* name : {"a", "b", "c"}) put(staged->path() / name, std::to_string(round));
        if (!staged->commit().ok()) ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 15000));
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself";
    if (!fs::exists(dir / "out")) continue;
    EXPECT_NE(dir.read("out/a"), "");
    EXPECT_EQ(dir.read("out/a"), dir.read("out/b"));
    EXPECT_EQ(dir.read("out/a"), dir.read("out/c"));
  }
  {
    const auto last = StagedDir::create(dir / "out");
  }
  EXPECT_LE(dir.entries(), 1u);
}

TEST(StagedDir, LetsTwoWritersOfOneTargetBothFinish) {
  const ScratchDir dir;
  std::array<int, 2> failures{};
  {
    std::vector<std::jthread> writers;
    for (int w = 0; w < 2; ++w) {
      writers.emplace_back([&, w] {
        for (int round = 0; round < 25; ++round) {
          auto staged = StagedDir::create(dir / "out");
          if (staged.ok()) put(staged->path() / "a", "x");
          if (!staged.ok() || !staged->commit().ok()) ++failures[static_cast<std::size_t>(w)];
        }
      });
    }
  }
  EXPECT_EQ(failures[0] + failures[1], 0);
  EXPECT_EQ(dir.read("out/a"), "x");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(Interrupt, TurnsCommitIntoAnErrorAndLeavesTheOldFolder) {
  const ScratchDir dir;
  dir.write("out/old", "old");
  dir.write("file", "old");
  const int status = exit_status_in_child([&dir] {
    install_interrupt_handlers();
    auto folder = StagedDir::create(dir / "out").value();
    put(folder.path() / "new", "new");
    std::raise(SIGINT);
    if (!interrupted()) return 1;
    const Status committed = folder.commit();
    if (committed.ok() || committed.error().kind != ErrorKind::kInterrupted) return 2;
    const Status written = write_file(dir / "file", "new");
    return !written.ok() && written.error().kind == ErrorKind::kInterrupted ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(dir / "out/old"));
  EXPECT_FALSE(fs::exists(dir / "out/new"));
  EXPECT_EQ(dir.read("file"), "old");
}

TEST(Interrupt, EndsTheProcessAtTheSecondSignal) {
  EXPECT_EQ(exit_status_in_child([] {
              install_interrupt_handlers();
              std::raise(SIGINT);
              std::raise(SIGINT);
              return 0;
            }),
            -1);
}

TEST(StagedFile, IsWrittenPieceByPieceAndAppearsAtCommit) {
  const ScratchDir dir;
  auto file = StagedFile::create(dir / "out.bin").value();
  const std::string piece(700000, 'p');
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(file.write(piece).ok());
  EXPECT_EQ(file.size(), 2800000u);
  EXPECT_FALSE(fs::exists(dir / "out.bin"));
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(fs::file_size(dir / "out.bin"), 2800000u);
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(StagedFile, LeavesTheOldFileWithoutCommit) {
  const ScratchDir dir;
  dir.write("f", "old");
  {
    auto file = StagedFile::create(dir / "f").value();
    ASSERT_TRUE(file.write("new").ok());
  }
  EXPECT_EQ(dir.read("f"), "old");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(StagedFile, RefusesDevicesFoldersAndLinks) {
  const ScratchDir dir;
  dir.write("real", "x");
  fs::create_symlink("real", dir / "link");
  EXPECT_THAT(StagedFile::create("/dev/full").error().message, HasSubstr("found a special file"));
  EXPECT_THAT(StagedFile::create(dir.path()).error().message, HasSubstr("found a folder"));
  EXPECT_THAT(StagedFile::create(dir / "link").error().message, HasSubstr("found a symbolic link"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(StagedFile, OfAKilledRunIsRemovedByTheNextOne) {
  const ScratchDir dir;
  dir.write("f", "old");
  StoppedChild child([&dir](const auto& here) {
    auto file = StagedFile::create(dir / "f").value();
    static_cast<void>(file.write(std::string(2 << 20, 'x')).ok());
    here();
  });
  ASSERT_TRUE(child.arrived());
  {
    const auto beside_it = StagedFile::create(dir / "f").value();
  }
  EXPECT_EQ(dir.entries(), 2u) << "a live run's temporary must stay";
  child.kill();
  EXPECT_EQ(dir.read("f"), "old");
  ASSERT_TRUE(write_file(dir / "f", "new").ok());
  EXPECT_EQ(dir.read("f"), "new");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(WriteFile, ReportsAFullDiskAndKeepsTheOldFile) {
  const ScratchDir dir;
  dir.write("f", "old");
  const int status = exit_status_in_child([&dir] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 77;
    const Status written = write_file(dir / "f", std::string(100000, 'x'));
    return !written.ok() && written.error().kind == ErrorKind::kIo ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(dir.read("f"), "old");
  EXPECT_EQ(dir.entries(), 1u);
}

}  // namespace
}  // namespace calkit
