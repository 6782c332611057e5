// Which folders a command may replace: empty ones, and earlier baselines with nothing else in them.
#include <gmock/gmock.h>

#include "baseline_support.h"
#include "calkit/frozen/store.h"

namespace calkit::frozen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TargetTest : public testing::Test {
 protected:
  std::string refused() const {
    const Status status = check_target(dir_.path());
    if (status.ok()) return "replaced";
    EXPECT_EQ(status.error().kind, ErrorKind::kInput);
    return status.error().message;
  }
  ScratchDir dir_;
};

TEST_F(TargetTest, ANewAnEmptyAndABaselinesFolderMayBeReplaced) {
  EXPECT_TRUE(check_target(dir_ / "new").ok());
  EXPECT_EQ(refused(), "replaced");
  write_baseline(dir_.path(), small_reference(2));
  EXPECT_EQ(refused(), "replaced");
}

TEST_F(TargetTest, AFileThatTheListDoesNotHaveIsKept) {
  write_baseline(dir_.path(), small_reference(2));
  dir_.write("reference/notes.txt", "mine");
  EXPECT_THAT(refused(), AllOf(HasSubstr("--out"), HasSubstr("reference/notes.txt"), HasSubstr("SHA256SUMS")));
}

TEST_F(TargetTest, AFileOfTheListThatIsGoneIsTold) {
  write_baseline(dir_.path(), small_reference(2));
  fs::remove(dir_ / "reference/coverage.json");
  EXPECT_THAT(refused(), HasSubstr("reference/coverage.json"));
}

TEST_F(TargetTest, ALinkIsNoFileOfABaseline) {
  write_baseline(dir_.path(), small_reference(2));
  fs::create_symlink("/", dir_ / "root");
  EXPECT_THAT(refused(), AllOf(HasSubstr("--out"), HasSubstr("root"), HasSubstr("symbolic link")));
}

TEST_F(TargetTest, ANamedFolderOrAnEmptyListIsNoBaseline) {
  fs::create_directories(dir_ / "model-source");
  fs::create_directories(dir_ / "reference");
  dir_.write("SHA256SUMS", "");
  EXPECT_THAT(refused(), HasSubstr("an earlier baseline"));
  dir_.write("thesis.txt", "x");
  EXPECT_THAT(refused(), HasSubstr("thesis.txt"));
}

TEST_F(TargetTest, SomebodyElsesSealedFolderIsKept) {
  dir_.write("weights.safetensors", "x");
  or_die(seal(dir_.path()));
  EXPECT_THAT(refused(), HasSubstr("no file of a baseline"));
}

TEST_F(TargetTest, AFolderWithoutAListIsKept) {
  dir_.write("thesis", "x");
  EXPECT_THAT(refused(), HasSubstr("no SHA256SUMS"));
}

TEST_F(TargetTest, RestoreKeepsOtherFoldersAndTheStore) {
  write_baseline(dir_ / "b", small_reference(2));
  const auto kept = or_die(keep(dir_ / "b", dir_ / "st"));
  dir_.write("mine/thesis", "x");
  for (const char* out : {"mine", "st", "st/blobs", "st/new", "."}) {
    const auto done = restore(dir_ / "st", kept.digest, dir_ / out);
    ASSERT_FALSE(done.ok()) << out;
    EXPECT_EQ(done.error().kind, ErrorKind::kInput) << out;
  }
  EXPECT_EQ(dir_.read("mine/thesis"), "x");
  EXPECT_TRUE(or_die(verify_store(dir_ / "st")).findings.empty());
  EXPECT_TRUE(restore(dir_ / "st", kept.digest, dir_ / "b").ok());  // an earlier baseline is replaced
  EXPECT_TRUE(findings_of(dir_ / "b").empty());
}

}  // namespace
}  // namespace calkit::frozen
