#include "calkit/base/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>

#include "calkit/base/files.h"
#include "scratch_dir.h"

namespace calkit {
namespace {

using testing_support::ScratchDir;

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[256];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe)) out += buffer;
  if (pipe) ::pclose(pipe);
  return out;
}

TEST(Sha256, KnowsTheVectorsOfItsStandard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  pieces.update("a");
  pieces.update("");
  pieces.update("bc");
  EXPECT_EQ(pieces.hex(), sha256_hex("abc"));
}

TEST(HashFile, AgreesWithSha256sum) {
  const ScratchDir dir;
  for (const std::size_t size : {0u, 1u, 4096u, (1u << 20) + 3u}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 31 + i / 251);
    const auto path = dir.write("f" + std::to_string(size), content);
    const auto digest = hash_file(path);
    ASSERT_TRUE(digest.ok());
    EXPECT_EQ(digest->bytes, size);
    EXPECT_EQ(digest->sha256 + "  " + path.string() + "\n", output_of("sha256sum " + path.string()));
  }
}

TEST(HashFile, RefusesWhatIsNoRegularFile) {
  const ScratchDir dir;
  ::mkfifo((dir / "fifo").c_str(), 0600);
  EXPECT_EQ(hash_file(dir / "fifo").error().kind, ErrorKind::kInput);
  EXPECT_EQ(hash_file(dir.path()).error().kind, ErrorKind::kInput);
  EXPECT_EQ(hash_file(dir / "none").error().kind, ErrorKind::kInput);
}

TEST(HashTree, IsTheDigestOfWhatSha256sumPrints) {
  const ScratchDir dir;
  dir.write("t/b/x", "1");
  dir.write("t/a", "22");
  dir.write("t/b.txt", "");
  const auto digest = hash_tree(dir / "t");
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(digest->bytes, 3u);
  const std::string list = output_of("cd " + (dir / "t").string() + " && LC_ALL=C sha256sum a b.txt b/x");
  EXPECT_EQ(digest->sha256, sha256_hex(list));
}

}  // namespace
}  // namespace calkit
