#include "calkit/base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "calkit/base/log.h"
#include "child_process.h"

namespace calkit {
namespace {

TEST(ProcessUsage, CountsDescriptorsThreadsAndChildrenExactly) {
  const ProcessUsage before = process_usage().value();
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const testing_support::StoppedChild child([](const auto& here) { here(); });
  std::jthread thread([](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const ProcessUsage during = process_usage().value();
  EXPECT_EQ(during.fds, before.fds + 1);
  EXPECT_EQ(during.children, before.children + 1);
  EXPECT_EQ(during.threads, before.threads + 1);
  EXPECT_GT(during.rss_bytes, 0u);
  EXPECT_GT(during.anon_bytes, 0u);
  ::close(fd);
  EXPECT_EQ(process_usage()->fds, before.fds);
}

// PSS of this process falls when another one shares its pages, and rises when that one ends: no measure of a leak.
TEST(ProcessUsage, AnonymousMemoryIsThisProcessesOwnAffair) {
  const std::vector<char> shared(32 << 20, 'x');
  const ProcessUsage alone = process_usage().value();
  const testing_support::StoppedChild child([](const auto& here) { here(); });
  const ProcessUsage during = process_usage().value();
  EXPECT_NEAR(static_cast<double>(during.anon_bytes), static_cast<double>(alone.anon_bytes), 8 << 20) << shared.size();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ProcessUsage, SeesTheHeapGrow) {
  const ProcessUsage before = process_usage().value();
  std::vector<std::string> blocks(100, std::string(100000, 'x'));
  EXPECT_GE(process_usage()->heap_bytes, before.heap_bytes + 9900000) << blocks.size();
}
#endif

TEST(HostFacts, AreThere) {
  const HostFacts facts = host_facts();
  EXPECT_NE(facts.cpu, "");
  EXPECT_GE(facts.cores, 1u);
  EXPECT_GT(facts.memory_bytes, 1u << 20);
  EXPECT_NE(facts.kernel, "");
  EXPECT_GT(peak_rss_bytes(), 1u << 20);
}

TEST(UtcNow, CanBePinned) {
  ::setenv("SOURCE_DATE_EPOCH", "86400", 1);
  EXPECT_EQ(utc_now(), "1970-01-02T00:00:00Z");
  ::unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_THAT(utc_now(), ::testing::MatchesRegex("20[0-9][0-9]-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+Z"));
}

TEST(DeadlineOfSteadyClock, Passes) {
  EXPECT_TRUE(Deadline::in(std::chrono::nanoseconds(-1)).passed());
  EXPECT_FALSE(Deadline::in(std::chrono::hours(1)).passed());
  EXPECT_GT(Deadline::in(std::chrono::hours(1)).left(), std::chrono::minutes(59));
}

TEST(Log, GoesToStderrFromItsLevelOn) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  log::debug("hidden");
  log::warning("shown");
  log::set_level(log::Level::kDebug);
  log::debug("now shown");
  log::set_level(log::Level::kOff);
  log::warning("hidden again");
  log::set_level(log::Level::kWarning);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "calkit: warning: shown\ncalkit: debug: now shown\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(InputError, LeavesEmptyPartsOut) {
  EXPECT_EQ(input_error("f", "/a", "1", "2").message, "f: /a: found 1; allowed: 2");
  EXPECT_EQ(input_error("f", "", "1", "").message, "f: found 1");
  EXPECT_EQ(input_error("f", "/a", "", "2").message, "f: /a: allowed: 2");
}

}  // namespace
}  // namespace calkit
