// Other programs: how they end, and that nothing of them stays.
#include "calkit/base/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "calkit/base/files.h"

namespace calkit {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong{20'000};

int code_of(const std::string& command) {
  const auto ended = run_shell(command, kLong, false);
  EXPECT_TRUE(ended.ok());
  EXPECT_FALSE(ended->timed_out);
  return ended->code;
}

TEST(Child, CodesAreThoseOfAShell) {
  EXPECT_EQ(code_of("exit 0"), 0);
  EXPECT_EQ(code_of("exit 7"), 7);
  EXPECT_EQ(code_of("kill -SEGV $$"), 128 + SIGSEGV);
  EXPECT_EQ(code_of("no-such-program-of-anybody"), 127);
}

TEST(Child, ThereIsNoInput) {
  EXPECT_EQ(code_of("test -z \"$(cat)\""), 0);
}

TEST(Child, WhatTakesTooLongIsKilledWithWhatItStarted) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / ("child_" + std::to_string(getpid()));
  const std::string command = "sleep 1000 & echo $! > " + shell_word(file.string()) + "; wait";
  const auto ended = run_shell(command, milliseconds(300), false);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->timed_out);
  const int started = std::stoi(*read_file(file));
  const auto gone = [&] {
    const auto state = read_file("/proc/" + std::to_string(started) + "/stat");
    return !state.ok() || state->find(") Z") != std::string::npos;  // reaped by whoever inherits it
  };
  for (int i = 0; i < 1000 && !gone(); ++i) ::usleep(5000);
  EXPECT_TRUE(gone());
  std::filesystem::remove(file);
}

TEST(Child, AnyTextIsOneWord) {
  for (const std::string text : {"a b", "it's", "$HOME `x` \"y\"", ""})
    EXPECT_EQ(code_of("set -- " + shell_word(text) + "; test $# = 1 && test \"$1\" = " + shell_word(text)), 0) << text;
}

}  // namespace
}  // namespace calkit
