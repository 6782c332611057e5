/// Where a package lies, and what may not be read of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "lint_case.h"
#include "scratch_dir.h"

namespace calkit::lint {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_support::ScratchDir;

TEST(LintTree, AFolderItsArchivesAndMemoryGiveOneReport) {
  const ScratchDir dir;
  testing_support::good_package().write(dir / "mini.calbin");
  const std::string in = "cd '" + dir.path().string() + "' && ";
  ASSERT_EQ(std::system((in + "tar -cf t.tar mini.calbin && zstd -q t.tar -o t.tar.zst").c_str()), 0);
  const auto files = list_tree(dir / "mini.calbin");
  ASSERT_TRUE(files.ok());
  std::map<std::string, std::string> content;
  for (const auto& file : *files) content[file] = dir.read("mini.calbin/" + file);
  const auto want = hash_tree(dir / "mini.calbin");
  for (const char* form : {"mini.calbin", "t.tar", "t.tar.zst", "memory"}) {
    SCOPED_TRACE(form);
    Inputs inputs;
    inputs.package = dir / form;
    inputs.service = testing_support::good_service();
    if (inputs.package.filename() == "memory")
      inputs.tree = std::make_shared<const FileTree>(FileTree::memory("memory", content));
    const auto report = run(inputs);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->verdict, Verdict::kPass);
    EXPECT_EQ(finding_ids(*report, Severity::kInfo), Ids{});
    ASSERT_TRUE(report->tree.has_value());
    EXPECT_EQ(report->tree->sha256, want->sha256) << "records of a folder and of its archive chain";
    EXPECT_EQ(report->package_digest, "sha256:" + sha256_hex(content.at("calbin.json")));
  }
}

TEST(LintTree, AFileThatIsNoPackageIsRefusedByWhatItIs) {
  const ScratchDir dir;
  Inputs inputs;
  inputs.package = dir.write("mini.calbin", "hello");
  const auto report = run(inputs);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kInput);
  EXPECT_THAT(report.error().message, HasSubstr("a .tar or a .tar.zst"));
}

TEST(LintTree, AFileThatMayNotBeReadLeavesNoVerdict) {
  for (const char* shut : {"params/blk0.bin", "params"}) {
    SCOPED_TRACE(shut);
    const ScratchDir dir;
    testing_support::good_package().write(dir / "mini.calbin");
    fs::permissions(dir.path(), fs::perms::all);
    fs::permissions(dir / "mini.calbin", fs::perms::all);
    fs::permissions(dir / "mini.calbin" / shut, fs::perms::none);
    Inputs inputs;
    inputs.package = dir / "mini.calbin";
    const bool root = ::geteuid() == 0;
    constexpr uid_t kNobody = 65534;
    ASSERT_TRUE(!root || ::seteuid(kNobody) == 0);
    const auto report = run(inputs);
    ASSERT_TRUE(!root || ::seteuid(0) == 0);
    fs::permissions(dir / "mini.calbin" / shut, fs::perms::owner_all);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->verdict, Verdict::kIncomplete);
    EXPECT_FALSE(report->tree.has_value());
    EXPECT_THAT(open_ids(*report), testing::Contains("CB0103"));
    EXPECT_THAT(finding_ids(*report), testing::Not(testing::Contains("CB0101")));
    EXPECT_THAT(to_text(*report, false), HasSubstr("Permission denied"));
  }
}

TEST(LintTree, ProgressEndsAtTheSizeOfThePackage) {
  const ScratchDir dir;
  testing_support::good_package().write(dir / "mini.calbin");
  std::uint64_t last = 0, all = 1;
  Inputs inputs;
  inputs.package = dir / "mini.calbin";
  inputs.progress = [&](std::uint64_t done, std::uint64_t total) {
    last = done;
    all = total;
  };
  ASSERT_TRUE(run(inputs).ok());
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, hash_tree(dir / "mini.calbin")->bytes);
}

}  // namespace
}  // namespace calkit::lint
