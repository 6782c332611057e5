// Faults that other tools were reported for; inputs and right answers in tests/data/cases.
#include <gmock/gmock.h>

#include "tokenizer_support.h"

namespace calkit::hf {
namespace {

using testing::HasSubstr;

TEST(TokenizerField, F01TheFrameAddsOneBosAndARenderedPromptGetsNone) {
  const Tokenizer ours = load_or_die("cases/F01/tokenizer.json");
  const Value expected = *read_or_die("cases/F01/expected.json").find("token_ids");
  EXPECT_EQ(encode(ours, "hello there", true), ids_of(*expected.find("raw")));
  EXPECT_EQ(encode(ours, "", true), ids_of(*expected.find("empty")));
  const auto chat = ids_of(*expected.find("chat"));
  EXPECT_EQ(encode(ours, ours.decode(chat, false).text, false), chat);
  const auto frame = ours.special_frame();
  EXPECT_EQ(frame.first, (std::vector<TokenId>{276}));
  EXPECT_TRUE(frame.second.empty());
}

TEST(TokenizerField, F02WholeWordsComeFirstOnlyWhenTheFileSaysSo) {
  const Value expected = read_or_die("cases/F02/expected.json");
  const std::string text = text_of(expected, "text");
  EXPECT_EQ(encode(load_or_die("cases/F02/tokenizer_ignore_merges.json"), text),
            ids_of(*expected.find("ignore_merges_true")));
  EXPECT_EQ(encode(load_or_die("cases/F02/tokenizer_plain.json"), text), ids_of(*expected.find("ignore_merges_false")));
}

TEST(TokenizerField, F02AnUnknownModelFlagIsRefusedByName) {
  Value changed = read_or_die("cases/F02/tokenizer_plain.json");
  changed.find("model")->set("ignore_merge", true);
  EXPECT_THAT(verdict_on(changed), testing::AllOf(HasSubstr("/model"), HasSubstr("ignore_merge")));
}

TEST(TokenizerField, F03OnlyTheAsciiSpaceSeparatesTheHalvesOfARule) {
  // The byte-level twin of the case: the symbols of U+00A0 hold no space, a rule with another white space in a half
  // does.
  Value changed = base_tokenizer();
  changed.find("model")->find("vocab")->set("\u00a0", 9000);
  changed.find("model")->find("vocab")->set("\u00a0\u00a0", 9001);
  changed.find("model")->set("merges", Value::array({"\u00a0 \u00a0"}));
  EXPECT_EQ(verdict_on(changed), "accepted");
  const Tokenizer ours = load_or_die("cases/F03/tokenizer.json");
  const Value expected = read_or_die("cases/F03/expected.json");
  for (const Value& line : *expected.if_array())
    EXPECT_EQ(encode(ours, text_of(line, "text")), ids_of(*line.find("ids")));
}

TEST(TokenizerField, F04BothFormsOfTheMergesGiveTheSameIds) {
  const Value expected = *read_or_die("cases/F04/expected.json").find("both_forms_same");
  const std::string text = text_of(expected, "text");
  EXPECT_EQ(encode(load_or_die("cases/F04/tokenizer_pair_form.json"), text), ids_of(*expected.find("ids")));
  EXPECT_EQ(encode(load_or_die("cases/F04/tokenizer_text_form.json"), text), ids_of(*expected.find("ids")));
}

TEST(TokenizerField, F04PairsMayHoldSpaces) {
  const Tokenizer ours = load_or_die("cases/F04/tokenizer_pairs.json");
  const Value expected = read_or_die("cases/F04/expected.json");
  for (const Value& line : *expected.find("pairs")->if_array())
    EXPECT_EQ(encode(ours, text_of(line, "text")), ids_of(*line.find("ids")));
}

TEST(TokenizerField, F04AnAmbiguousRuleIsRefusedAndNamed) {
  const auto refused = Tokenizer::load(data_path("cases/F04/tokenizer_ambiguous_text.json"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("/model/merges/0"), HasSubstr("rule 1 \"   \"")));
}

TEST(TokenizerField, F16TextIsTakenAsItIsAndNeverUnescaped) {
  const Tokenizer ours = load_or_die("cases/F16/tokenizer.json");
  const Value expected = read_or_die("cases/F16/expected.json");
  for (const Value& prompt : read_lines_or_die("cases/F16/prompts.jsonl"))
    EXPECT_EQ(encode(ours, text_of(prompt, "text"), true), ids_of(*expected.find(text_of(prompt, "id"))));
}

TEST(TokenizerField, R04AnIdWithoutAnEntryDecodesToNothingAndIsCounted) {
  const Tokenizer ours = load_or_die("cases/R04/tokenizer.json");
  const Value expected = read_or_die("cases/R04/expected.json");
  const auto decoded = ours.decode(ids_of(*expected.find("greedy")), true);
  EXPECT_EQ(decoded.text, text_of(expected, "text"));
  EXPECT_EQ(decoded.unknown_ids, 1u);
  EXPECT_EQ(ours.size(), static_cast<std::size_t>(*expected.find("tokenizer_size")->if_int()));
}

TEST(TokenizerField, S01CharactersOfManyTokensDecodeWhole) {
  const Tokenizer ours = load_or_die("cases/S01/tokenizer.json");
  const Value expected = read_or_die("cases/S01/expected.json");
  EXPECT_EQ(ours.decode(ids_of(*expected.find("ids")), true).text, text_of(expected, "text"));
  const std::string cut = ours.decode(ids_of(*expected.find("cut")->find("ids")), true).text;
  EXPECT_EQ(cut, text_of(*expected.find("cut"), "valid_text_prefix") + "\ufffd");
}

TEST(TokenizerField, B04IdsThatDoNotSurviveTheRoundTripAreSeen) {
  const Tokenizer ours = load_or_die("cases/B04/tokenizer.json");
  const Value expected = *read_or_die("cases/B04/expected.json").find("decode_encode_changes_length");
  const std::string text = ours.decode(ids_of(*expected.find("ids")), false).text;
  EXPECT_EQ(text, text_of(expected, "text"));
  EXPECT_EQ(encode(ours, text), ids_of(*expected.find("again")));
}

TEST(TokenizerField, S07SpacesBetweenTokensSurviveAStream) {
  const Tokenizer ours = load_or_die("cases/S07/tokenizer.json");
  const Value expected = read_or_die("cases/S07/expected.json");
  const auto ids = ids_of(*expected.find("ids"));
  EXPECT_EQ(ours.decode(ids, true).text, text_of(expected, "text"));
  StreamingDecoder stream(ours, true);
  const auto& deltas = *expected.find("deltas")->if_array();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string* delta = deltas[i].if_string();
    EXPECT_EQ(stream.feed(ids[i]), delta == nullptr ? "" : *delta) << i;
  }
  EXPECT_EQ(stream.flush(), "");
}

}  // namespace
}  // namespace calkit::hf
