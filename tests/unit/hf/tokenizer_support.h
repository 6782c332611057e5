#pragma once
// Helpers of the tokenizer tests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::hf {

inline std::string data_path(const std::string& relative) {
  return std::string(CALKIT_TEST_DATA) + "/" + relative;
}

inline Value read_or_die(const std::string& relative) {
  auto value = read_json(data_path(relative));
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().message);
  return value.ok() ? *value : Value();
}

inline std::vector<Value> read_lines_or_die(const std::string& relative) {
  auto lines = read_json_lines(data_path(relative));
  EXPECT_TRUE(lines.ok()) << (lines.ok() ? "" : lines.error().message);
  return lines.ok() ? *lines : std::vector<Value>();
}

inline Tokenizer load_or_die(const std::string& relative) {
  auto tokenizer = Tokenizer::load(data_path(relative));
  if (!tokenizer.ok()) ADD_FAILURE() << tokenizer.error().message;
  return std::move(tokenizer).value();
}

inline std::vector<TokenId> ids_of(const Value& array) {
  std::vector<TokenId> out;
  for (const Value& id : *array.if_array()) out.push_back(static_cast<TokenId>(*id.if_int()));
  return out;
}

inline std::string text_of(const Value& object, const char* key) {
  return *object.find(key)->if_string();
}

inline std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text, bool special = false) {
  auto ids = tokenizer.encode(text, special);
  EXPECT_TRUE(ids.ok()) << (ids.ok() ? "" : ids.error().message);
  return ids.ok() ? *ids : std::vector<TokenId>{-1};
}

/// The small tokenizer of the test data, some members replaced.
inline Value base_tokenizer() {
  return read_or_die("tokenizers/base.json");
}
inline Result<Tokenizer> parse_value(const Value& value) {
  return Tokenizer::parse(to_json(value), "tokenizer.json");
}
/// What parsing says: "accepted" or the message.
inline std::string verdict_on(const Value& value) {
  const auto tokenizer = parse_value(value);
  return tokenizer.ok() ? "accepted" : tokenizer.error().message;
}

}  // namespace calkit::hf
