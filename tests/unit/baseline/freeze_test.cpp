#include "calkit/baseline/freeze.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/tensor/npz.h"

namespace calkit::baseline {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const fs::path kData = CALKIT_TEST_DATA;

class Freeze : public testing::Test {
 protected:
  Freeze() : dir_(fs::path(testing::TempDir()) / ("calkit_freeze_" + std::to_string(::getpid()))) {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  ~Freeze() override { fs::remove_all(dir_); }

  FreezeOptions options(const std::string& model, std::vector<frozen::Prompt> prompts) {
    FreezeOptions out;
    out.model_dir = kData / "models" / model;
    out.out = dir_ / "baseline";
    out.prompts = std::move(prompts);
    return out;
  }
  std::string error_of(const FreezeOptions& options) {
    const auto report = freeze_model(options);
    return report.ok() ? "no error" : report.error().message;
  }
  // A copy of a model that a test may damage.
  fs::path copy_of(const std::string& model) {
    fs::copy(kData / "models" / model, dir_ / model, fs::copy_options::recursive);
    return dir_ / model;
  }

  fs::path dir_;
};

frozen::Prompt prompt(std::string id, std::string text) {
  return {std::move(id), "", std::move(text), false};
}

std::vector<frozen::Prompt> few() {
  return {prompt("a", "The fox looked at the rain and said nothing for a long while, then it went home again."),
          prompt("b", "x"), prompt("c", "")};
}

TEST_F(Freeze, WhatItWritesVerifiesAndIsTheSameBytesTwice) {
  auto first = options("qwen3-qknorm", few()), second = first;
  second.out = dir_ / "again";
  const auto report = freeze_model(first);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_TRUE(freeze_model(second).ok());
  EXPECT_EQ(report->prompts, 3u);
  EXPECT_EQ(report->greedy_steps, 32u);  // the empty prompt has none
  EXPECT_EQ(report->tensors, 35u);
  const auto verified = frozen::verify(first.out);
  ASSERT_TRUE(verified.ok()) << verified.error().message;
  EXPECT_THAT(verified->findings, testing::IsEmpty());
  EXPECT_EQ(hash_tree(first.out)->sha256, hash_tree(second.out)->sha256);
}

TEST_F(Freeze, ProbesBelongToAPromptOfSeventeenTokensOrMore) {
  ASSERT_TRUE(freeze_model(options("qwen3-qknorm", few())).ok());
  const auto probes = read_npz(dir_ / "baseline" / "reference" / "probes.npz");
  ASSERT_TRUE(probes.ok()) << probes.error().message;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : *probes) names.push_back(name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("token_ids", "embed", "layer.0.input_norm", "layer.0.attn_out",
                                                   "layer.0.mlp_out", "layer.0.out", "layer.2.out", "final_norm"));
  EXPECT_GE(probes->at("token_ids").dim(0), 17);
  EXPECT_EQ(probes->at("embed").shape(), (Shape{probes->at("token_ids").dim(0), 96}));
}

// The whole road of a prompt, from text to greedy tokens, against Transformers.
TEST_F(Freeze, AgreesWithTransformersOnEveryPromptOfTheFixtures) {
  for (const char* model : {"qwen3-qknorm", "qwen3-sharded-v4", "qwen3-trained"})
    for (const char* dtype : {"fp32", "bf16"}) {
      const fs::path golden = kData / "golden" / model;
      const auto peer = frozen::read_reference(golden, dtype);
      ASSERT_TRUE(peer.ok()) << peer.error().message;
      std::vector<frozen::Prompt> prompts;
      for (const auto& item : peer->items) prompts.push_back(item.prompt);
      auto how = options(model, prompts);
      how.dtype = dtype;
      const auto report = freeze_model(how);
      ASSERT_TRUE(report.ok()) << report.error().message;
      const auto ours = frozen::read_reference(how.out);
      ASSERT_TRUE(ours.ok()) << ours.error().message;
      const auto compared = frozen::compare_references(*ours, *peer, peer_limits(dtype));
      ASSERT_TRUE(compared.ok()) << compared.error().message;
      EXPECT_THAT(compared->findings, testing::IsEmpty()) << model << " " << dtype;
      EXPECT_EQ(compared->prompts, peer->items.size());
      EXPECT_EQ(compared->ids_different, 0u);
    }
}

TEST_F(Freeze, APromptThatDoesNotFitThePositionsIsRefusedInTheRecord) {
  std::string text;
  for (int i = 0; i < 4200; ++i) text += "q7";
  auto how = options("qwen3-qknorm", {prompt("short", "x"), prompt("long", text)});
  const auto report = freeze_model(how);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->refused.size(), 1u);
  EXPECT_EQ(report->refused[0].id, "long");
  EXPECT_THAT(report->refused[0].reason, HasSubstr("and 16 greedy steps; allowed: 4096 positions"));
  const auto reference = frozen::read_reference(how.out);
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  EXPECT_EQ(reference->items.size(), 1u);
  EXPECT_EQ(reference->refused.at(0).reason, report->refused[0].reason);
  EXPECT_THAT(frozen::verify(how.out)->findings, testing::IsEmpty());
  how.prompts.erase(how.prompts.begin());
  EXPECT_THAT(error_of(how), AllOf(HasSubstr("none of 1 can be answered; prompt 'long'"), HasSubstr("4096 positions")));
}

TEST_F(Freeze, AnIdTwiceAndNoPromptAreRefused) {
  EXPECT_THAT(error_of(options("qwen3-qknorm", {prompt("a", "x"), prompt("a", "y")})), HasSubstr("found 'a' twice"));
  EXPECT_THAT(error_of(options("qwen3-qknorm", {})), HasSubstr("found none; allowed: at least 1"));
}

TEST_F(Freeze, ATokenizerOfAnotherModelIsRefused) {
  auto how = options("qwen3-qknorm", few());
  how.model_dir = copy_of("qwen3-qknorm");
  fs::copy_file(kData / "models/tiny-dense/tokenizer.json", how.model_dir / "tokenizer.json",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(error_of(how), AllOf(HasSubstr("config.json: /vocab_size: found 1600"), HasSubstr("ids up to 2042")));
}

TEST_F(Freeze, WeightsThatAreNoNumbersAreRefused) {
  auto how = options("qwen3-qknorm", few());
  how.model_dir = copy_of("qwen3-qknorm");
  auto bytes = *read_file(how.model_dir / "model.safetensors");
  bytes[bytes.size() - 1] = '\x7f';
  bytes[bytes.size() - 2] = '\xff';
  ASSERT_TRUE(write_file(how.model_dir / "model.safetensors", bytes).ok());
  EXPECT_THAT(error_of(how), HasSubstr("NaN"));
  EXPECT_FALSE(fs::exists(how.out));
}

TEST_F(Freeze, AFolderOfSomethingElseIsNotReplaced) {
  auto how = options("qwen3-qknorm", few());
  fs::create_directories(how.out);
  ASSERT_TRUE(write_file(how.out / "thesis.txt", "years of work").ok());
  EXPECT_THAT(error_of(how), HasSubstr("a folder with other files in it"));
  EXPECT_EQ(*read_file(how.out / "thesis.txt"), "years of work");
}

TEST_F(Freeze, ProgressIsToldForEachPrompt) {
  auto how = options("qwen3-trained", few());
  std::vector<std::size_t> seen;
  how.progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, 3u);
    seen.push_back(done);
  };
  ASSERT_TRUE(freeze_model(how).ok());
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace calkit::baseline
