// Folders as a Hugging Face cache has them: snapshots/<revision>/<file> -> ../../blobs/<digest>.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/hf/model_files.h"
#include "checkpoint_support.h"

namespace calkit::hf {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

const std::string kModels = CALKIT_TEST_DATA "/models/";
const std::string kRevision(40, 'c');
// What `git hash-object` and `sha256sum` say of "hello\n".
const std::string kGitName = "ce013625030ba8dba906f756967f9e9ca394464a";
const std::string kSha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

class Cache {
 public:
  explicit Cache(const std::string& name = "models--some-org--some-model") : root_(dir_ / name) {
    fs::create_directories(snapshot());
    fs::create_directories(root_ / "blobs");
  }
  fs::path snapshot() const { return root_ / "snapshots" / kRevision; }
  void add(const std::string& file, const std::string& blob, const std::string& content) {
    write("blobs/" + blob, content);
    link(file, "../../blobs/" + blob);
  }
  void link(const std::string& file, const fs::path& target) { fs::create_symlink(target, snapshot() / file); }
  void write(const std::string& path, const std::string& content) {
    dir_.write(fs::relative(root_ / path, dir_.path()).string(), content);
  }
  ModelFiles files() const { return std::move(ModelFiles::open(snapshot())).value(); }
  fs::path root() const { return root_; }

 private:
  testing_support::ScratchDir dir_;
  fs::path root_;
};

TEST(Cache, ASnapshotIsReadThroughItsLinks) {
  Cache cache;
  cache.add("config.json", kGitName, *read_file(kModels + "tiny-dense/config.json"));
  EXPECT_EQ(message_of(read_spec(cache.snapshot())), "accepted");
}

TEST(Cache, BlobsAreWhatTheirNamesSay) {
  Cache cache;
  cache.add("small.json", kGitName, "hello\n");
  cache.add("large.bin", kSha256, "hello\n");
  cache.add("empty", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "");
  const ModelFiles files = cache.files();
  EXPECT_EQ(files.hash("small.json")->sha256, kSha256);
  EXPECT_EQ(files.hash("large.bin")->sha256, kSha256);
  EXPECT_EQ(files.hash("empty")->bytes, 0u);
  EXPECT_EQ(message_of(files.hash_all()), "accepted");
}

TEST(Cache, AChangedBlobIsRefusedByFileFoundAndWanted) {
  Cache cache;
  cache.add("small.json", kGitName, "hellO\n");
  cache.add("large.bin", kSha256, "hellO\n");
  const ModelFiles files = cache.files();
  EXPECT_THAT(message_of(files.hash("small.json")),
              AllOf(HasSubstr("small.json"), HasSubstr("git name is "), HasSubstr("allowed: " + kGitName)));
  EXPECT_THAT(message_of(files.hash("large.bin")),
              AllOf(HasSubstr("large.bin"), HasSubstr("SHA-256 is "), HasSubstr("allowed: " + kSha256)));
  EXPECT_THAT(message_of(files.hash_all()), HasSubstr("large.bin"));
}

TEST(Cache, ALinkToNothingIsAnIncompleteDownload) {
  Cache cache;
  cache.link("config.json", "../../blobs/" + kGitName);
  EXPECT_THAT(message_of(read_spec(cache.snapshot())), AllOf(HasSubstr("config.json"), HasSubstr("is not there")));
  EXPECT_THAT(message_of(cache.files().hash("config.json")), HasSubstr("is not there"));
}

TEST(Cache, LinksThatLeaveTheCacheAreRefused) {
  for (const std::string& target :
       {kModels + "tiny-dense/config.json", std::string("../../../outside"), "../../blobs/../" + kGitName,
        std::string("../../blobs/config.json"), "../../refs/" + kGitName, "../other/" + kGitName,
        "../../blobs/" + kGitName + "/x"}) {
    Cache cache;
    cache.link("config.json", target);
    EXPECT_THAT(message_of(read_spec(cache.snapshot())), HasSubstr("a symlink to")) << target;
    EXPECT_THAT(message_of(cache.files().hash("config.json")), HasSubstr("a symlink to")) << target;
  }
}

TEST(Cache, ABlobThatIsItselfALinkIsRefused) {
  Cache cache;
  cache.link("config.json", "../../blobs/" + kGitName);
  fs::create_symlink(kModels + "tiny-dense/config.json", cache.root() / "blobs" / kGitName);
  EXPECT_NE(message_of(read_spec(cache.snapshot())), "accepted");
}

TEST(Cache, OutsideOfACacheNoLinkIsFollowed) {
  const testing_support::ScratchDir dir;
  fs::create_directories(dir / "blobs");
  fs::create_directories(dir / "other/model");
  fs::copy_file(kModels + "tiny-dense/config.json", dir / ("blobs/" + kGitName));
  fs::create_symlink("../../blobs/" + kGitName, dir / "other/model/config.json");
  EXPECT_THAT(message_of(read_spec(dir / "other/model")), HasSubstr("a symlink to"));
}

TEST(Cache, TheLayoutNamesRepositoryAndRevision) {
  const Cache cache, plain("models--gpt2"), other("some-model");
  EXPECT_EQ(hub_identity(cache.snapshot())->repository, "some-org/some-model");
  EXPECT_EQ(hub_identity(cache.snapshot())->revision, kRevision);
  EXPECT_EQ(hub_identity(plain.snapshot())->repository, "gpt2");
  EXPECT_EQ(hub_identity(other.snapshot())->repository, std::nullopt);
  EXPECT_THAT(hub_identity(cache.snapshot())->notes, IsEmpty());
}

TEST(Cache, APlainFileInASnapshotIsNotedForNoBlobNameVouchesForIt) {
  Cache cache;
  cache.add("small.json", kGitName, "hello\n");
  EXPECT_THAT(hub_identity(cache.snapshot())->notes, IsEmpty());
  cache.write("snapshots/" + kRevision + "/model-2.safetensors", "hellO\n");
  cache.write("snapshots/" + kRevision + "/model-1.safetensors", "hello\n");
  EXPECT_THAT(hub_identity(cache.snapshot())->notes,
              ElementsAre(HasSubstr("model-1.safetensors is a plain file"), HasSubstr("model-2.safetensors")));
}

TEST(Cache, AnotherRevisionInRefsMainIsNoted) {
  Cache cache;
  cache.write("refs/main", kRevision);
  EXPECT_THAT(hub_identity(cache.snapshot())->notes, IsEmpty());
  cache.write("refs/main", std::string(40, 'd') + "\n");
  EXPECT_THAT(hub_identity(cache.snapshot())->notes,
              ElementsAre(AllOf(HasSubstr(kRevision), HasSubstr(std::string(40, 'd')))));
}

TEST(Cache, DownloadRecordsThatDisagreeAreNoted) {
  const testing_support::ScratchDir dir;
  const std::string records = ".cache/huggingface/download/";
  for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) dir.write(file, "hello\n");
  dir.write(records + "model.safetensors.metadata", kRevision + "\n" + kSha256 + "\n1.5\n");
  dir.write(records + "config.json.metadata", kRevision + "\n" + kGitName + "\n1.5\n");
  dir.write(records + "tokenizer.json.metadata", kRevision + "\n" + kGitName + "\n1.5\n");
  const auto same = hub_identity(dir.path());
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->revision, kRevision);
  EXPECT_EQ(same->repository, std::nullopt);
  EXPECT_THAT(same->notes, IsEmpty());
  dir.write(records + "model.safetensors.metadata", std::string(40, 'd') + "\n" + kSha256 + "\n1.5\n");
  EXPECT_THAT(hub_identity(dir.path())->notes, ElementsAre(HasSubstr("model.safetensors.metadata")));
  dir.write(records + "model.safetensors.metadata", kRevision + "\n\"an-etag-of-another-kind\"\n1.5\n");
  EXPECT_THAT(hub_identity(dir.path())->notes, ElementsAre(HasSubstr("is no digest")));
  fs::remove(dir / (records + "model.safetensors.metadata"));
  EXPECT_THAT(hub_identity(dir.path())->notes, ElementsAre(HasSubstr("model.safetensors has no download record")));
}

