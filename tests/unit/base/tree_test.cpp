/// Folder, .tar, .tar.zst and memory tell the same of the same files. Archives are made by the real tar and zstd.
#include "calkit/base/tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "calkit/base/process.h"
#include "scratch_dir.h"

namespace calkit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::ScratchDir;

void shell(const std::string& command) {
  ASSERT_EQ(std::system(("exec >/dev/null 2>&1; " + command).c_str()), 0) << command;
}

std::string random_looking(std::size_t size) {
  std::string out(size, '\0');
  std::uint32_t state = 1;
  for (char& c : out) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

const std::map<std::string, std::string>& good_files() {
  static const std::map<std::string, std::string> files{
      {"calbin.json", "{}\n"},
      {"empty.log", ""},
      {"params/blk0.bin", random_looking(6 << 20)},  // larger than what a .tar.zst keeps
      {"params/blk1.bin", random_looking(5 << 20)},
      {"params/n\xC3\xA4m\xE4\xBD\xA0.bin", "umlaut"},
      {"deep/" + std::string(90, 'd') + "/" + std::string(90, 'f'), "long"}};
  return files;
}

/// The files in DIR/x.calbin.
void put_good(const ScratchDir& dir) {
  for (const auto& [path, bytes] : good_files()) dir.write("x.calbin/" + path, bytes);
}

FileDigest digest_of_tree(const FileTree& tree) {
  const auto digests = tree.hash_all({});
  EXPECT_TRUE(digests.ok());
  const auto digest = tree_digest(tree, *digests);
  EXPECT_TRUE(digest.ok()) << digest.error().message;
  return digest.ok() ? *digest : FileDigest{};
}

void expect_good(const fs::path& path, const ScratchDir& dir) {
  SCOPED_TRACE(path.string());
  const auto tree = FileTree::open(path);
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  std::map<std::string, std::string> found;
  for (const TreeEntry& entry : tree->entries()) {
    EXPECT_EQ(entry.copies, 1u);
    if (entry.kind == EntryKind::kFolder) continue;
    ASSERT_EQ(entry.kind, EntryKind::kFile) << entry.path << ": " << entry.what;
    const auto bytes = tree->read(entry.path);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_EQ(bytes->size(), entry.bytes);
    const auto map = tree->map(entry.path);
    ASSERT_TRUE(map.ok()) << map.error().message;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>((*map)->bytes().data()), (*map)->size()), *bytes);
    (*map)->release(0, (*map)->size());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>((*map)->bytes().data()), (*map)->size()), *bytes);
    found[entry.path] = *bytes;
  }
  EXPECT_TRUE(found == good_files());
  const auto want = hash_tree(dir / "x.calbin");
  ASSERT_TRUE(want.ok());
  const FileDigest got = digest_of_tree(*tree);
  EXPECT_EQ(got.sha256, want->sha256);
  EXPECT_EQ(got.bytes, want->bytes);
  EXPECT_EQ(tree->find("nothing"), nullptr);
  EXPECT_EQ(tree->read("../x.calbin/calbin.json").error().kind, ErrorKind::kInput);
  EXPECT_EQ(tree->map("params").error().kind, ErrorKind::kInput);
  EXPECT_EQ(tree->read("params/blk0.bin", 100).error().kind, ErrorKind::kInput);
}

