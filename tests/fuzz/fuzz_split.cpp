// Split patterns and texts from outside. The first byte says what the rest is:
//   't' TEXT                with a fixed tokenizer: every valid text decodes back to itself
//   else PATTERN NUL TEXT   as the pattern of a Split, with a few bytes of text
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace {

using calkit::Value;

constexpr std::size_t kShortText = 128;  // a hostile pattern may take its time on every byte

std::string symbol(unsigned byte, unsigned& next) {
  const bool itself = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  const unsigned c = itself ? byte : 0x100 + next++;
  if (c < 0x80) return std::string(1, static_cast<char>(c));
  return {static_cast<char>(0xc0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3f))};
}

Value tokenizer_with(std::string_view pattern) {
  Value vocabulary(Value::Object{});
  unsigned next = 0;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocabulary.if_object()->emplace_back(symbol(byte, next), static_cast<int>(byte));
  vocabulary.if_object()->emplace_back("ab", 256);
  vocabulary.if_object()->emplace_back("abc", 257);
  const Value merges = Value::array({Value::array({"a", "b"}), Value::array({"ab", "c"})});
  const Value split = Value::object({{"type", "Split"},
                                     {"pattern", Value::object({{"Regex", pattern}})},
                                     {"behavior", "Isolated"},
                                     {"invert", false}});
  const Value bytes =
      Value::object({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  return Value::object(
      {{"pre_tokenizer", Value::object({{"type", "Sequence"}, {"pretokenizers", Value::array({split, bytes})}})},
       {"decoder", Value::object({{"type", "ByteLevel"}})},
       {"model", Value::object({{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}})}});
}

void round_trip(const calkit::hf::Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, true);
  if (!ids.ok()) return;
  const auto decoded = tokenizer.decode(*ids, false);
  if (decoded.text != text || decoded.unknown_ids != 0) std::abort();
  static_cast<void>(tokenizer.decode(*ids, true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('t')) {
    static const auto fixed = calkit::hf::Tokenizer::parse(
        calkit::to_json(tokenizer_with("(?i:'s|'t)|\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+")),
        "fixed.json");
    if (!fixed.ok()) std::abort();
    round_trip(*fixed, input.substr(1));
    return 0;
  }
  if (input.empty()) return 0;
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(end + 1, input.size())).substr(0, kShortText);
  const auto tokenizer =
      calkit::hf::Tokenizer::parse(calkit::to_json(tokenizer_with(input.substr(1, end - 1))), "pattern.json");
  // Isolated keeps every byte, so whatever the pattern is, the text comes back.
  if (tokenizer.ok()) round_trip(*tokenizer, text);
  return 0;
}
