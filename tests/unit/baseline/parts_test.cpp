// A freeze in parts: interrupted and continued, sharded and merged, long prompts left out, noise measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/baseline/freeze.h"
#include "scratch_dir.h"

namespace calkit::baseline {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class Parts : public testing::Test {
 protected:
  FreezeOptions options(const std::string& out) {
    FreezeOptions how;
    how.model_dir = fs::path(CALKIT_TEST_DATA) / "models/qwen3-trained";
    how.out = dir_ / out;
    how.greedy_steps = 4;
    for (const char* text : {"The fox", "x", "", "one two three four five six seven eight nine ten eleven twelve",
                             "A river ran past the mill and nobody counted the sacks of flour that day.", "7 + 5"})
      how.prompts.push_back({"p" + std::to_string(how.prompts.size()), "", text, false});
    frozen::Prompt long_one{"long", "length", "", false};
    long_one.recipe = frozen::Recipe{std::nullopt, 0, ""};
    how.prompts.push_back(long_one);
    frozen::Prompt tokens{"t17", "length", "", false};
    tokens.recipe = frozen::Recipe{17, std::nullopt, ""};
    how.prompts.push_back(tokens);
    return how;
  }
  FreezeReport freeze(const FreezeOptions& how) {
    const auto report = freeze_model(how);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? *report : FreezeReport{};
  }
  std::string digest(const std::string& out) { return hash_tree(dir_ / out)->sha256; }
  std::string merge_error(const std::vector<std::string>& shards) {
    std::vector<fs::path> dirs;
    for (const std::string& shard : shards) dirs.push_back(dir_ / shard);
    const auto report = merge_shards(dirs, dir_ / "merged");
    return report.ok() ? "no error" : report.error().message;
  }
  void freeze_shards(std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
      auto how = options("s" + std::to_string(i));
      how.shard = Shard{i, count};
      freeze(how);
    }
  }

  testing_support::ScratchDir dir_;
};

TEST_F(Parts, ShardsMergedAreTheSameBytesAsTheWhole) {
  freeze(options("whole"));
  freeze_shards(3);
  EXPECT_THAT(frozen::verify(dir_ / "s1")->findings, testing::Contains(HasSubstr("a part of a freeze")));
  ASSERT_EQ(merge_error({"s3", "s1", "s2"}), "no error");
  EXPECT_EQ(digest("merged"), digest("whole"));
  EXPECT_THAT(frozen::verify(dir_ / "merged")->findings, IsEmpty());
}

TEST_F(Parts, MergeNamesTheShardThatIsMissingDoubleForeignOrDamaged) {
  freeze_shards(2);
  EXPECT_THAT(merge_error({"s1"}), HasSubstr("found 1 of 2; missing: 2/2"));
  fs::copy(dir_ / "s1", dir_ / "again", fs::copy_options::recursive);
  EXPECT_THAT(merge_error({"s1", "s2", "again"}),
              AllOf(HasSubstr("again/shard.json"), HasSubstr("shard 1/2 a second time")));
  auto other = options("foreign");
  other.greedy_steps = 5;
  other.shard = Shard{2, 2};
  freeze(other);
  EXPECT_THAT(merge_error({"s1", "foreign"}), AllOf(HasSubstr("foreign/shard.json"), HasSubstr("a shard of freeze")));
  other = options("of-three");
  other.shard = Shard{3, 3};
  freeze(other);
  EXPECT_THAT(merge_error({"s1", "of-three"}), HasSubstr("found shard 3/3; allowed: one of 2"));
  freeze(options("whole"));
  EXPECT_THAT(merge_error({"s1", "whole"}), AllOf(HasSubstr("whole"), HasSubstr("no shard.json")));
  dir_.write("s2/reference/prompts.jsonl", dir_.read("s2/reference/prompts.jsonl") + "\n");
  EXPECT_THAT(merge_error({"s1", "s2"}), AllOf(HasSubstr("s2"), HasSubstr("damaged")));
  EXPECT_FALSE(fs::exists(dir_ / "merged"));
}

