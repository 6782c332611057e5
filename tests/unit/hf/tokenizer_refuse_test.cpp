// One property of a good tokenizer.json is changed; the message must name it.
#include <gmock/gmock.h>

#include "tokenizer_support.h"

namespace calkit::hf {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Value with(const char* key, Value value) {
  Value out = base_tokenizer();
  out.set(key, std::move(value));
  return out;
}
Value with_model(const char* key, Value value) {
  Value out = base_tokenizer();
  out.find("model")->set(key, std::move(value));
  return out;
}
Value with_pattern(const std::string& pattern) {
  const Value split = Value::object({{"type", "Split"},
                                     {"pattern", Value::object({{"Regex", pattern}})},
                                     {"behavior", "Isolated"},
                                     {"invert", false}});
  const Value bytes =
      Value::object({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  return with("pre_tokenizer", Value::object({{"type", "Sequence"}, {"pretokenizers", Value::array({split, bytes})}}));
}
Value added(std::int64_t id, const char* content) {
  return Value::array({Value::object({{"id", id},
                                      {"content", content},
                                      {"single_word", false},
                                      {"lstrip", false},
                                      {"rstrip", false},
                                      {"normalized", false},
                                      {"special", true}})});
}
std::int64_t vocabulary_size() {
  return static_cast<std::int64_t>(base_tokenizer().find("model")->find("vocab")->if_object()->size());
}

TEST(TokenizerRefuse, TheBaseIsAccepted) {
  EXPECT_EQ(verdict_on(base_tokenizer()), "accepted");
}

TEST(TokenizerRefuse, OtherModelsAndFlagsByName) {
  EXPECT_THAT(verdict_on(with_model("type", "WordPiece")),
              AllOf(HasSubstr("/model/type"), HasSubstr("WordPiece"), HasSubstr("\"BPE\" or \"Unigram\"")));
  EXPECT_THAT(verdict_on(with_model("type", "WordLevel")), AllOf(HasSubstr("/model/type"), HasSubstr("WordLevel")));
  EXPECT_THAT(verdict_on(with_model("type", "Bigram")), HasSubstr("/model/type"));
  EXPECT_EQ(verdict_on(with_model("byte_fallback", true)), "accepted");
  EXPECT_THAT(verdict_on(with_model("dropout", 0.1)), HasSubstr("/model/dropout"));
  EXPECT_THAT(verdict_on(with_model("continuing_subword_prefix", "##")), HasSubstr("/model/continuing_subword_prefix"));
  EXPECT_THAT(verdict_on(with_model("end_of_word_suffix", "</w>")), HasSubstr("/model/end_of_word_suffix"));
  EXPECT_EQ(verdict_on(with_model("continuing_subword_prefix", "")), "accepted");
  EXPECT_EQ(verdict_on(with_model("unk_token", "a")), "accepted") << "nothing is unknown when every byte has a token";
}

TEST(TokenizerRefuse, OtherStepsByName) {
  EXPECT_THAT(verdict_on(with("normalizer", Value::object({{"type", "Precompiled"}}))),
              AllOf(HasSubstr("/normalizer"), HasSubstr("Precompiled")));
  EXPECT_THAT(verdict_on(with("normalizer", Value::object({{"type", "BertNormalizer"}}))), HasSubstr("BertNormalizer"));
  EXPECT_THAT(verdict_on(with("pre_tokenizer", Value::object({{"type", "UnicodeScripts"}}))),
              AllOf(HasSubstr("/pre_tokenizer"), HasSubstr("UnicodeScripts")));
  EXPECT_THAT(verdict_on(with("pre_tokenizer", Value::object({{"type", "Metaspace"}, {"replacement", "ab"}}))),
              AllOf(HasSubstr("/pre_tokenizer/replacement"), HasSubstr("one character")));
  EXPECT_THAT(verdict_on(with("post_processor", Value::object({{"type", "Other"}}))), HasSubstr("/post_processor"));
  EXPECT_THAT(verdict_on(with("decoder", Value::object({{"type", "WordPiece"}}))), HasSubstr("/decoder"));
  EXPECT_THAT(verdict_on(with("truncation", Value::object({{"max_length", 512}}))), HasSubstr("/truncation"));
  EXPECT_THAT(verdict_on(with("padding", Value::object({{"pad_id", 0}}))), HasSubstr("/padding"));
  EXPECT_THAT(verdict_on(with("version", "2.0")), HasSubstr("/version"));
  EXPECT_THAT(verdict_on(with("extra", 1)), HasSubstr("extra"));
}

TEST(TokenizerRefuse, OptionsThatFitNothing) {
  const auto replace = [](const char* pattern, const std::string& content) {
    return Value::object(
        {{"type", "Replace"}, {"pattern", Value::object({{"String", pattern}})}, {"content", content}});
  };
  EXPECT_THAT(verdict_on(with("normalizer", replace("a", std::string(17, 'b')))), HasSubstr("17 times"));
  EXPECT_THAT(verdict_on(with("decoder", replace("a", std::string(17, 'b')))), HasSubstr("17 times"));
  EXPECT_THAT(verdict_on(with("normalizer", replace("", "x"))), HasSubstr("/normalizer/pattern"));
  EXPECT_THAT(verdict_on(with("pre_tokenizer", Value::object({{"type", "Metaspace"},
                                                              {"replacement", "_"},
                                                              {"prepend_scheme", "always"},
                                                              {"add_prefix_space", false}}))),
              HasSubstr("/pre_tokenizer/add_prefix_space"));
  EXPECT_THAT(
      verdict_on(with("decoder", Value::object({{"type", "Strip"}, {"content", " "}, {"start", -1}, {"stop", 0}}))),
      HasSubstr("/decoder/start"));
}

TEST(TokenizerRefuse, UnigramsByTheirFields) {
  const auto model = [](Value vocab, Value unk) {
    return with("model", Value::object({{"type", "Unigram"}, {"unk_id", std::move(unk)}, {"vocab", std::move(vocab)}}));
  };
  const auto entry = [](const char* token, double score) { return Value::array({token, score}); };
  const Value good = Value::array({entry("a", -1.0), entry("b", -2.0)});
  EXPECT_EQ(verdict_on(model(good, nullptr)), "accepted");
  EXPECT_THAT(verdict_on(model(good, 2)), HasSubstr("/model/unk_id"));
  const auto twice = parse_value(model(Value::array({entry("a", -1.0), entry("b", -2.0), entry("a", -3.0)}), nullptr));
  ASSERT_TRUE(twice.ok()) << twice.error().message;
  EXPECT_EQ(encode(*twice, "ab"), (std::vector<TokenId>{2, 1})) << "the last one counts, as in the peer";
  EXPECT_EQ(twice->decode(std::vector<TokenId>{0, 1}, false).unknown_ids, 0u);
  EXPECT_THAT(verdict_on(model(Value::array({Value::array({"a"})}), nullptr)), HasSubstr("/model/vocab/0"));
  const auto text = parse_value(model(good, nullptr))->encode("ab\u4e2d", false);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().message, HasSubstr("unk_id is null"));
}

TEST(TokenizerRefuse, DuplicateAndAbsurdIds) {
  Value twice = base_tokenizer();
  twice.find("model")->find("vocab")->set("zz", 7);
  EXPECT_THAT(verdict_on(twice), AllOf(HasSubstr("/model/vocab/"), HasSubstr("id 7, which")));
  Value huge = base_tokenizer();
  huge.find("model")->find("vocab")->set("zz", 4000000000LL);
  EXPECT_THAT(verdict_on(huge), HasSubstr("/model/vocab/zz"));
  Value negative = base_tokenizer();
  negative.find("model")->find("vocab")->set("zz", -1);
  EXPECT_THAT(verdict_on(negative), HasSubstr("/model/vocab/zz"));
}

TEST(TokenizerRefuse, MergesOutsideTheVocabularyNameTheRule) {
  EXPECT_THAT(verdict_on(with_model("merges", Value::array({Value::array({"l", "o"}), Value::array({"qq", "a"})}))),
              AllOf(HasSubstr("/model/merges/1"), HasSubstr("rule 2 \"qq\" + \"a\"")));
  EXPECT_THAT(verdict_on(with_model("merges", Value::array({Value::array({"q", "a"})}))),
              HasSubstr("no vocabulary entry \"qa\""));
  EXPECT_THAT(verdict_on(with_model("merges", Value::array({Value::array({"l", "o"}), "l o"}))),
              HasSubstr("/model/merges/1"));
  EXPECT_THAT(verdict_on(with_model("merges", Value::array({"l o", Value::array({"l", "o"})}))),
              HasSubstr("/model/merges/1"));
  EXPECT_THAT(verdict_on(with_model("merges", Value::array({"lo"}))), HasSubstr("rule 1 \"lo\""));
}

TEST(TokenizerRefuse, AddedTokensThatThePeerWouldNumberOtherwise) {
  EXPECT_EQ(verdict_on(with("added_tokens", added(vocabulary_size(), "<x>"))), "accepted");
  EXPECT_THAT(verdict_on(with("added_tokens", added(vocabulary_size() + 1, "<x>"))), HasSubstr("/added_tokens/0"));
  EXPECT_THAT(verdict_on(with("added_tokens", added(3, "low"))), HasSubstr("for \"low\""));
  EXPECT_THAT(verdict_on(with("added_tokens", added(vocabulary_size(), ""))), HasSubstr("content"));
}

TEST(TokenizerRefuse, PatternsThatTheEnginesReadDifferently) {
  for (const char* pattern : {"^a",           "a$",         "\\bx",        "(?i:stra\u00dfe)",
                              "(?i:ss)",      "a{2}?+",     "a{1,2}+",     "[a&&b]",
                              "[a[b]]",       "\\p{Greek}", "\\xe9",       "(?<n>a)",
                              "(?m)a",        "a**",        "{",           "a{,3}",
                              "(?i:\\p{Lu})", "\\1",        "[[:alpha:]]", "\\p{C}"})
    EXPECT_THAT(verdict_on(with_pattern(pattern)), HasSubstr("/pattern/Regex")) << pattern;
}

TEST(TokenizerRefuse, PatternsThatAreNone) {
  for (const char* pattern : {"(", ")", "[a", "[]", "\\", "[b-a]", "*", "(?", "a{3,1}", "a{99999}", "\\p{Lu", "\\u12"})
    EXPECT_THAT(verdict_on(with_pattern(pattern)), HasSubstr("/pattern/Regex")) << pattern;
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "(?:";
  EXPECT_THAT(verdict_on(with_pattern(deep)), HasSubstr("deeper"));
}

TEST(TokenizerRefuse, TextThatIsNoUtf8) {
  const auto tokenizer = parse_value(base_tokenizer());
  ASSERT_TRUE(tokenizer.ok());
  const auto refused = tokenizer->encode("ab\xff", false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kInput);
  EXPECT_THAT(refused.error().message, HasSubstr("byte 2"));
}

TEST(TokenizerRefuse, MissingBytesAreToldAndVanishAsInThePeer) {
  Value changed = base_tokenizer();
  auto& vocabulary = *changed.find("model")->find("vocab")->if_object();
  std::erase_if(vocabulary, [](const Value::Member& member) { return member.first == "q"; });
  vocabulary.emplace_back("qqq", 113);  // the id that became free
  const auto tokenizer = parse_value(changed);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->missing_bytes(), (std::vector<std::uint8_t>{'q'}));
  EXPECT_EQ(encode(*tokenizer, "aqb"), encode(*tokenizer, "ab"));
  changed.find("model")->set("unk_token", "a");
  const auto with_unknown = parse_value(changed);
  ASSERT_TRUE(with_unknown.ok()) << with_unknown.error().message;
  EXPECT_TRUE(with_unknown->missing_bytes().empty());
  EXPECT_EQ(encode(*with_unknown, "xqy"), encode(*with_unknown, "xay"));
  changed.find("model")->set("unk_token", "no such token");
  const auto without = parse_value(changed)->encode("xqy", false);
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("no such token"));
}

}  // namespace
}  // namespace calkit::hf