TEST(FileTree, AFolderMemoryAndEveryArchiveOfItTellTheSame) {
  const ScratchDir dir;
  put_good(dir);
  expect_good(dir / "x.calbin", dir);
  const std::string in = "cd '" + dir.path().string() + "' && ";
  for (const char* format : {"pax", "gnu", "ustar"}) {
    for (const char* what : {"x.calbin", "./x.calbin", "-C x.calbin ."}) {
      shell(in + fmt::format("tar -c --format={} -f t.tar {} && zstd -q -f t.tar -o t.tar.zst", format, what));
      expect_good(dir / "t.tar", dir);
      expect_good(dir / "t.tar.zst", dir);
    }
  }
  shell(in + "tar -cf t.tar -C x.calbin calbin.json empty.log params deep");  // no entry of its own for the top
  expect_good(dir / "t.tar", dir);
  shell(in + "python3 -c 'import tarfile; t = tarfile.open(\"t.tar\", \"w\"); t.add(\"x.calbin\"); t.close()'");
  expect_good(dir / "t.tar", dir);
  shell(in + "cp t.tar no-such-ending && zstd -q -f t.tar -o misleading.tar");
  expect_good(dir / "no-such-ending", dir);
  expect_good(dir / "misleading.tar", dir);
  ASSERT_TRUE(write_tar_zst(dir / "own.tar.zst", dir / "x.calbin", *list_tree(dir / "x.calbin")).ok());
  expect_good(dir / "own.tar.zst", dir);
  EXPECT_EQ(digest_of_tree(FileTree::memory("m", good_files())).sha256, hash_tree(dir / "x.calbin")->sha256);
}

TEST(FileTree, LargeMembersOfAPackedArchiveComeInAnyOrder) {
  const ScratchDir dir;
  put_good(dir);
  shell("cd '" + dir.path().string() + "' && tar -c x.calbin | zstd -q > t.tar.zst");
  const auto tree = FileTree::open(dir / "t.tar.zst");
  ASSERT_TRUE(tree.ok());
  for (const char* path : {"params/blk1.bin", "params/blk0.bin", "params/blk0.bin", "calbin.json", "params/blk1.bin"}) {
    const auto map = tree->map(path);
    ASSERT_TRUE(map.ok()) << map.error().message;
    EXPECT_EQ(sha256_hex((*map)->bytes()), sha256_hex(good_files().at(path))) << path;
  }
  const auto one = tree->map("params/blk0.bin"), other = tree->map("params/blk0.bin");
  EXPECT_EQ((*one)->bytes().data(), (*other)->bytes().data()) << "held once, lent twice";
}

TEST(FileTree, ToldOfLinksAndSpecialFilesButNeverOpensThem) {
  const ScratchDir dir;
  dir.write("p/calbin.json", "{}");
  dir.write("p/a", "x");
  fs::create_symlink("/etc/passwd", dir / "p/link");
  fs::create_hard_link(dir / "p/a", dir / "p/b");
  ASSERT_EQ(::mkfifo((dir / "p/pipe").c_str(), 0600), 0);
  const std::string in = "cd '" + dir.path().string() + "' && ";
  shell(in + "tar -cf t.tar p && zstd -q t.tar -o t.tar.zst");
  for (const char* form : {"p", "t.tar", "t.tar.zst"}) {
    SCOPED_TRACE(form);
    const auto tree = FileTree::open(dir / form);
    ASSERT_TRUE(tree.ok()) << tree.error().message;
    EXPECT_EQ(tree->find("link")->kind, EntryKind::kLink);
    EXPECT_EQ(tree->find("pipe")->kind, EntryKind::kSpecial);
    EXPECT_EQ(tree->find("pipe")->what, "a FIFO");
    EXPECT_THAT(tree->read("link").error().message, HasSubstr("a symbolic link"));
    EXPECT_THAT(tree->map("pipe").error().message, HasSubstr("a FIFO"));
    const auto digests = tree->hash(std::vector<std::string>{"pipe", "link", "calbin.json", "none"}, {});
    ASSERT_TRUE(digests.ok());
    EXPECT_TRUE(digests->at("pipe").error && digests->at("link").error && digests->at("none").error);
    EXPECT_EQ(digests->at("calbin.json").sha256, sha256_hex("{}"));
    EXPECT_FALSE(tree_digest(*tree, *digests).ok());
    if (std::string(form) == "p")
      EXPECT_EQ(tree->find("b")->links, 2u);
    else
      EXPECT_TRUE(tree->find("a")->kind == EntryKind::kSpecial || tree->find("b")->kind == EntryKind::kSpecial);
  }
}

