#include "calkit/hf/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/hf/checkpoint.h"
#include "checkpoint_support.h"

namespace calkit::hf {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kModels = CALKIT_TEST_DATA "/models/";

Value config_of(const std::string& model) {
  auto read = read_json(kModels + model + "/config.json");
  EXPECT_TRUE(read.ok());
  return std::move(read).value();
}

/// tiny-dense's config with one member set (or removed), as parse_spec answers it.
std::string with(const std::string& key, Value value) {
  Value config = config_of("tiny-dense");
  config.set(key, std::move(value));
  return message_of(parse_spec(Cursor(config, "config.json")));
}

std::string without(std::initializer_list<const char*> keys) {
  Value config = config_of("tiny-dense");
  for (const char* key : keys)
    std::erase_if(*config.if_object(), [&](const Value::Member& m) { return m.first == key; });
  return message_of(parse_spec(Cursor(config, "config.json")));
}

TEST(Spec, ReadsBothDialects) {
  const auto v5 = read_spec(kModels + "qwen3-qknorm");
  ASSERT_TRUE(v5.ok()) << v5.error().message;
  EXPECT_EQ(v5->layers, 3);
  EXPECT_EQ(v5->hidden, 96);
  EXPECT_EQ(v5->q_heads, 4);
  EXPECT_EQ(v5->kv_heads, 2);
  EXPECT_EQ(v5->head_dim, 32);
  EXPECT_EQ(v5->ffn, 288);
  EXPECT_EQ(v5->vocab, 1600);
  EXPECT_EQ(v5->rope_theta, 1e6);
  EXPECT_TRUE(v5->tied_embeddings);
  EXPECT_EQ(v5->bos_id, std::nullopt);
  EXPECT_THAT(v5->eos_ids, ElementsAre(1531));
  EXPECT_EQ(v5->pad_id, 1529);
  const auto v4 = read_spec(kModels + "qwen3-sharded-v4");
  ASSERT_TRUE(v4.ok()) << v4.error().message;
  EXPECT_EQ(v4->rope_theta, 5e6);
  EXPECT_EQ(v4->kv_heads, 1);
  EXPECT_FALSE(v4->tied_embeddings);
  EXPECT_EQ(v4->weight_dtype, DType::kBF16);
}

TEST(Spec, ReadsTheDemoModelAndCountsItsKvCache) {
  const auto spec = read_spec(kModels + "tiny-dense");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(kv_bytes_per_token(*spec, DType::kBF16), 5u * 2 * 2 * 64 * 2);
  EXPECT_EQ(*to_value(*spec).find("eos_ids"), Value::array({2042}));
}

TEST(Spec, TheReferencesKvCacheIsThreeAndThreeQuartersGibibytes) {
  ModelSpec spec;
  spec.layers = 48;
  spec.kv_heads = 4;
  spec.head_dim = 128;
  EXPECT_EQ(kv_bytes_per_token(spec, DType::kBF16) * 40960, 4026531840u);
}

TEST(Spec, ExpectedTensorsAreTheOnesInTheFile) {
  for (const std::string model : {"tiny-dense", "qwen3-qknorm", "qwen3-sharded-v4", "qwen3-trained"}) {
    const auto spec = read_spec(kModels + model);
    const auto weights = Checkpoint::open(kModels + model);
    ASSERT_TRUE(spec.ok() && weights.ok());
    EXPECT_EQ(expected_tensors(*spec).size(), weights->tensors().size());
    EXPECT_EQ(message_of(weights->check_against(*spec)), "accepted");
  }
}

TEST(Spec, DialectsThatDisagreeAreRefused) {
  EXPECT_THAT(with("rope_theta", 10000.0), AllOf(HasSubstr("/rope_parameters/rope_theta"), HasSubstr("10000")));
  EXPECT_THAT(with("torch_dtype", "float32"), HasSubstr("/torch_dtype"));
}

TEST(Spec, WhatCannotBeRunExactlyIsRefusedByField) {
  const Value window = Value::object({{"rope_type", "yarn"}, {"factor", 4.0}});
  EXPECT_THAT(with("model_type", "llama"), AllOf(HasSubstr("/model_type"), HasSubstr("\"llama\""), HasSubstr("qwen3")));
  EXPECT_THAT(with("architectures", Value::array({"Qwen3ForSequenceClassification"})), HasSubstr("/architectures/0"));
  EXPECT_THAT(with("architectures", Value::array()), HasSubstr("/architectures"));
  EXPECT_THAT(with("hidden_act", "gelu"), HasSubstr("/hidden_act"));
  EXPECT_THAT(with("rope_scaling", window), HasSubstr("/rope_scaling/rope_type"));
  EXPECT_THAT(with("rope_scaling", Value::object({{"type", "linear"}, {"factor", 2.0}})),
              HasSubstr("/rope_scaling/type"));
  EXPECT_THAT(
      with("rope_parameters", Value::object({{"rope_type", "default"}, {"rope_theta", 50000.0}, {"mrope_section", 1}})),
      HasSubstr("/rope_parameters/mrope_section"));
  EXPECT_THAT(with("partial_rotary_factor", 0.5), HasSubstr("/partial_rotary_factor"));
  EXPECT_THAT(with("use_sliding_window", true), HasSubstr("/use_sliding_window"));
  EXPECT_THAT(with("attention_bias", true), HasSubstr("/attention_bias"));
  EXPECT_THAT(with("quantization_config", Value::object({{"bits", 4}})), HasSubstr("/quantization_config"));
  EXPECT_THAT(with("auto_map", Value::object({{"AutoModel", "m.py"}})), HasSubstr("/auto_map"));
  EXPECT_THAT(with("num_experts", 8), HasSubstr("/num_experts"));
  EXPECT_THAT(with("attn_logit_softcapping", 50.0), AllOf(HasSubstr("/attn_logit_softcapping"), HasSubstr("knows")));
  EXPECT_EQ(with("attn_logit_softcapping", nullptr), "accepted");
  EXPECT_EQ(with("sliding_window", 4096), "accepted") << "use_sliding_window is false beside it";
}

TEST(Spec, NumbersAreBoundedAndTyped) {
  EXPECT_THAT(with("hidden_size", std::int64_t{1} << 40), HasSubstr("/hidden_size"));
  EXPECT_THAT(with("num_hidden_layers", -1), HasSubstr("/num_hidden_layers"));
  EXPECT_THAT(with("num_hidden_layers", "5"), HasSubstr("/num_hidden_layers"));
  EXPECT_THAT(with("vocab_size", 2048.0), HasSubstr("/vocab_size"));
  EXPECT_THAT(with("num_key_value_heads", 3), HasSubstr("/num_key_value_heads"));
  EXPECT_THAT(with("head_dim", 63), HasSubstr("/head_dim"));
  EXPECT_THAT(with("rms_norm_eps", 0), HasSubstr("/rms_norm_eps"));
  EXPECT_THAT(with("eos_token_id", Value::array({1, 2048})), HasSubstr("/eos_token_id/1"));
  EXPECT_THAT(with("bos_token_id", -1), HasSubstr("/bos_token_id"));
  EXPECT_THAT(with("layer_types", Value::array({"full_attention"})), HasSubstr("/layer_types"));
}

TEST(Spec, MissingFieldsAreNamedNotDefaulted) {
  for (const char* key : {"model_type", "architectures", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "num_key_value_heads", "intermediate_size", "vocab_size", "max_position_embeddings",
                          "hidden_act", "rms_norm_eps", "tie_word_embeddings"})
    EXPECT_THAT(without({key}), HasSubstr(key));
  EXPECT_THAT(without({"dtype", "torch_dtype"}), HasSubstr("/dtype"));
  EXPECT_THAT(without({"rope_theta", "rope_parameters"}), HasSubstr("/rope_theta"));
  EXPECT_EQ(without({"rope_theta"}), "accepted");
  EXPECT_EQ(without({"rope_parameters", "dtype"}), "accepted");
}

TEST(Spec, AHeadDimThatReadersDisagreeOnMustBeStated) {
  EXPECT_THAT(without({"head_dim"}), AllOf(HasSubstr("/head_dim"), HasSubstr("128"), HasSubstr("= 64")));
  Value config = config_of("tiny-dense");
  std::erase_if(*config.if_object(), [](const Value::Member& m) { return m.first == "head_dim"; });
  config.set("hidden_size", 512);
  const auto spec = parse_spec(Cursor(config, "config.json"));
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->head_dim, 128);
}

TEST(Spec, ASnapshotOfAHuggingFaceCacheIsRead) {
  const testing_support::ScratchDir scratch;
  const std::string blob(40, 'a');
  namespace fs = std::filesystem;
  const fs::path snapshot = scratch / "models--x--y/snapshots/0123";
  fs::create_directories(snapshot);
  fs::create_directories(scratch / "models--x--y/blobs");
  fs::copy_file(kModels + "tiny-dense/config.json", scratch / ("models--x--y/blobs/" + blob));
  fs::create_symlink("../../blobs/" + blob, snapshot / "config.json");
  EXPECT_EQ(message_of(read_spec(snapshot)), "accepted");
  fs::remove(snapshot / "config.json");
  fs::create_symlink(kModels + "tiny-dense/config.json", snapshot / "config.json");
  EXPECT_THAT(message_of(read_spec(snapshot)), HasSubstr("a symlink to"));
}

}  // namespace
}  // namespace calkit::hf