TEST_F(Parts, AShardIsWrittenAsIOfN) {
  EXPECT_EQ(parse_shard("2/4")->index, 2u);
  for (const char* bad : {"", "2", "0/4", "5/4", "1/0", "a/4", "1/4x", "-1/4", "1/5000", "1/2/3"})
    EXPECT_FALSE(parse_shard(bad).ok()) << bad;
  auto how = options("many");
  how.shard = Shard{1, 100};
  EXPECT_THAT(freeze_model(how).error().message, HasSubstr("found 100 shards; allowed: at most 7"));
}

TEST_F(Parts, AnInterruptedFreezeGoesOnWhereItStopped) {
  freeze(options("whole"));
  auto how = options("cut");
  how.progress = [](std::size_t done, std::size_t) {
    if (done == 3) throw std::runtime_error("cut");  // as good as a kill: nothing is cleaned up
  };
  EXPECT_ANY_THROW((void)freeze_model(how));
  EXPECT_FALSE(fs::exists(how.out));
  const fs::path work = dir_ / ".cut.calkit-work";
  ASSERT_TRUE(fs::exists(work));
  how.progress = nullptr;
  const FreezeReport report = freeze(how);
  EXPECT_EQ(report.resumed, 2u) << "the third prompt has no tokens";
  EXPECT_EQ(digest("cut"), digest("whole"));
  EXPECT_FALSE(fs::exists(work));
}

TEST_F(Parts, WorkOfOtherInputsAndDamagedWorkAreNotUsed) {
  auto how = options("cut");
  how.progress = [](std::size_t done, std::size_t) {
    if (done == 6) throw std::runtime_error("cut");
  };
  EXPECT_ANY_THROW((void)freeze_model(how));
  const fs::path work = dir_ / ".cut.calkit-work";
  fs::path first;
  for (const auto& entry : fs::recursive_directory_iterator(work))
    if (entry.is_regular_file() && first.empty()) first = entry.path();
  auto bytes = *read_file(first);
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(write_file(first, bytes).ok());
  auto other = options("cut");
  other.prompts[0].text = "The hen";
  EXPECT_THAT(freeze(other).resumed, testing::AnyOf(3u, 4u)) << "five answers, one damaged, one of another text";
  other = options("fresh");
  other.prompts[0].text = "The hen";
  freeze(other);
  EXPECT_EQ(digest("cut"), digest("fresh"));
}

TEST_F(Parts, LengthsThatDoNotFitAndThoseLeftOutAreInTheRecord) {
  auto how = options("b");
  how.max_tokens = 16;
  const FreezeReport report = freeze(how);
  ASSERT_EQ(report.refused.size(), 1u);
  EXPECT_THAT(report.refused[0].reason, HasSubstr("4096 tokens and 4 greedy steps; allowed: 4096 positions"));
  ASSERT_FALSE(report.left_out.empty());
  EXPECT_EQ(report.left_out.back().id, "t17");
  EXPECT_EQ(report.left_out.back().tokens, 17);
  const Value coverage = *read_json(dir_ / "b/reference/coverage.json");
  EXPECT_EQ(coverage.find("max_tokens")->if_int(), 16);
  EXPECT_EQ(coverage.find("left_out")->if_array()->size(), report.left_out.size());
  EXPECT_THAT(frozen::verify(how.out)->findings, IsEmpty());
}

TEST_F(Parts, NoiseIsMeasuredAndStored) {
  freeze(options("b"));
  const Value noise = *read_json(dir_ / "b/reference/noise.json");
  const Cursor at(noise, "noise.json");
  const auto runs = at.at("runs")->items();
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  ASSERT_EQ(runs->size(), 2u);
  for (const Cursor& run : *runs) {
    EXPECT_LT(*run.number("nmse_max"), 1e-9) << *run.string("how");
    EXPECT_GE(run.at("prompts")->items()->size(), 2u);
  }
  auto without = options("quiet");
  without.noise_prompts = 0;
  freeze(without);
  EXPECT_TRUE(read_json(dir_ / "quiet/reference/noise.json")->find("runs")->is_null());
}

}  // namespace
}  // namespace calkit::baseline
