#include "calkit/hf/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "checkpoint_support.h"

namespace calkit::hf {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kModels = CALKIT_TEST_DATA "/models/";
const std::string kCases = CALKIT_TEST_DATA "/cases/";

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, int begin, int end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}
std::string one(const std::string& text, std::size_t bytes) {
  return safetensors_file("{" + text + "}", std::string(bytes, '\0'));
}
std::string case_answer(const std::string& path) {
  return answer(*read_file(kCases + path));
}

TEST(Safetensors, OddButValidFilesAreRead) {
  EXPECT_EQ(case_answer("F10/good_unordered.safetensors"), "accepted");
  EXPECT_EQ(case_answer("F11/scalar_and_empty.safetensors"), "accepted");
  EXPECT_EQ(answer(safetensors_file("{}", "")), "accepted");
  EXPECT_EQ(answer(safetensors_file("{\"__metadata__\":{\"format\":\"pt\"}}   ", "")), "accepted");
  EXPECT_EQ(answer(one(entry("z", "F32", "[0]", 4, 4) + "," + entry("a", "F32", "[]", 0, 4), 4)), "accepted");
}

TEST(Safetensors, FieldCasesAreRefusedWithTheirReason) {
  EXPECT_THAT(case_answer("F09/model.safetensors"),
              AllOf(HasSubstr("Git LFS pointer of 132 bytes"), HasSubstr("1048576"), HasSubstr("git lfs pull")));
  EXPECT_THAT(case_answer("F10/overlap.safetensors"),
              AllOf(HasSubstr("k_proj.weight"), HasSubstr("v_proj.weight"), HasSubstr("shared")));
  EXPECT_THAT(case_answer("F10/hole.safetensors"), HasSubstr("belong to no tensor"));
  EXPECT_THAT(case_answer("F11/shape_too_big.safetensors"), HasSubstr("shape"));
  EXPECT_THAT(case_answer("F11/shape_overflow.safetensors"), HasSubstr("shape"));
}

TEST(Safetensors, LengthWordsThatLieAllocateNothing) {
  EXPECT_THAT(answer(""), HasSubstr("0 bytes"));
  EXPECT_THAT(answer("1234567"), HasSubstr("7 bytes"));
  for (const std::uint64_t length : {std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63,
                                     std::uint64_t{100'000'001}, std::uint64_t{0}}) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    EXPECT_THAT(answer(bytes + "{}"), HasSubstr("header length")) << length;
  }
}

TEST(Safetensors, EveryLieOfAHeaderIsRefused) {
  EXPECT_THAT(answer(one(entry("a", "F32", "[1]", 0, 4) + "," + entry("a", "F32", "[1]", 0, 4), 4)), HasSubstr("a"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[1]", 0, 4) + ",\"\\u0061\":{}", 4)), HasSubstr("given twice"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[1.0]", 0, 4), 4)), HasSubstr("/a/shape/0"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[true]", 0, 4), 4)), HasSubstr("/a/shape/0"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[-1]", 0, 4), 4)), HasSubstr("/a/shape/0"));
  EXPECT_THAT(answer(one(entry("a", "F99", "[1]", 0, 4), 4)), HasSubstr("/a/dtype"));
  EXPECT_THAT(answer(one(entry("a", "F8_E4M3", "[4]", 0, 4), 4)), HasSubstr("F8_E4M3"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[1]", 4, 0), 4)), HasSubstr("begin <= end"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[4611686018427387904,4]", 0, 0), 0)), HasSubstr("/a/shape"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[1]", 0, 4), 8)), HasSubstr("4 bytes behind the last tensor"));
  EXPECT_THAT(answer(one(entry("a", "F32", "[1]", 0, 4) + "," + entry("e", "F32", "[0]", 2, 2), 4)),
              HasSubstr("shared"));
  EXPECT_THAT(answer(one("\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"extra\":1}", 4)),
              HasSubstr("extra"));
  EXPECT_THAT(answer(one(entry("a\\n", "F32", "[1]", 0, 4), 4)), HasSubstr("control characters"));
  EXPECT_THAT(answer(safetensors_file("  {}", "")), HasSubstr("'{'"));
  EXPECT_THAT(answer(safetensors_file("{\"__metadata__\":{\"n\":1}}", "")), HasSubstr("/__metadata__/n"));
  EXPECT_THAT(answer(safetensors_file("{\"a\":" + std::string(100000, '['), "")), HasSubstr("x.safetensors"));
}

TEST(Checkpoint, MapsTensorsWithoutCopying) {
  const auto weights = Checkpoint::open(kModels + "qwen3-sharded-v4");
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->files().size(), 4u);
  const auto norm = weights->tensor("model.norm.weight");
  ASSERT_TRUE(norm.ok());
  EXPECT_EQ(norm->shape(), Shape({64}));
  EXPECT_EQ(norm->dtype(), DType::kBF16);
  const float before = to_float(norm->data<BF16>()[0]);
  weights->release("model.norm.weight");
  EXPECT_EQ(to_float(norm->data<BF16>()[0]), before) << "released pages come back from the file";
  EXPECT_EQ(weights->find("model.norm"), nullptr);
  EXPECT_THAT(message_of(weights->tensor("model.norm")), HasSubstr("'model.norm'"));
  EXPECT_EQ(message_of(weights->check_finite()), "accepted");
}

TEST(Checkpoint, ATensorOffItsAlignmentIsCopied) {
  const testing_support::ScratchDir dir;
  const float value = 1.25f;
  std::string data(1, '\0');
  data.append(reinterpret_cast<const char*>(&value), sizeof value);
  dir.write("model.safetensors",
            safetensors_file("{" + entry("a", "U8", "[1]", 0, 1) + "," + entry("b", "F32", "[1]", 1, 5) + "}", data));
  const auto weights = Checkpoint::open(dir.path());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  const auto b = weights->tensor("b");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b->raw()) % 4, 0u);
  EXPECT_EQ(b->data<float>()[0], 1.25f);
}