TEST(FileTree, ToldOfTwinsUnsafePathsAndSparseMembers) {
  const ScratchDir dir;
  dir.write("p/calbin.json", "first");
  const std::string in = "cd '" + dir.path().string() + "' && ";
  shell(
      in +
      "tar -cf twin.tar p && printf second > p/calbin.json && tar -rf twin.tar p && zstd -q twin.tar -o twin.tar.zst");
  for (const char* form : {"twin.tar", "twin.tar.zst"}) {
    const auto tree = FileTree::open(dir / form);
    ASSERT_TRUE(tree.ok());
    EXPECT_EQ(tree->entries().size(), 1u);
    EXPECT_EQ(tree->find("calbin.json")->copies, 2u);
    EXPECT_EQ(*tree->read("calbin.json"), "second") << "as tar unpacks it";
    EXPECT_FALSE(tree_digest(*tree, *tree->hash_all({})).ok());
  }
  shell(in + "tar -cf up.tar -P --transform 's,^p,../p,' p && tar -cf root.tar -P --transform 's,^p,/p,' p");
  EXPECT_NE(FileTree::open(dir / "up.tar")->find("../p/calbin.json"), nullptr);
  EXPECT_EQ(FileTree::open(dir / "up.tar")->read("../p/calbin.json").error().kind, ErrorKind::kInput);
  EXPECT_NE(FileTree::open(dir / "root.tar")->find("/p/calbin.json"), nullptr);
  shell(
      in +
      "truncate -s 1M p/hole && printf x >> p/hole && tar -S -cf sparse.tar p && zstd -q sparse.tar -o sparse.tar.zst");
  EXPECT_EQ(FileTree::open(dir / "sparse.tar")->find("hole")->kind, EntryKind::kSpecial);
  FileTree::Options loose;
  loose.limits.max_ratio = 1000000;
  EXPECT_EQ(sha256_hex(*FileTree::open(dir / "sparse.tar.zst", loose)->read("hole")),
            sha256_hex(std::string(1 << 20, '\0') + "x"));
}

TEST(FileTree, SeesWhatIsAppendedBehindTheArchivesEnd) {
  const ScratchDir dir;
  dir.write("p/a", "1");
  dir.write("p/b", "2");
  shell("cd '" + dir.path().string() + "' && tar -cf 1.tar p/a && tar -cf 2.tar p/b && cat 1.tar 2.tar > both.tar");
  const auto tree = FileTree::open(dir / "both.tar");
  ASSERT_TRUE(tree.ok());
  EXPECT_NE(tree->find("b"), nullptr);
}

TEST(FileTree, RefusesWhatIsNoPackageAndSaysWhatItIs) {
  const ScratchDir dir;
  dir.write("p/a", std::string(3000, 'x'));
  const std::string in = "cd '" + dir.path().string() + "' && ";
  shell(in + "tar -cf t.tar p && gzip -k t.tar && xz -k t.tar");
  const auto said = [&](const std::string& name) {
    const auto tree = FileTree::open(dir / name);
    EXPECT_FALSE(tree.ok()) << name;
    if (tree.ok()) return std::string();
    EXPECT_EQ(tree.error().kind, ErrorKind::kInput) << name;
    if (name.find(".tar") != std::string::npos) {
      EXPECT_NE(tree.error().hint, "") << name;
    }
    return tree.error().message;
  };
  EXPECT_THAT(said("t.tar.gz"), HasSubstr("a gzip file"));
  EXPECT_THAT(said("t.tar.xz"), HasSubstr("an xz file"));
  EXPECT_THAT(said("none"), HasSubstr("No such file"));
  dir.write("text", "hello");
  EXPECT_THAT(said("text"), HasSubstr("a file of another kind"));
  dir.write("nothing", "");
  EXPECT_THAT(said("nothing"), HasSubstr("an empty file"));
  dir.write("zeros", std::string(10240, '\0'));
  EXPECT_THAT(said("zeros"), HasSubstr("a file of another kind"));
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(said("fifo"), HasSubstr("a FIFO"));
  const std::string tar = dir.read("t.tar");
  dir.write("short.tar", tar.substr(0, 512 + 512 + 1000));
  EXPECT_THAT(said("short.tar"), HasSubstr("1000 of its 3000 bytes"));
  std::string flipped = tar;
  flipped[512 + 20] ^= 1;  // in the name of the second header
  dir.write("flipped.tar", flipped);
  EXPECT_THAT(said("flipped.tar"), HasSubstr("damaged"));
  shell(in + "zstd -q t.tar -o t.tar.zst");
  const std::string packed = dir.read("t.tar.zst");
  dir.write("short.tar.zst", packed.substr(0, packed.size() / 2));
  EXPECT_THAT(said("short.tar.zst"), HasSubstr("damaged"));
}