TEST(DownloadRecords, FilesAreWhatTheirRecordsSay) {
  const testing_support::ScratchDir dir;
  const std::string records = ".cache/huggingface/download/";
  dir.write("small.json", "hello\n");
  dir.write("large.bin", "hello\n");
  dir.write("free.txt", "anything\n");
  dir.write(records + "small.json.metadata", kRevision + "\n" + kGitName + "\n1.5\n");
  dir.write(records + "large.bin.metadata", kRevision + "\r\n" + kSha256 + "\r\n1.5\r\n");
  const ModelFiles files = std::move(ModelFiles::open(dir.path())).value();
  EXPECT_EQ(files.hash("small.json")->sha256, kSha256);
  EXPECT_EQ(files.hash("large.bin")->sha256, kSha256);
  EXPECT_EQ(message_of(files.hash("free.txt")), "accepted");
  dir.write("small.json", "hellO\n");
  dir.write("large.bin", "hellO\n");
  EXPECT_THAT(message_of(files.hash("small.json")),
              AllOf(HasSubstr("git name is "), HasSubstr(kGitName + ", the ETag of its download record")));
  EXPECT_THAT(message_of(files.hash("large.bin")),
              AllOf(HasSubstr("SHA-256 is "), HasSubstr(kSha256 + ", the ETag of its download record")));
}

TEST(Cache, NamedTemplatesInASubfolderAreFilesOfTheModel) {
  Cache cache;
  cache.add("config.json", kGitName, "hello\n");
  fs::create_directories(cache.snapshot() / "additional_chat_templates");
  cache.link("additional_chat_templates/rag.jinja", "../../../blobs/" + kGitName);
  cache.link("additional_chat_templates/notes.txt", "../../../blobs/" + kGitName);
  const ModelFiles files = cache.files();
  EXPECT_THAT(files.names(), ElementsAre("additional_chat_templates/rag.jinja", "config.json"));
  EXPECT_THAT(files.folders(), IsEmpty());
  EXPECT_EQ(files.hash("additional_chat_templates/rag.jinja")->sha256, kSha256);
  Cache other;
  fs::create_directories(other.snapshot() / "additional_chat_templates");
  other.link("additional_chat_templates/rag.jinja", "../../blobs/" + kGitName);
  EXPECT_THAT(message_of(other.files().hash("additional_chat_templates/rag.jinja")), HasSubstr("a symlink to"));
}

}  // namespace
}  // namespace calkit::hf
