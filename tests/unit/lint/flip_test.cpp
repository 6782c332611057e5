/// A single flipped bit, wherever it is, never passes unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

#include "calkit/calbin/reading.h"
#include "lint_case.h"
#include "scratch_dir.h"

namespace calkit::lint {
namespace {

using testing_support::ScratchDir;
using Files = std::map<std::string, std::string>;

constexpr char kDescription[] = "calbin.json";
constexpr int kFlips = 1000, kArchiveFlips = 200;

/// The package of a board with two chips, in memory.
struct Board {
  ScratchDir dir;
  Files files;
  Inputs inputs;

  Board() {
    testing_support::PackageShape shape;
    shape.chips = 2;
    shape.full = true;
    auto package = testing_support::good_package(shape);
    package.description.compat.device = "board";
    package.write(dir / "mini.calbin");
    const auto paths = list_tree(dir / "mini.calbin");
    if (!paths.ok()) std::abort();
    for (const auto& path : *paths) files[path] = dir.read("mini.calbin/" + path);
    inputs.package = "mini.calbin";
    inputs.service = testing_support::good_service(shape);
    inputs.support = manifest::SupportMatrix{"test matrix", {{{"any", "any", "any", "board"}, true, "tried"}}};
  }

  Result<Report> lint(const Files& with) const {
    Inputs now = inputs;
    now.tree = std::make_shared<const FileTree>(FileTree::memory("mini.calbin", with));
    return run(now);
  }
};

/// "calbin.json byte 7 bit 3": what was flipped, to do it again.
struct Flip {
  std::string path;
  std::size_t byte = 0;
  int bit = 0;
};
std::ostream& operator<<(std::ostream& out, const Flip& flip) {
  return out << flip.path << " byte " << flip.byte << " bit " << flip.bit;
}
std::size_t below(std::mt19937_64& random, std::size_t end) {
  return static_cast<std::size_t>(random() % end);
}
void apply(const Flip& flip, std::string& bytes) {
  bytes[flip.byte] = static_cast<char>(static_cast<unsigned char>(bytes[flip.byte]) ^ (1u << flip.bit));
}

/// A bit of a listed file, each byte of all of them as likely as another.
Flip flip_in_files(const Files& files, std::mt19937_64& random) {
  std::size_t all = 0;
  for (const auto& [path, bytes] : files)
    if (path != kDescription) all += bytes.size();
  std::size_t at = below(random, all);
  for (const auto& [path, bytes] : files) {
    if (path == kDescription) continue;
    if (at < bytes.size()) return {path, at, static_cast<int>(random() % 8)};
    at -= bytes.size();
  }
  std::abort();
}

/// Without a verdict or with a bad one, as the rules that read the file's inside can or cannot be evaluated.
void expect_hash_mismatch(const Report& report, const std::string& path) {
  EXPECT_NE(report.verdict, Verdict::kPass);
  const bool named = std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return finding.rule == "CB0103" && finding.severity == Severity::kBlocker &&
           finding.message.find("'" + path + "'") != std::string::npos;
  });
  EXPECT_TRUE(named) << to_text(report, false);
}

/// The sealed part of a description; empty when it is no JSON.
std::string sealed(const std::string& text) {
  const auto document = parse_json(text, kDescription);
  return document.ok() ? calbin::seal_of(*document) : std::string();
}

TEST(LintOfAFlippedBit, InAListedFileIsABlockerThatNamesTheFile) {
  const Board board;
  std::mt19937_64 random(11);
  std::set<std::string> touched;
  for (int i = 0; i < kFlips / 2; ++i) {
    const Flip flip = flip_in_files(board.files, random);
    SCOPED_TRACE(testing::PrintToString(flip));
    Files files = board.files;
    apply(flip, files[flip.path]);
    touched.insert(flip.path);
    const auto report = board.lint(files);
    ASSERT_TRUE(report.ok()) << report.error().message;
    expect_hash_mismatch(*report, flip.path);
  }
  EXPECT_GT(touched.size(), board.files.size() / 2) << "the flips miss most files";
}