TEST(FileTree, KeepsTheLimits) {
  const ScratchDir dir;
  dir.write("z/zeros", std::string(8 << 20, '\0'));
  for (int i = 0; i < 5; ++i) dir.write(fmt::format("p/{}", i), "x");
  shell("cd '" + dir.path().string() +
        "' && tar -cf t.tar p && zstd -q t.tar -o t.tar.zst && tar -cf z.tar z && zstd -q z.tar -o z.tar.zst");
  FileTree::Options few;
  few.limits.max_entries = 4;
  const auto said = [&](const char* name, const FileTree::Options& options) {
    const auto tree = FileTree::open(dir / name, options);
    EXPECT_FALSE(tree.ok()) << name;
    EXPECT_NE(tree.error().hint, "") << name;
    return tree.error().message;
  };
  for (const char* form : {"p", "t.tar", "t.tar.zst"}) EXPECT_THAT(said(form, few), HasSubstr("one entry too many"));
  EXPECT_THAT(said("z.tar.zst", {}), HasSubstr("at most 1000 times"));
  FileTree::Options small;
  small.limits.max_bytes = 1 << 20;
  EXPECT_THAT(said("z.tar", small), HasSubstr("bytes in all"));
  std::string deep = "d";
  for (int i = 0; i < 70; ++i) deep += "/d";
  dir.write(deep + "/f", "x");
  EXPECT_THAT(said("d", {}), HasSubstr("nested deeper"));
}

/// Does `act` at the first word of progress: after the tree was opened, before a byte is hashed.
TreeDigest hash_while(const FileTree& tree, const std::string& path, const std::function<void()>& act) {
  FileTree::HashOptions options;
  options.progress = [&, first = true](std::uint64_t, std::uint64_t) mutable {
    if (std::exchange(first, false)) act();
  };
  auto digests = tree.hash(std::vector<std::string>{path}, options);
  EXPECT_TRUE(digests.ok());
  return digests->at(path);
}

TEST(FileTree, SeesAFileThatChangesWhileItIsHashed) {
  const ScratchDir dir;
  const auto open = [&] {
    dir.write("p/f", std::string(4104, 'x'));
    auto tree = FileTree::open(dir / "p");
    EXPECT_TRUE(tree.ok());
    return std::move(tree).value();
  };
  const fs::path file = dir / "p/f";
  EXPECT_EQ(hash_while(open(), "f", [] {}).changed, "");
  EXPECT_THAT(hash_while(open(), "f", [&] { fs::resize_file(file, 4000); }).changed, HasSubstr("4104 B became 4000 B"));
  EXPECT_THAT(hash_while(open(), "f", [&] { fs::resize_file(file, 5000); }).changed, HasSubstr("4104 B became 5000 B"));
  EXPECT_THAT(hash_while(open(), "f",
                         [&] { fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::hours(1)); })
                  .changed,
              HasSubstr("was written to"));
  EXPECT_THAT(hash_while(open(), "f",
                         [&] {
                           fs::copy_file(file, dir / "new");
                           fs::rename(dir / "new", file);
                         })
                  .changed,
              HasSubstr("another file"));
  EXPECT_TRUE(hash_while(open(), "f", [&] { fs::remove(file); }).error);
  EXPECT_TRUE(hash_while(open(), "f", [&] {
                fs::rename(file, dir / "moved");
                fs::create_symlink(dir / "moved", file);
              }).error);
  put_good(dir);
  shell("cd '" + dir.path().string() + "' && tar -cf t.tar x.calbin");
  const auto tar = FileTree::open(dir / "t.tar");
  EXPECT_THAT(
      hash_while(*tar, "params/blk0.bin",
                 [&] { fs::last_write_time(dir / "t.tar", fs::file_time_type::clock::now() + std::chrono::hours(1)); })
          .changed,
      HasSubstr("of the archive"));
}

