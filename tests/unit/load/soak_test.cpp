#include "calkit/load/soak.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "calkit/base/document.h"

// AddressSanitizer keeps freed memory aside on purpose, which is just what a soak would call a leak.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0";
}

namespace calkit::load {
namespace {

using measure::LeakVerdict;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A device that plants what a test asks for; the process is read for real.
struct Planted {
  std::uint64_t cycle = 0;
  std::function<void(std::uint64_t)> plant;
  Result<CycleEnd> operator()() {
    ++cycle;
    if (plant) plant(cycle);
    return CycleEnd{{1, 2, 3}, {}};
  }
};

// What the process holds, made up: flat unless the test bends it.
struct MadeUp {
  ProcessUsage usage;
  std::uint64_t cycle = 0;
  std::function<void(std::uint64_t, ProcessUsage&)> bend;
  MadeUp() {
    usage.heap_bytes = 10 << 20;
    usage.anon_bytes = 40 << 20;
    usage.rss_bytes = 60 << 20;
    usage.fds = 24;
    usage.threads = 2;
  }
  Result<ProcessUsage> operator()() {
    ProcessUsage out = usage;
    ++cycle;
    if (bend) bend(cycle, out);
    return out;
  }
};

Result<SoakResult> soak(MadeUp usage, SoakPlan plan = {}, RunCycle cycle = Planted{}) {
  return run_cycles(plan, cycle, usage);
}

TEST(Soak, NothingLeftBehindPassesAfterThirtyCycles) {
  const auto got = soak({});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->verdict, LeakVerdict::kPass);
  EXPECT_THAT(got->findings, IsEmpty());
  EXPECT_EQ(got->cycles, 30u);
}

TEST(Soak, FewerThanThirtyCyclesAreInconclusiveNotAPass) {
  SoakPlan plan;
  plan.cycles = 29;
  const auto got = soak({}, plan);
  EXPECT_EQ(got->verdict, LeakVerdict::kInconclusive);
  EXPECT_THAT(got->findings, Contains(HasSubstr("no verdict on memory")));
}

TEST(Soak, AQuarterMebibyteACycleIsALeakAndAHundredthIsNot) {
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.heap_bytes += cycle * (256 << 10); };
  const auto leak = soak(usage);
  EXPECT_EQ(leak->verdict, LeakVerdict::kLeak);
  EXPECT_THAT(leak->findings, Contains(HasSubstr("heap_bytes grows")));
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.heap_bytes += cycle * (10 << 10); };
  EXPECT_EQ(soak(usage)->verdict, LeakVerdict::kPass);
}

// Linear growth of a real report: about 64 MiB a cycle.
TEST(Soak, LinearResidentGrowthIsALeak) {
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.rss_bytes += cycle * 65532 * 1024; };
  EXPECT_EQ(soak(usage)->verdict, LeakVerdict::kLeak);
}

TEST(Soak, MemoryIsToldInWholeBytes) {
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.rss_bytes += cycle * 1064020; };
  const auto got = soak(usage);
  EXPECT_THAT(got->findings,
              testing::ElementsAre("rss_bytes grows: slope +1064020 B per cycle (lower bound +1064020 B), later half "
                                   "+1064020 B (lower bound +1064020 B), budget 52429 B"));
}

// Memory that rose once and stays is the allocator's, not a leak.
TEST(Soak, APlateauAfterOneJumpIsNoLeak) {
  SoakPlan plan;
  plan.cycles = 60;
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) {
    u.rss_bytes += cycle >= 13 ? (90u << 20) + (cycle % 3) * 4096 : 0;
  };
  const auto got = soak(usage, plan);
  EXPECT_EQ(got->verdict, LeakVerdict::kPass) << (got->findings.empty() ? "" : got->findings.front());
}

TEST(Soak, OneDescriptorACycleIsALeakThoughMemoryIsFlat) {
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.fds += static_cast<std::uint32_t>(cycle); };
  const auto got = soak(usage);
  EXPECT_EQ(got->verdict, LeakVerdict::kLeak);
  EXPECT_THAT(
      got->findings,
      Contains(HasSubstr(
          "fds: 28 at the first quiescent point (cycle 4), differs from cycle 5 on, 54 at cycle 30 (+1.00 a cycle)")));
}

TEST(Soak, ADifferenceAmongWarmUpCyclesIsAllowed) {
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.threads += cycle < 4 ? 0 : 5; };
  EXPECT_EQ(soak(usage)->verdict, LeakVerdict::kPass);
}

TEST(Soak, ACounterThatComesBackIsStillAFinding) {
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.children += cycle == 20 ? 1 : 0; };
  EXPECT_THAT(soak(usage)->findings, Contains(HasSubstr("children")));
}

TEST(Soak, DeviceCountersMustComeBackExactly) {
  std::uint64_t cycle = 0;
  const auto got = soak({}, {}, [&]() -> Result<CycleEnd> {
    CycleEnd end{{1}, {}};
    end.device.kv_slots = ++cycle > 10 ? 1 : 0;
    end.device.jobs_done = cycle * 100;  // a running total, not a holding
    return end;
  });
  EXPECT_EQ(got->verdict, LeakVerdict::kLeak);
  EXPECT_THAT(
      got->findings,
      Contains(HasSubstr("device_kv_slots: 0 at the first quiescent point (cycle 4), differs from cycle 11 on")));
}

