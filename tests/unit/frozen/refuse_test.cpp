// Each checkpoint of the odd collection through everything that a freeze reads before it computes.
#include "refuse_cases.h"

#include <gmock/gmock.h>

#include <map>

#include "baseline_support.h"
#include "calkit/base/document.h"

namespace calkit::frozen {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing_support::refuse_cases;
using testing_support::RefuseCase;

/// As freeze-baseline has it: the description with its notes, then the values of the weights.
Result<std::vector<std::string>> notes_of(const fs::path& dir) {
  CALKIT_TRY(const auto source, describe_model_source(dir, {}));
  CALKIT_TRY(const auto weights, hf::Checkpoint::open(dir));
  CALKIT_CHECK_OK(weights.check_finite());
  return source_notes(source);
}

std::string verdict(const RefuseCase& c) {
  const auto notes = notes_of(c.dir);
  return notes.ok() ? "accepted" : notes.error().message;
}

TEST(RefuseFreeze, WhatMustBeAcceptedIs) {
  for (const RefuseCase& c : refuse_cases())
    if (c.expect == "accept") {
      EXPECT_EQ(verdict(c), "accepted") << c.name;
    }
}

TEST(RefuseFreeze, WhatMustBeRefusedIsByTheLastPartOfItsField) {
  for (const RefuseCase& c : refuse_cases()) {
    if (c.expect != "refuse" || c.name == "tok-unigram") continue;  // Unigram is one of the models that are read
    const std::string field = c.field.substr(0, c.field.find('*'));
    const std::string last = c.group == "config" || c.group == "tokenizer" ? field.substr(field.rfind('.') + 1) : field;
    EXPECT_THAT(verdict(c), testing::AllOf(testing::Ne("accepted"), HasSubstr(last))) << c.name;
  }
}

TEST(RefuseFreeze, WhatMustBeFlaggedIsNotedOrRefused) {
  const std::map<std::string, std::string> words = {{"arch-mismatch", "architectures"},
                                                    {"auto-map", "auto_map"},
                                                    {"ix-both-single-and-index", "model.safetensors.index.json"},
                                                    {"ix-duplicate-tensor", "lm_head.weight"},
                                                    {"ix-total-size-wrong", "total_size"},
                                                    {"ix-unlisted-tensor", "does not list"},
                                                    {"rope-partial", "partial_rotary_factor"},
                                                    {"tok-eos-mismatch", "disagree about eos"},
                                                    {"w-tied-different-lm_head", "lm_head.weight"}};
  std::size_t flagged = 0;
  for (const RefuseCase& c : refuse_cases()) {
    if (c.expect != "warn") continue;
    ASSERT_TRUE(words.contains(c.name)) << c.name;
    const auto notes = notes_of(c.dir);
    if (notes.ok())
      EXPECT_THAT(*notes, Contains(HasSubstr(words.at(c.name)))) << c.name;
    else
      EXPECT_THAT(notes.error().message, HasSubstr(words.at(c.name))) << c.name;
    ++flagged;
  }
  EXPECT_EQ(flagged, words.size());
}

TEST(RefuseFreeze, WhatMayBeEitherNamesItsFieldWhenRefused) {
  for (const RefuseCase& c : refuse_cases()) {
    if (c.expect != "either") continue;
    const std::string got = verdict(c), field = c.field.substr(c.field.rfind('.') + 1);
    if (got != "accepted" && c.group == "config") {
      EXPECT_THAT(got, HasSubstr(field)) << c.name;
    }
  }
}

/// A safetensors file of zeros with these tensors.
std::string zeros(const std::vector<hf::ExpectedTensor>& tensors) {
  Value header = Value::object();
  std::uint64_t at = 0;
  for (const hf::ExpectedTensor& tensor : tensors) {
    std::uint64_t bytes = 2;
    for (const std::int64_t extent : tensor.shape) bytes *= static_cast<std::uint64_t>(extent);
    header.set(tensor.name, Value::object({{"dtype", "BF16"},
                                           {"shape", Value::list(tensor.shape)},
                                           {"data_offsets", Value::array({at, at + bytes})}}));
    at += bytes;
  }
  const std::string text = to_json(header, {.indent = -1});
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i) out[static_cast<std::size_t>(i)] = static_cast<char>(text.size() >> (8 * i));
  return out + text + std::string(at, '\0');
}