TEST(FileTree, AnyNumberOfThreadsGivesTheSameDigestsAndTheWholeProgress) {
  std::map<std::string, std::string> files;
  for (int i = 0; i < 40; ++i) files[fmt::format("f{}", i)] = random_looking(static_cast<std::size_t>(i) * 30011);
  const ScratchDir dir;
  for (const auto& [path, bytes] : files) dir.write("p/" + path, bytes);
  const auto tree = FileTree::open(dir / "p");
  ASSERT_TRUE(tree.ok());
  for (const unsigned threads : {1u, 2u, 7u}) {
    std::uint64_t last = 0, all = 0;
    const auto digests = tree->hash_all({threads, [&](std::uint64_t done, std::uint64_t total) {
                                           EXPECT_GE(done, last);
                                           last = done;
                                           all = total;
                                         }});
    ASSERT_TRUE(digests.ok());
    EXPECT_EQ(last, all);
    for (const auto& [path, bytes] : files) EXPECT_EQ(digests->at(path).sha256, sha256_hex(bytes)) << path;
  }
}

TEST(FileTree, AFileOrFolderThatMayNotBeReadIsToldInItsPlace) {
  const ScratchDir dir;
  dir.write("p/a", "x");
  dir.write("p/shut/b", "x");
  fs::permissions(dir.path(), fs::perms::all);
  fs::permissions(dir / "p/a", fs::perms::none);
  fs::permissions(dir / "p/shut", fs::perms::none);
  const bool root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  ASSERT_TRUE(!root || ::seteuid(kNobody) == 0);
  const auto tree = FileTree::open(dir / "p");
  const auto digests = tree.ok() ? tree->hash_all({}) : Result<TreeDigests>(tree.error());
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
  fs::permissions(dir / "p/shut", fs::perms::owner_all);
  ASSERT_TRUE(digests.ok()) << digests.error().message;
  EXPECT_THAT(tree->find("shut")->what, HasSubstr("Permission denied"));
  ASSERT_TRUE(digests->at("a").error);
  EXPECT_EQ(digests->at("a").error->kind, ErrorKind::kIo);
  EXPECT_FALSE(tree_digest(*tree, *digests).ok());
}

TEST(FileTree, RefusesAZstdWindowThatItsBytesDoNotJustify) {
  const ScratchDir dir;
  const auto frame = [](char window) {
    return std::string("\x28\xB5\x2F\xFD\x00", 5) + window + std::string("\x01\0\0", 3);
  };
  const auto large = FileTree::open(dir.write("large.tar.zst", frame('\x88')));  // 128 MiB
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message.find("a zstd window of 128.000 MiB"), std::string::npos) << large.error().message;
  // The second frame counts too, and one that may be skipped hides nothing.
  const std::string skipped("\x50\x2A\x4D\x18\x02\0\0\0ab", 10);
  const auto second = FileTree::open(dir.write("second.tar.zst", frame('\x08') + skipped + frame('\x88')));
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("zstd window"), std::string::npos) << second.error().message;
  const auto plain = FileTree::open(dir.write("plain.tar.zst", frame('\x68')));  // 8 MiB
  EXPECT_TRUE(plain.ok() || plain.error().message.find("zstd window") == std::string::npos);
}

}  // namespace
}  // namespace calkit