TEST(LintOfAFlippedBit, InTheDescriptionFailsOrChangesNoFactAndIsTold) {
  const Board board;
  const std::string good = sealed(board.files.at(kDescription));
  std::mt19937_64 random(12);
  int failed = 0, incomplete = 0, harmless = 0;
  for (int i = 0; i < kFlips / 2; ++i) {
    const Flip flip{kDescription, below(random, board.files.at(kDescription).size()), static_cast<int>(random() % 8)};
    SCOPED_TRACE(testing::PrintToString(flip));
    Files files = board.files;
    apply(flip, files[kDescription]);
    const auto report = board.lint(files);
    ASSERT_TRUE(report.ok()) << report.error().message;
    if (report->verdict == Verdict::kPass) {
      ++harmless;
      EXPECT_EQ(sealed(files[kDescription]), good) << to_text(*report, false);
      EXPECT_THAT(finding_ids(*report), testing::Not(testing::IsEmpty())) << "a pass that says nothing of the flip";
    } else {
      ++(report->verdict == Verdict::kFail ? failed : incomplete);
      EXPECT_THAT(finding_ids(*report), testing::Not(testing::IsEmpty())) << "no verdict, and no word why";
    }
  }
  std::cout << "flips of calbin.json: " << failed << " fail, " << incomplete << " incomplete, " << harmless
            << " pass\n";
  EXPECT_GT(failed, 0);
}

/// The one kind of flip that leaves what is sealed as it was: a digit of the seal itself in the other case.
TEST(LintOfAFlippedBit, InTheCaseOfASealsDigitIsAWarningAlone) {
  const Board board;
  const std::string good = sealed(board.files.at(kDescription));
  const std::string& text = board.files.at(kDescription);
  const auto from = text.find(good);
  ASSERT_NE(from, std::string::npos);
  int tried = 0;
  for (std::size_t at = from + std::string("sha256:").size(); at < from + good.size(); ++at) {
    if (text[at] < 'a' || text[at] > 'f') continue;
    ++tried;
    Files files = board.files;
    apply({kDescription, at, 5}, files[kDescription]);
    const auto report = board.lint(files);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(sealed(files[kDescription]), good);
    EXPECT_EQ(report->verdict, Verdict::kPass) << to_text(*report, false);
    EXPECT_EQ(finding_ids(*report), Ids{"CB0109"}) << to_text(*report, false);
  }
  EXPECT_GT(tried, 0);
}

/// Refused as a package or as an archive; or nothing that counts has changed: padding, and bytes no reader looks at.
void flip_archive(const std::string& command, const char* name, bool padded, unsigned seed) {
  const Board board;
  ASSERT_EQ(std::system(("cd '" + board.dir.path().string() + "' && " + command).c_str()), 0);
  const std::string good = board.dir.read(name);
  Inputs inputs = board.inputs;
  inputs.package = board.dir / name;
  const auto want = run(inputs);
  ASSERT_TRUE(want.ok() && want->verdict == Verdict::kPass && want->tree);
  std::mt19937_64 random(seed);
  int refused = 0, failed = 0, same = 0;
  for (int i = 0; i < kArchiveFlips; ++i) {
    const Flip flip{name, below(random, good.size()), static_cast<int>(random() % 8)};
    SCOPED_TRACE(testing::PrintToString(flip));
    std::string bytes = good;
    apply(flip, bytes);
    inputs.package = board.dir.write("flipped", bytes);
    const auto report = run(inputs);
    if (!report.ok()) {
      ++refused;
      EXPECT_EQ(report.error().kind, ErrorKind::kInput) << report.error().message;
    } else if (report->verdict != Verdict::kPass) {
      ++failed;
      EXPECT_THAT(finding_ids(*report), testing::Not(testing::IsEmpty()));
    } else {
      ++same;
      EXPECT_EQ(report->package_digest, want->package_digest);
      ASSERT_TRUE(report->tree.has_value());
      EXPECT_EQ(report->tree->sha256, want->tree->sha256) << to_text(*report, false);
    }
  }
  std::cout << "flips of " << name << " (" << good.size() << " B): " << refused << " refused, " << failed << " fail, "
            << same << " the same package\n";
  EXPECT_GT(refused, 0);
  if (padded) {
    EXPECT_TRUE(failed > 0 && same > 0) << "a .tar has both: bytes of files, and padding";
  }
}

TEST(LintOfAFlippedBit, InATarIsRefusedOrChangesNothing) {
  flip_archive("tar -cf t.tar mini.calbin", "t.tar", true, 13);
}

TEST(LintOfAFlippedBit, InACompressedTarIsRefusedOrChangesNothing) {
  flip_archive("tar -cf - mini.calbin | zstd -q -o t.tar.zst", "t.tar.zst", false, 14);
}

}  // namespace
}  // namespace calkit::lint
