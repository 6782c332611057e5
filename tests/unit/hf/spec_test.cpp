#include "calkit/hf/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/checked.h"
#include "calkit/hf/checkpoint.h"
#include "checkpoint_support.h"

namespace calkit::hf {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kModels = CALKIT_TEST_DATA "/models/";
const std::string kCases = CALKIT_TEST_DATA "/cases/";

using Changes = std::vector<Value::Member>;
const Value kRemoved("(removed)");

/// tiny-dense's config (a Qwen3) with members set, or removed.
Value changed(const Changes& changes) {
  Value config = std::move(read_json(kModels + "tiny-dense/config.json")).value();
  for (const auto& [key, value] : changes) {
    std::erase_if(*config.if_object(), [&, name = key](const Value::Member& m) { return m.first == name; });
    if (!(value == kRemoved)) config.set(key, value);
  }
  return config;
}

Result<ModelSpec> spec_of(const Changes& changes) {
  const Value config = changed(changes);
  return parse_spec(Cursor(config, "config.json"));
}

std::string answer_to(const Changes& changes) {
  return message_of(spec_of(changes));
}

std::string with(const std::string& key, Value value) {
  return answer_to({{key, std::move(value)}});
}

/// The same sizes as another family.
Changes as(const std::string& type, const std::string& architecture, Changes more = {}) {
  more.push_back({"model_type", type});
  more.push_back({"architectures", Value::array({architecture})});
  return more;
}

TEST(Spec, ReadsBothDialects) {
  const auto v5 = read_spec(kModels + "qwen3-qknorm");
  ASSERT_TRUE(v5.ok()) << v5.error().message;
  EXPECT_EQ(v5->layers, 3);
  EXPECT_EQ(v5->ffn, 288);
  EXPECT_EQ(v5->rope_theta, 1e6);
  EXPECT_EQ(v5->bos_id, std::nullopt);
  EXPECT_THAT(v5->eos_ids, ElementsAre(1531));
  EXPECT_EQ(v5->pad_id, 1529);
  const auto v4 = read_spec(kModels + "qwen3-sharded-v4");
  ASSERT_TRUE(v4.ok()) << v4.error().message;
  EXPECT_EQ(v4->rope_theta, 5e6);
  EXPECT_FALSE(v4->tied_embeddings);
  EXPECT_EQ(v4->weight_dtype, DType::kBF16);
}

TEST(Spec, AnIndependentCountOfEveryFamilyAgrees) {
  for (const std::string name :
       {"llama-gqa-rope3", "llama-mha-f32-v4", "llama-micro-v4", "mistral-f16", "qwen2-bias-tied-v4", "qwen3-qknorm",
        "qwen3-sharded-v4", "qwen3-trained", "qwen3moe-e8k2", "qwen3moe-mixed-v4"}) {
    SCOPED_TRACE(name);
    const auto spec = read_spec(kModels + name);
    const auto weights = Checkpoint::open(kModels + name);
    const auto meta = read_json(CALKIT_TEST_DATA "/golden/" + name + "/meta.json");
    ASSERT_TRUE(spec.ok() && weights.ok() && meta.ok());
    const Value& facts = *meta->find("facts");
    const auto fact = [&](const char* key) { return *facts.find(key); };
    EXPECT_EQ(Value(spec->model_type), fact("model_type"));
    EXPECT_EQ(Value(spec->layers), fact("num_hidden_layers"));
    EXPECT_EQ(Value(spec->hidden), fact("hidden_size"));
    EXPECT_EQ(Value(spec->q_heads), fact("num_attention_heads"));
    EXPECT_EQ(Value(spec->kv_heads), fact("num_key_value_heads"));
    EXPECT_EQ(Value(spec->head_dim), fact("head_dim"));
    EXPECT_EQ(Value(spec->ffn), fact("intermediate_size"));
    EXPECT_EQ(Value(spec->vocab), fact("vocab_size"));
    EXPECT_EQ(Value(spec->rms_eps), fact("rms_norm_eps"));
    EXPECT_EQ(Value(spec->activation), fact("hidden_act"));
    EXPECT_EQ(Value(spec->max_positions), fact("max_position_embeddings"));
    EXPECT_EQ(Value(spec->tied_embeddings), fact("tie_word_embeddings"));
    EXPECT_EQ(Value(spec->qkv_bias), fact("qkv_bias"));
    EXPECT_EQ(Value(spec->qk_norm), fact("qk_norm"));
    EXPECT_EQ(Value(spec->rope.type), *facts.find("rope")->find("rope_type"));
    EXPECT_EQ(spec->rope_theta, facts.find("rope")->find("rope_theta")->if_number());
    EXPECT_EQ(Value(kv_bytes_per_token(*spec, DType::kBF16)), fact("kv_bytes_per_token_bf16"));
    std::uint64_t parameters = 0;
    for (const ExpectedTensor& tensor : expected_tensors(*spec)) parameters += *checked_product(tensor.shape);
    EXPECT_EQ(Value(parameters), fact("n_params"));
    EXPECT_EQ(Value(static_cast<std::uint64_t>(expected_tensors(*spec).size())), fact("n_tensors"));
    EXPECT_EQ(Value(weights->weight_bytes()), fact("n_weight_bytes"));
    EXPECT_EQ(message_of(weights->check_against(*spec)), "accepted");
    const Value* moe = facts.find("moe");
    ASSERT_EQ(spec->experts.has_value(), moe != nullptr);
    if (moe == nullptr) continue;
    const Value experts = *to_value(*spec).find("experts");
    EXPECT_EQ(*experts.find("count"), *moe->find("num_experts"));
    EXPECT_EQ(*experts.find("per_token"), *moe->find("top_k"));
    EXPECT_EQ(*experts.find("ffn"), *moe->find("moe_intermediate_size"));
    EXPECT_EQ(*experts.find("norm_topk"), *moe->find("norm_topk_prob"));
    EXPECT_EQ(*experts.find("sparse_layers"), *moe->find("sparse_layers"));
  }
}

TEST(Spec, KvBytesFollowAStatedHeadDimAndElseTheHeads) {
  const auto expected = read_json(kCases + "F06/expected.json");
  for (const std::string name : {"explicit_128", "absent_llama", "null_llama"}) {
    const auto spec = read_spec(kCases + "F06/" + name);
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    const Value& want = *expected->find(name);
    EXPECT_EQ(Value(spec->head_dim), *want.find("head_dim")) << name;
    const std::uint64_t bytes = kv_bytes_per_token(*spec, DType::kBF16);
    EXPECT_EQ(Value(bytes), *want.find("kv_bytes_per_token")) << name;
    EXPECT_EQ(Value(bytes * 4096 * 2), *want.find("kv_bytes_ctx4096_batch2")) << name;
  }
}

TEST(Spec, TheReferencesKvCacheIsThreeAndThreeQuartersGibibytes) {
  ModelSpec spec;
  spec.layers = 48;
  spec.kv_heads = 4;
  spec.head_dim = 128;
  EXPECT_EQ(kv_bytes_per_token(spec, DType::kBF16) * 40960, 4026531840u);
}

TEST(Spec, DialectsThatDisagreeAreRefused) {
  EXPECT_THAT(with("rope_theta", 10000.0), AllOf(HasSubstr("/rope_parameters/rope_theta"), HasSubstr("10000")));
  EXPECT_THAT(with("torch_dtype", "float32"), HasSubstr("/torch_dtype"));
  EXPECT_THAT(with("rope_scaling", Value::object({{"type", "linear"}, {"factor", 2.0}})),
              AllOf(HasSubstr("/rope_scaling"), HasSubstr("rope_parameters")));
  EXPECT_THAT(
      answer_to({{"rope_parameters", nullptr},
                 {"rope_scaling", Value::object({{"type", "linear"}, {"rope_type", "yarn"}, {"factor", 2.0}})}}),
      HasSubstr("/rope_scaling/type"));
}

TEST(Spec, WhatCannotBeRunExactlyIsRefusedByField) {
  EXPECT_THAT(with("model_type", "llamoid"),
              AllOf(HasSubstr("/model_type"), HasSubstr("\"llamoid\""), HasSubstr("qwen3_moe")));
  EXPECT_THAT(with("architectures", Value::array({"Qwen3ForSequenceClassification"})), HasSubstr("/architectures/0"));
  EXPECT_THAT(with("architectures", Value::array()), HasSubstr("/architectures"));
  EXPECT_THAT(with("hidden_act", "gelu"), HasSubstr("/hidden_act"));
  EXPECT_THAT(
      with("rope_parameters", Value::object({{"rope_type", "default"}, {"rope_theta", 50000.0}, {"mrope_section", 1}})),
      HasSubstr("/rope_parameters/mrope_section"));
  EXPECT_THAT(with("use_sliding_window", true), HasSubstr("/use_sliding_window"));
  EXPECT_THAT(with("quantization_config", Value::object({{"bits", 4}})), HasSubstr("/quantization_config"));
  EXPECT_THAT(with("num_experts", 8), HasSubstr("/num_experts"));
  EXPECT_THAT(with("attn_logit_softcapping", 50.0), AllOf(HasSubstr("/attn_logit_softcapping"), HasSubstr("knows")));
  EXPECT_EQ(with("attn_logit_softcapping", nullptr), "accepted");
  EXPECT_EQ(with("sliding_window", 4096), "accepted") << "use_sliding_window is false beside it";
}

TEST(Spec, WhatChangesNothingIsNoted) {
  const auto notes = [](const Changes& changes) {
    const auto spec = spec_of(changes);
    EXPECT_TRUE(spec.ok()) << spec.error().message;
    return spec.ok() ? spec->notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes({}), testing::IsEmpty());
  EXPECT_THAT(notes({{"partial_rotary_factor", 0.5}}), ElementsAre(HasSubstr("/partial_rotary_factor is 0.5")));
  EXPECT_THAT(notes({{"auto_map", Value::object({{"AutoModel", "m.py"}})}}), ElementsAre(HasSubstr("auto_map")));
  EXPECT_THAT(notes({{"architectures", Value::array({"LlamaForCausalLM"})}}), ElementsAre(HasSubstr("disagrees")));
  EXPECT_THAT(notes({{"use_sliding_window", kRemoved}, {"sliding_window", 4096}}),
              ElementsAre(HasSubstr("use_sliding_window")));
}

TEST(Spec, BiasTermsFollowTheFamilyAndItsKeys) {
  const auto qwen3 = spec_of({{"attention_bias", true}});
  EXPECT_TRUE(qwen3->qkv_bias && qwen3->o_bias && !qwen3->mlp_bias);
  const auto llama = spec_of(as("llama", "LlamaForCausalLM", {{"mlp_bias", true}, {"attention_bias", false}}));
  EXPECT_TRUE(llama->mlp_bias && !llama->qkv_bias && !llama->o_bias && !llama->qk_norm);
  const auto qwen2 = spec_of(as("qwen2", "Qwen2ForCausalLM", {{"attention_bias", kRemoved}}));
  EXPECT_TRUE(qwen2->qkv_bias && !qwen2->o_bias && !qwen2->qk_norm);
  EXPECT_THAT(answer_to(as("mistral", "MistralForCausalLM", {{"attention_bias", true}})), HasSubstr("/attention_bias"));
  EXPECT_THAT(answer_to({{"mlp_bias", true}}), HasSubstr("/mlp_bias"));
}

TEST(Spec, AMistralMustSayThatItHasNoWindow) {
  EXPECT_EQ(answer_to(as("mistral", "MistralForCausalLM", {{"sliding_window", nullptr}})), "accepted");
  EXPECT_THAT(answer_to(as("mistral", "MistralForCausalLM", {{"sliding_window", kRemoved}})),
              HasSubstr("/sliding_window"));
  EXPECT_THAT(answer_to(as("mistral", "MistralForCausalLM", {{"sliding_window", 4096}})), HasSubstr("/sliding_window"));
}

Changes with_experts(Changes more = {}) {
  more = as("qwen3_moe", "Qwen3MoeForCausalLM", std::move(more));
  const Changes base = {{"num_experts", 8},       {"num_experts_per_tok", 2}, {"moe_intermediate_size", 16},
                        {"norm_topk_prob", true}, {"decoder_sparse_step", 2}, {"mlp_only_layers", Value::array({3})}};
  more.insert(more.begin(), base.begin(), base.end());
  return more;
}

TEST(Spec, ExpertsAreInTheLayersThatTheStepNames) {
  const auto spec = spec_of(with_experts());
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_THAT(spec->experts->sparse_layers, ElementsAre(false, true, false, false, false));
  const auto plain = spec_of(with_experts({{"decoder_sparse_step", kRemoved}, {"mlp_only_layers", kRemoved}}));
  EXPECT_THAT(plain->experts->sparse_layers, ElementsAre(true, true, true, true, true));
  EXPECT_THAT(plain->notes, Contains(HasSubstr("decoder_sparse_step")));
}

TEST(Spec, ExpertsAreBoundedAndTheirDialectsAgree) {
  EXPECT_EQ(answer_to(with_experts({{"num_local_experts", 8}})), "accepted");
  EXPECT_EQ(answer_to(with_experts({{"num_experts", kRemoved}, {"num_local_experts", 8}})), "accepted");
  EXPECT_THAT(answer_to(with_experts({{"num_local_experts", 9}})), HasSubstr("/num_local_experts"));
  EXPECT_THAT(answer_to(with_experts({{"num_experts", kRemoved}})), HasSubstr("/num_experts"));
  EXPECT_THAT(answer_to(with_experts({{"num_experts_per_tok", 9}})), HasSubstr("/num_experts_per_tok"));
  EXPECT_THAT(answer_to(with_experts({{"decoder_sparse_step", 0}})), HasSubstr("/decoder_sparse_step"));
  EXPECT_THAT(answer_to(with_experts({{"mlp_only_layers", Value::array({5})}})), HasSubstr("/mlp_only_layers/0"));
  EXPECT_THAT(answer_to(with_experts({{"shared_expert_intermediate_size", 16}})),
              HasSubstr("/shared_expert_intermediate_size"));
  EXPECT_THAT(answer_to(with_experts({{"num_experts", 1024}, {"num_hidden_layers", 1024}, {"layer_types", kRemoved}})),
              HasSubstr("/num_experts"));
}

TEST(Spec, NumbersAreBoundedAndTyped) {
  EXPECT_THAT(with("hidden_size", std::int64_t{1} << 40), HasSubstr("/hidden_size"));
  EXPECT_THAT(with("num_hidden_layers", -1), HasSubstr("/num_hidden_layers"));
  EXPECT_THAT(with("num_hidden_layers", "5"), HasSubstr("/num_hidden_layers"));
  EXPECT_THAT(with("vocab_size", 2048.0), HasSubstr("/vocab_size"));
  EXPECT_THAT(with("vocab_size", 151937), HasSubstr("/vocab_size"));
  EXPECT_THAT(with("num_key_value_heads", 3), HasSubstr("/num_key_value_heads"));
  EXPECT_THAT(with("head_dim", 63), HasSubstr("/head_dim"));
  EXPECT_THAT(with("rms_norm_eps", 0), HasSubstr("/rms_norm_eps"));
  EXPECT_THAT(with("eos_token_id", Value::array({1, 2048})), HasSubstr("/eos_token_id/1"));
  EXPECT_THAT(with("bos_token_id", -1), HasSubstr("/bos_token_id"));
  EXPECT_THAT(with("layer_types", Value::array({"full_attention"})), HasSubstr("/layer_types"));
}

TEST(Spec, MissingSizesAreNamedNotDefaulted) {
  for (const char* key : {"model_type", "architectures", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "num_key_value_heads", "intermediate_size", "vocab_size"})
    EXPECT_THAT(answer_to({{key, kRemoved}}), HasSubstr(key));
}

TEST(Spec, PublishedDefaultsAreTakenAndNoted) {
  const Value plain = to_value(*spec_of({{"max_position_embeddings", kRemoved},
                                         {"hidden_act", kRemoved},
                                         {"rms_norm_eps", kRemoved},
                                         {"tie_word_embeddings", kRemoved},
                                         {"rope_theta", kRemoved},
                                         {"rope_parameters", kRemoved}}));
  EXPECT_EQ(*plain.find("max_positions"), Value(32768));
  EXPECT_EQ(*plain.find("rms_eps"), Value(1e-6));
  EXPECT_EQ(*plain.find("rope_theta"), Value(10000.0));
  EXPECT_EQ(*plain.find("tied_embeddings"), Value(false));
  for (const char* key : {"max_position_embeddings", "hidden_act", "rms_norm_eps", "tie_word_embeddings"})
    EXPECT_THAT(spec_of({{key, kRemoved}})->notes, ElementsAre(HasSubstr(key)));
  const auto llama =
      spec_of(as("llama", "LlamaForCausalLM", {{"num_key_value_heads", kRemoved}, {"head_dim", kRemoved}}));
  EXPECT_EQ(llama->kv_heads, llama->q_heads);
  EXPECT_EQ(llama->head_dim, llama->hidden / llama->q_heads);
  EXPECT_THAT(llama->notes,
              ElementsAre(HasSubstr("num_key_value_heads"), HasSubstr("head_dim"), HasSubstr("mlp_bias")));
}

TEST(Spec, AnElementTypeThatIsNotStatedIsThatOfTheWeights) {
  const Value config = changed({{"dtype", kRemoved}, {"torch_dtype", kRemoved}});
  EXPECT_EQ(parse_spec(Cursor(config, "config.json"), DType::kF16)->weight_dtype, DType::kF16);
  const testing_support::ScratchDir dir;
  dir.write("config.json", to_json(config));
  dir.write("model.safetensors",
            safetensors_file(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", "1234"));
  const auto spec = read_spec(dir.path());
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->weight_dtype, DType::kF32);
  EXPECT_THAT(spec->notes, Contains(HasSubstr("no dtype; most of the weights are stored in F32")));
}

TEST(Spec, SizesThatReadersDisagreeOnMustBeStated) {
  EXPECT_THAT(answer_to({{"head_dim", kRemoved}}), AllOf(HasSubstr("/head_dim"), HasSubstr("128"), HasSubstr("= 64")));
  EXPECT_EQ(spec_of({{"head_dim", kRemoved}, {"hidden_size", 512}})->head_dim, 128);
  EXPECT_THAT(answer_to({{"num_key_value_heads", kRemoved}}),
              AllOf(HasSubstr("/num_key_value_heads"), HasSubstr("32"), HasSubstr("= 4")));
  EXPECT_EQ(spec_of({{"num_key_value_heads", nullptr}})->kv_heads, 4);
}

}  // namespace
}  // namespace calkit::hf
