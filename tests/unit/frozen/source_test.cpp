#include <gmock/gmock.h>

#include "baseline_support.h"
#include "calkit/base/document.h"
#include "calkit/base/files.h"

namespace calkit::frozen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

/// A copy of the small model, to change.
void copy_model(const ScratchDir& dir, const std::string& from = "models/qwen3-qknorm") {
  for (const auto& entry : fs::directory_iterator(data_dir() / from))
    fs::copy(entry.path(), dir / entry.path().filename().string());
}
void set_member(const ScratchDir& dir, const char* file, const char* key, Value value) {
  Value document = fs::exists(dir / file) ? or_die(read_json(dir / file)) : Value(Value::Object{});
  document.set(key, std::move(value));
  dir.write(file, to_json(document));
}
std::string verdict(const ScratchDir& dir) {
  const auto source = describe_model_source(dir.path(), {});
  return source.ok() ? "accepted" : source.error().message;
}

TEST(ModelSourceTest, TheBundledModelIsDescribedFromItsFiles) {
  const ModelSource& source = tiny_source();
  EXPECT_EQ(source.licence, "cc0-1.0");
  EXPECT_FALSE(source.repository.has_value());
  EXPECT_TRUE(source.null_reasons.contains("repository"));
  EXPECT_TRUE(source.null_reasons.contains("revision"));
  EXPECT_EQ(source.spec.layers, 5);
  EXPECT_EQ(source.config_sha256, or_die(hash_file(tiny_model() / "config.json")).sha256);
  EXPECT_EQ(source.tokenizer_sha256, or_die(hash_file(tiny_model() / "tokenizer.json")).sha256);
  EXPECT_TRUE(source.chat_template_sha256.has_value());
  EXPECT_EQ(source.stop_ids, (std::vector<std::int64_t>{2040, 2042}));
  const Value& tokenizer = *source.manifest.find("tokenizer");
  EXPECT_EQ(tokenizer.find("size")->if_int(), 2043);
  EXPECT_EQ(tokenizer.find("padded_rows")->if_int(), 5);
  EXPECT_EQ(source.manifest.find("weights")->find("parameters")->if_int(), 3476864);
  EXPECT_EQ(source.manifest.find("tensors")->if_array()->size(), 57u);
}

TEST(ModelSourceTest, EveryFileAndTensorHasTheDigestOfItsBytes) {
  const ModelSource& source = tiny_source();
  std::size_t files = 0;
  for (const Value& file : *source.manifest.find("inputs")->if_array()) {
    const auto digest = or_die(hash_file(tiny_model() / *file.find("path")->if_string()));
    EXPECT_EQ(*file.find("sha256")->if_string(), "sha256:" + digest.sha256);
    EXPECT_EQ(file.find("bytes")->if_uint(), digest.bytes);
    ++files;
  }
  EXPECT_EQ(static_cast<std::ptrdiff_t>(files),
            std::distance(fs::directory_iterator(tiny_model()), fs::directory_iterator()));
  const auto checkpoint = or_die(hf::Checkpoint::open(tiny_model()));
  const Value& first = source.manifest.find("tensors")->if_array()->front();
  const auto tensor = or_die(checkpoint.tensor(*first.find("name")->if_string()));
  EXPECT_EQ(*first.find("sha256")->if_string(), "sha256:" + sha256_hex(std::span(tensor.raw(), tensor.bytes())));
}

TEST(ModelSourceTest, WrittenAndReadBackItIsTheSame) {
  const ScratchDir dir;
  or_die(write_model_source(dir.path(), tiny_model(), tiny_source()));
  const auto back = or_die(read_model_source(dir.path()));
  EXPECT_EQ(back.manifest, tiny_source().manifest);
  EXPECT_EQ(back.model_sha256, tiny_source().model_sha256);
  EXPECT_EQ(back.licence, tiny_source().licence);
  EXPECT_EQ(back.null_reasons, tiny_source().null_reasons);
  EXPECT_EQ(back.stop_ids, tiny_source().stop_ids);
  EXPECT_EQ(back.targets.context, tiny_source().targets.context);
  EXPECT_EQ(dir.read("model-source/tokenizer/tokenizer.json"), or_die(read_file(tiny_model() / "tokenizer.json")));
  const auto weights = or_die(hash_file(tiny_model() / "model.safetensors"));
  EXPECT_EQ(dir.read("model-source/weights.sha256"), weights.sha256 + "  model.safetensors\n");
}

