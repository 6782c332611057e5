#include "calkit/manifest/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_dir.h"

namespace calkit::manifest {
namespace {

using ::testing::HasSubstr;
using testing_support::ScratchDir;

constexpr std::string_view kGood =
    "schema: 1\narchitecture: qwen3\ncalbin_version: 1.2.0\nruntime_abi: 0.7.6\ncontext: 40960\nbatch: 1\nvocab: "
    "151936\n"
    "models:\n  prefill: demo-prefill\n  decode: demo-decode\n"
    "tensors:\n  token: inputs[0]\n  position: inputs[1]\n  logits: outputs[0]\n"
    "csr:\n  current: cur_seq_len[0]\n  past_current: past_kv_cur_seq_len[0]\n";

/// The good manifest with one piece of text put in place of another.
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result<ServiceManifest> read_text(std::string_view text) {
  const ScratchDir dir;
  return read_service(dir.write("m.yaml", text));
}
std::string refusal(std::string_view text) {
  const auto manifest = read_text(text);
  if (manifest.ok()) return "(accepted)";
  EXPECT_EQ(manifest.error().kind, ErrorKind::kInput);
  return manifest.error().message;
}

TEST(ServiceManifest, IsReadFieldByField) {
  const auto manifest = read_text(kGood);
  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->architecture, "qwen3");
  EXPECT_EQ(manifest->runtime_abi, "0.7.6");
  EXPECT_EQ(manifest->context, 40960);
  EXPECT_EQ(manifest->vocab, 151936);
  EXPECT_EQ(manifest->decode_model, "demo-decode");
  EXPECT_EQ(manifest->position.name, "inputs");
  EXPECT_EQ(manifest->position.index, 1u);
  EXPECT_EQ(manifest->csr_past_current.text, "past_kv_cur_seq_len[0]");
}

TEST(ServiceManifest, NamesHoldNoControlCharacters) {
  EXPECT_THAT(refusal(changed("architecture: qwen3", "architecture: \"qwen\\e[2J3\"")),
              HasSubstr("control characters"));
  EXPECT_THAT(refusal(changed("architecture: qwen3", "architecture: \"qwen\\0\"")), HasSubstr("/architecture"));
  EXPECT_THAT(refusal(changed("prefill: demo", "prefill: \"demo\\x7f\" #")), HasSubstr("/models/prefill"));
}

TEST(ServiceManifest, OfTheDemoModelIsGood) {
  const auto manifest = read_service(CALKIT_SOURCE_DIR "/manifests/tiny-dense.yaml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->prefill_model, "tiny-dense-prefill");
  EXPECT_EQ(manifest->context, 2048);
}

TEST(ServiceManifest, ComesBackFromItsOwnYaml) {
  auto manifest = read_text(kGood).value();
  manifest.architecture = "odd \"name\": #1";
  const auto again = read_text(to_yaml(manifest));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->architecture, manifest.architecture);
  EXPECT_EQ(to_yaml(*again), to_yaml(manifest));
}

TEST(ServiceManifest, NamesAMisspeltKeyAndTheNearestOne) {
  const auto manifest = read_text(changed("batch: 1", "batch: 1\ncontxt: 4096"));
  ASSERT_FALSE(manifest.ok());
  EXPECT_THAT(manifest.error().message, HasSubstr("m.yaml:7: /contxt: found an unknown field"));
  EXPECT_EQ(manifest.error().hint, "did you mean 'context'?");
  EXPECT_THAT(refusal(changed("  decode:", "  decoder: x\n  decode:")),
              HasSubstr("/models/decoder: found an unknown field"));
}

TEST(ServiceManifest, RefusesEveryMissingField) {
  for (const char* line : {"schema: 1\n", "architecture: qwen3\n", "context: 40960\n", "batch: 1\n", "vocab: 151936\n",
                           "  prefill: demo-prefill\n", "  logits: outputs[0]\n", "  current: cur_seq_len[0]\n"}) {
    EXPECT_THAT(refusal(changed(line, "")), HasSubstr("required field missing")) << line;
  }
}

TEST(ServiceManifest, RefusesAKeyThatIsGivenTwice) {
  EXPECT_THAT(refusal(std::string(kGood) + "context: 4096\n"),
              HasSubstr("key \"context\" given twice (lines 5 and 18)"));
  EXPECT_THAT(refusal(changed("demo-decode\n", "demo-decode\n  decode: demo-decode-old\n")),
              HasSubstr("\"decode\" given twice"));
  EXPECT_THAT(refusal(std::string(kGood) + "---\ncontext: 1\n"), HasSubstr("a second document"));
}

class ContextText : public ::testing::TestWithParam<const char*> {};
TEST_P(ContextText, IsNeverReadAsAnotherNumber) {
  EXPECT_THAT(refusal(changed("context: 40960", std::string("context: ") + GetParam())), HasSubstr("m.yaml:5"));
}
INSTANTIATE_TEST_SUITE_P(Refused, ContextText,
                         ::testing::Values("040960", "0010", "\"40960\"", "4.096e4", "0xA000", "40_960", "-1", "0",
                                           "4294967296", "2147483648", "40960.0", "true", "null", "[40960]", "+40960"));

TEST(ServiceManifest, WantsVersionsAsText) {
  const auto manifest = read_text(changed("calbin_version: 1.2.0", "calbin_version: 1.10"));
  ASSERT_FALSE(manifest.ok());
  EXPECT_THAT(manifest.error().message, HasSubstr("/calbin_version: found 1.1; allowed: a string"));
  EXPECT_EQ(manifest.error().hint, "put it in quotes");
  EXPECT_EQ(read_text(changed("calbin_version: 1.2.0", "calbin_version: \"1.10\""))->calbin_version, "1.10");
}

TEST(ServiceManifest, WantsSchemaOne) {
  for (const char* schema : {"schema: 2", "schema: \"1\"", "schema: 1.0", "schema: calkit.service/1"})
    EXPECT_THAT(refusal(changed("schema: 1", schema)), HasSubstr("/schema: found ")) << schema;
}

class BindingText : public ::testing::TestWithParam<const char*> {};
TEST_P(BindingText, ThatIsNoInputIsRefused) {
  EXPECT_THAT(refusal(changed("token: inputs[0]", std::string("token: \"") + GetParam() + "\"")),
              HasSubstr("allowed: inputs[INDEX], for example \"inputs[0]\""));
}
INSTANTIATE_TEST_SUITE_P(Refused, BindingText,
                         ::testing::Values("inputs", "inputs[]", "inputs[x]", "inputs[-1]", "inputs[00]", "inputs[0",
                                           "inputs0]", "inputs[0][1]", "[0]", "inputs [0]", "outputs[0]",
                                           "inputs[65536]", "inputs[0] ", ""));

TEST(ServiceManifest, RefusesOneInputOrRegisterForTwoThings) {
  EXPECT_THAT(refusal(changed("position: inputs[1]", "position: inputs[0]")), HasSubstr("two different inputs"));
  EXPECT_THAT(refusal(changed("past_kv_cur_seq_len[0]", "cur_seq_len[0]")), HasSubstr("two different registers"));
  EXPECT_THAT(refusal(changed("decode: demo-decode", "decode: demo-prefill")), HasSubstr("one name for both models"));
}

}  // namespace
}  // namespace calkit::manifest