TEST(RefuseFreeze, F05TwoEndTokensAreBothKeptAndBothStop) {
  const fs::path from = data_dir() / "cases/F05";
  const Value expected = or_die(read_json(from / "expected.json"));
  const ScratchDir dir;
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"}) fs::copy(from / name, dir / name);
  dir.write("model.safetensors", zeros(hf::expected_tensors(or_die(hf::read_spec(dir.path())))));
  const auto source = or_die(describe_model_source(dir.path(), {}));
  const Value& eos = *source.manifest.find("tokenizer")->find("special_tokens")->find("eos");
  ASSERT_EQ(eos.if_array()->size(), 2u);
  EXPECT_EQ((*eos.if_array())[0], Value::object({{"id", *(*expected.find("config_eos")->if_array())[0].if_int()},
                                                 {"token", "<|endoftext|>"},
                                                 {"source", "config.json#/eos_token_id"}}));
  EXPECT_EQ(*(*eos.if_array())[1].find("id"), *expected.find("tokenizer_eos"));
  EXPECT_EQ(*source.manifest.find("stop_ids"), Value::array({3, 5}));
  EXPECT_THAT(source_notes(source), Contains(testing::AllOf(HasSubstr("disagree about eos"), HasSubstr("says 3"),
                                                            HasSubstr("says 5"), HasSubstr("stop id"))));
}

TEST(RefuseFreeze, ATokenizerConfigThatDisagreesWithTheOtherFilesIsNoted) {
  const ScratchDir dir;
  for (const auto& entry : fs::directory_iterator(data_dir() / "models/llama-mha-f32-v4"))
    fs::copy(entry.path(), dir / entry.path().filename().string());
  const auto notes = [&] { return source_notes(or_die(describe_model_source(dir.path(), {}))); };
  EXPECT_THAT(notes(), Contains(testing::AllOf(HasSubstr("model_max_length is 4096"), HasSubstr("2048"))));
  EXPECT_THAT(notes(), testing::Not(Contains(HasSubstr("added_tokens_decoder"))));
  Value config = or_die(read_json(dir / "tokenizer_config.json"));
  const bool frame = !or_die(hf::Tokenizer::load(dir / "tokenizer.json")).special_frame().first.empty();
  config.set("add_bos_token", !frame);
  config.find("added_tokens_decoder")->if_object()->front().second.set("content", "<|other|>");
  dir.write("tokenizer_config.json", to_json(config));
  EXPECT_THAT(notes(), testing::IsSupersetOf({HasSubstr("has 1 tokens that tokenizer.json has not"),
                                              HasSubstr("tokenizer_config.json#/add_bos_token is")}));
}

TEST(RefuseFreeze, ADtypeThatNoConfigStatesIsReadBackFromTheRecord) {
  for (const RefuseCase& c : refuse_cases()) {
    if (c.name != "ok-llama-old-config") continue;
    Value config = or_die(read_json(c.dir / "config.json"));
    std::erase_if(*config.if_object(), [](const Value::Member& m) { return m.first == "torch_dtype"; });
    const ScratchDir model, out;
    for (const auto& entry : fs::directory_iterator(c.dir))
      fs::copy(entry.path(), model / entry.path().filename().string());
    model.write("config.json", to_json(config));
    const auto source = or_die(describe_model_source(model.path(), {}));
    EXPECT_THAT(source_notes(source), Contains(HasSubstr("states no dtype")));
    or_die(write_model_source(out.path(), model.path(), source));
    EXPECT_EQ(or_die(read_model_source(out.path())).manifest, source.manifest);
  }
}

}  // namespace
}  // namespace calkit::frozen