TEST(Checkpoint, AMissingShardIsNamedWithATensorOfIt) {
  const auto opened = Checkpoint::open(kCases + "F08");
  EXPECT_THAT(message_of(opened), AllOf(HasSubstr("model-00002-of-00002.safetensors"), HasSubstr("lm_head.weight")));
}

TEST(Checkpoint, ShardNamesAreCheckedBeforeAnyFileIsOpened) {
  for (const std::string shard : {"/etc/passwd", "../x.safetensors", "a/b.safetensors", "x.bin", ""}) {
    const testing_support::ScratchDir dir;
    dir.write("model.safetensors.index.json", "{\"weight_map\":{\"t\":\"" + shard + "\"}}");
    EXPECT_THAT(message_of(Checkpoint::open(dir.path())), HasSubstr("/weight_map/t")) << shard;
  }
}

TEST(Checkpoint, SymlinksOutOfTheFolderAreRefused) {
  const testing_support::ScratchDir dir;
  fs::create_symlink(kModels + "tiny-dense/model.safetensors", dir / "model.safetensors");
  EXPECT_THAT(message_of(Checkpoint::open(dir.path())), HasSubstr("a symlink to"));
}

TEST(Checkpoint, EmbeddingsTiedInTheConfigNeedNoHead) {
  for (const bool tied : {true, false}) {
    const std::string dir = kCases + (tied ? "F12/tied_no_head" : "F12/untied_no_head");
    const auto spec = read_spec(dir);
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    const auto weights = Checkpoint::open(dir);
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    EXPECT_THAT(message_of(weights->check_against(*spec)), HasSubstr(tied ? "accepted" : "lm_head.weight"));
    if (tied) {
      EXPECT_THAT(weights->notes(*spec), testing::Contains(HasSubstr("the head is model.embed_tokens.weight")));
    }
  }
}

/// An embedding of 2 x 2 and the final norm, in F32; `extra` adds a header entry and its data.
std::string small(const std::vector<float>& embedding, const std::string& extra = {},
                  const std::vector<float>& more = {}) {
  std::string data;
  for (const std::vector<float>& part : {embedding, std::vector<float>{1, 1}, more})
    data.append(reinterpret_cast<const char*>(part.data()), part.size() * sizeof(float));
  return safetensors_file("{" + entry("model.embed_tokens.weight", "F32", "[2,2]", 0, 16) + "," +
                              entry("model.norm.weight", "F32", "[2]", 16, 24) + (extra.empty() ? "" : "," + extra) +
                              "}",
                          data);
}

TEST(Checkpoint, AStoredHeadOfATiedModelMustEqualTheEmbedding) {
  ModelSpec spec;
  spec.vocab = spec.hidden = 2;
  spec.tied_embeddings = true;
  spec.weight_dtype = DType::kF32;
  const std::string head = entry("lm_head.weight", "F32", "[2,2]", 24, 40);
  const testing_support::ScratchDir dir;
  dir.write("model.safetensors", small({1, 2, 3, 4}, head, {1, 2, 3, 4}));
  EXPECT_EQ(message_of(Checkpoint::open(dir.path())->check_against(spec)), "accepted");
  dir.write("model.safetensors", small({1, 2, 3, 4}, head, {1, 2, 3, 5}));
  EXPECT_THAT(message_of(Checkpoint::open(dir.path())->check_against(spec)), HasSubstr("lm_head.weight"));
}

TEST(Checkpoint, ElementTypesThatWidenWithoutLossAreTakenAndNoted) {
  ModelSpec spec;
  spec.vocab = spec.hidden = 2;
  spec.tied_embeddings = true;
  const testing_support::ScratchDir dir;
  dir.write("model.safetensors", small({1, 2, 3, 4}));
  for (const DType stated : {DType::kF32, DType::kBF16, DType::kF16}) {
    spec.weight_dtype = stated;
    const auto weights = Checkpoint::open(dir.path());
    EXPECT_EQ(message_of(weights->check_against(spec)), "accepted");
    const bool told = !weights->notes(spec).empty() && weights->notes(spec)[0].find("2 in F32") != std::string::npos;
    EXPECT_EQ(told, stated != DType::kF32);
  }
}

TEST(Checkpoint, OtherElementTypesAreRefused) {
  ModelSpec spec;
  spec.vocab = spec.hidden = 2;
  spec.tied_embeddings = true;
  for (const std::string dtype : {"F64", "I64", "U64"}) {
    const testing_support::ScratchDir dir;
    dir.write("model.safetensors", one(entry("model.embed_tokens.weight", dtype, "[2,2]", 0, 32) + "," +
                                           entry("model.norm.weight", "F32", "[2]", 32, 40),
                                       40));
    EXPECT_THAT(message_of(Checkpoint::open(dir.path())->check_against(spec)),
                AllOf(HasSubstr("model.embed_tokens.weight"), HasSubstr("dtype " + dtype)));
  }
}

TEST(Checkpoint, NanAndInfinityAreFoundWithTheirPlace) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    const testing_support::ScratchDir dir;
    dir.write("model.safetensors", small({1, 2, bad, 4}));
    EXPECT_THAT(message_of(Checkpoint::open(dir.path())->check_finite()),
                HasSubstr("'model.embed_tokens.weight' element [1, 0]"));
  }
}

}  // namespace
}  // namespace calkit::hf