TEST(ModelSourceTest, F05SourcesThatDisagreeAreKeptAndNoted) {
  const ScratchDir dir;
  copy_model(dir);
  set_member(dir, "tokenizer_config.json", "eos_token", "<|endoftext|>");
  const auto source = or_die(describe_model_source(dir.path(), {}));
  EXPECT_EQ(source.stop_ids, (std::vector<std::int64_t>{1529, 1531}));
  EXPECT_THAT(source_notes(source),
              Contains(AllOf(HasSubstr("disagree about eos"), HasSubstr("tokenizer_config.json#/eos_token says 1529"),
                             HasSubstr("generation_config.json#/eos_token_id says 1531"))));
  const Value& eos = *source.manifest.find("tokenizer")->find("special_tokens")->find("eos");
  EXPECT_EQ(eos.if_array()->size(), 3u);
}

TEST(ModelSourceTest, WithoutAGenerationConfigTheOtherSourcesCount) {
  const ScratchDir dir;
  copy_model(dir);
  fs::remove(dir / "generation_config.json");
  const auto source = or_die(describe_model_source(dir.path(), {}));
  EXPECT_EQ(source.stop_ids, (std::vector<std::int64_t>{1531}));
  const ScratchDir out;
  or_die(write_model_source(out.path(), dir.path(), source));
  EXPECT_FALSE(fs::exists(out / "model-source/generation_config.json"));
}

TEST(ModelSourceTest, ATokenizerWithoutRowsInTheModelIsRefused) {
  const ScratchDir dir;
  copy_model(dir);
  fs::copy(tiny_model() / "tokenizer.json", dir / "tokenizer.json", fs::copy_options::overwrite_existing);
  EXPECT_THAT(verdict(dir), AllOf(HasSubstr("/vocab_size"), HasSubstr("2042")));
}

TEST(ModelSourceTest, FaultySpecialTokensAreRefusedByFileAndField) {
  const ScratchDir dir;
  copy_model(dir);
  set_member(dir, "generation_config.json", "eos_token_id", 99999);
  EXPECT_THAT(verdict(dir), AllOf(HasSubstr("generation_config.json"), HasSubstr("/eos_token_id"), HasSubstr("99999")));
  set_member(dir, "generation_config.json", "eos_token_id", 1531);
  set_member(dir, "tokenizer_config.json", "bos_token", "<|nowhere|>");
  EXPECT_THAT(verdict(dir),
              AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("/bos_token"), HasSubstr("<|nowhere|>")));
  set_member(dir, "tokenizer_config.json", "bos_token", Value::object({{"content", "<|im_start|>"}}));
  EXPECT_EQ(verdict(dir), "accepted");
  fs::remove(dir / "tokenizer.json");
  EXPECT_THAT(verdict(dir), HasSubstr("tokenizer.json"));
}

TEST(ModelSourceTest, TheTemplateFileWinsOverTheOneInTheConfigAndTheConflictIsNoted) {
  const ScratchDir dir;
  copy_model(dir);
  set_member(dir, "tokenizer_config.json", "chat_template", "other");
  const auto source = or_die(describe_model_source(dir.path(), {}));
  EXPECT_EQ(source.chat_template_sha256, sha256_hex(or_die(read_file(dir / "chat_template.jinja"))));
  EXPECT_THAT(source_notes(source), Contains(HasSubstr("different chat templates")));
  fs::remove(dir / "chat_template.jinja");
  set_member(dir, "tokenizer_config.json", "chat_template",
             Value::array({Value::object({{"name", "tools"}, {"template", "t"}}),
                           Value::object({{"name", "default"}, {"template", "d"}})}));
  EXPECT_EQ(or_die(describe_model_source(dir.path(), {})).chat_template_sha256, sha256_hex(std::string_view("d")));
}

TEST(ModelSourceTest, ACacheSnapshotTellsRepositoryAndRevision) {
  const ScratchDir dir;
  const std::string revision(40, 'a');
  const fs::path snapshot = dir / ("models--some-org--some-model/snapshots/" + revision);
  const fs::path blobs = dir / "models--some-org--some-model/blobs";
  fs::create_directories(snapshot);
  fs::create_directories(blobs);
  for (const auto& entry : fs::directory_iterator(data_dir() / "models/qwen3-qknorm")) {
    const std::string blob = or_die(hash_file(entry.path())).sha256;
    fs::copy(entry.path(), blobs / blob);
    fs::create_symlink("../../blobs/" + blob, snapshot / entry.path().filename());
  }
  const auto source = or_die(describe_model_source(snapshot, {}));
  EXPECT_EQ(source.repository, "some-org/some-model");
  EXPECT_EQ(source.revision, revision);
  EXPECT_FALSE(source.licence.has_value());
  const ScratchDir out;
  or_die(write_model_source(out.path(), snapshot, source));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(out / "model-source/config.json")));
}

TEST(ModelSourceTest, AFileThatChangedWhileFreezingIsRefused) {
  const ScratchDir model, out;
  copy_model(model);
  const auto source = or_die(describe_model_source(model.path(), {}));
  model.write("tokenizer_config.json", "{}");
  const Status status = write_model_source(out.path(), model.path(), source);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("tokenizer_config.json"));
}

}  // namespace
}  // namespace calkit::frozen