TEST(Soak, OtherTokensForTheSamePromptAreDrift) {
  std::int32_t cycle = 0;
  const auto got = soak({}, {}, [&]() -> Result<CycleEnd> { return CycleEnd{{++cycle == 17 ? 9 : 1}, {}}; });
  EXPECT_EQ(got->drift_cycle, 17u);
  EXPECT_EQ(got->verdict, LeakVerdict::kLeak);
}

TEST(Soak, AnErrorInACycleKeepsItsKindAndSaysWhichCycle) {
  int cycle = 0;
  const auto got = soak({}, {}, [&]() -> Result<CycleEnd> {
    if (++cycle == 5) return Error(ErrorKind::kDevice, "lost");
    return CycleEnd{};
  });
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kDevice);
  EXPECT_THAT(got.error().context, Contains("soak cycle 5"));
}

TEST(Soak, ALongRunKeepsABoundedSeriesAndStillFindsTheLeak) {
  SoakPlan plan;
  plan.cycles = 9000;
  MadeUp usage;
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.heap_bytes += cycle * (100 << 10); };
  const auto got = soak(usage, plan);
  EXPECT_LE(got->series.size(), 2000u);
  EXPECT_EQ(got->stride, 8u);
  EXPECT_EQ(got->verdict, LeakVerdict::kLeak);
  usage.bend = [](std::uint64_t cycle, ProcessUsage& u) { u.heap_bytes += cycle % 7 * 1000; };
  EXPECT_EQ(soak(usage, plan)->verdict, LeakVerdict::kPass);
}

// The detector is proven on this very process: real memory, a real descriptor, a real thread.
TEST(SoakPlanted, NothingPlantedPassesOnTheRealProcess) {
  const auto got = run_cycles({}, Planted{}, quiescent_usage);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->verdict, LeakVerdict::kPass) << (got->findings.empty() ? "" : got->findings.front());
}

TEST(SoakPlanted, RealMemoryIsFound) {
  std::vector<std::unique_ptr<char[]>> kept;
  Planted planted;
  planted.plant = [&kept](std::uint64_t) {
    kept.push_back(std::make_unique<char[]>(256 << 10));
    std::memset(kept.back().get(), 1, 256 << 10);
  };
  EXPECT_EQ(run_cycles({}, planted, quiescent_usage)->verdict, LeakVerdict::kLeak);
}

TEST(SoakPlanted, ARealDescriptorIsFound) {
  std::vector<int> kept;
  Planted planted;
  planted.plant = [&kept](std::uint64_t) { kept.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC)); };
  const auto got = run_cycles({}, planted, quiescent_usage);
  for (const int fd : kept) ::close(fd);
  EXPECT_EQ(got->verdict, LeakVerdict::kLeak);
  EXPECT_THAT(got->findings, Contains(HasSubstr("fds: ")));
  EXPECT_THAT(got->findings, Contains(HasSubstr("(+1.00 a cycle)")));
}

TEST(SoakPlanted, ARealThreadIsFound) {
  std::vector<std::jthread> kept;
  Planted planted;
  planted.plant = [&kept](std::uint64_t cycle) {
    if (cycle == 10)
      kept.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      });
  };
  const auto got = run_cycles({}, planted, quiescent_usage);
  EXPECT_EQ(got->verdict, LeakVerdict::kLeak);
  EXPECT_THAT(got->findings, Contains(HasSubstr("threads: ")));
}

TEST(SoakCsv, ARowHasAsManyFieldsAsTheHeader) {
  const auto commas = [](const std::string& s) { return std::count(s.begin(), s.end(), ','); };
  EXPECT_EQ(commas(csv_header()), commas(csv_row({})));
}

TEST(SoakRecord, TheVerdictWordsBecomeEvidence) {
  SoakReport report;
  report.runtime.emulated = true;
  report.runtime.name = "emu";
  report.result = *soak({});
  manifest::Evidence pass;
  record(report, pass);
  EXPECT_EQ(pass.verdict, manifest::EvidenceVerdict::kPass);
  EXPECT_THAT(pass.summary, HasSubstr("[emulated]"));
  EXPECT_THAT(to_text(report), HasSubstr("emulated"));
  EXPECT_EQ(pass.details.find("series")->if_array()->size(), 30u);

  report.result.verdict = LeakVerdict::kInconclusive;
  manifest::Evidence open;
  record(report, open);
  EXPECT_EQ(open.verdict, manifest::EvidenceVerdict::kIncomplete);
  report.result.verdict = LeakVerdict::kLeak;
  manifest::Evidence leak;
  record(report, leak);
  EXPECT_EQ(leak.verdict, manifest::EvidenceVerdict::kFail);
}

}  // namespace
}  // namespace calkit::load
