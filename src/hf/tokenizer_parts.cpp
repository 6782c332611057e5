#include "tokenizer_parts.h"

#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"

namespace calkit::hf {
namespace {

constexpr int kMaxNesting = 8;

Error unknown_type(const Cursor& at, const std::string& type, std::string_view allowed, std::string_view what) {
  return at.at("type").value().error(fmt::format("\"{}\"", type), allowed,
                                     fmt::format("calkit does not do this {}", what));
}

// Visits the leaves of nested {"type": "Sequence", key: [...]}.
template <class Leaf>
Status walk(const Cursor& at, const char* key, int depth, const Leaf& leaf) {
  CALKIT_TRY(const auto type, at.string("type"));
  if (type != "Sequence") return leaf(at, type);
  CALKIT_TRY(const auto items, read_sequence(at, key, depth));
  for (const Cursor& item : items) CALKIT_CHECK_OK(walk(item, key, depth + 1, leaf));
  return {};
}

struct Template {
  bool seen = false;
  SpecialFrame frame;
};

Status only_one(const Cursor& at, Template& out) {
  if (out.seen) return at.error("a second post-processor that adds tokens", "one");
  out.seen = true;
  return {};
}

// ["token", id], as BertProcessing and RobertaProcessing name theirs.
Result<TokenId> named_id(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const auto field, at.at(key));
  CALKIT_TRY(const auto items, field.items());
  if (items.size() != 2) return field.error(field.value().describe(), "[\"token\", id]");
  CALKIT_TRY(const auto id, items[1].as_int(0, INT32_MAX));
  return static_cast<TokenId>(id);
}

// [CLS] text [SEP].
Status read_cls_sep(const Cursor& at, Template& out) {
  CALKIT_CHECK_OK(only_one(at, out));
  CALKIT_CHECK_OK(at.only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"}));
  CALKIT_TRY(const TokenId cls, named_id(at, "cls"));
  CALKIT_TRY(const TokenId sep, named_id(at, "sep"));
  out.frame = {{cls}, {sep}};
  return {};
}

Status add_special(const Cursor& tokens, const Cursor& piece, std::vector<TokenId>& out) {
  CALKIT_TRY(const auto name, piece.string("id"));
  CALKIT_TRY(const auto token, tokens.at(name));
  CALKIT_TRY(const auto list, token.at("ids"));
  CALKIT_TRY(const auto items, list.items());
  for (const Cursor& item : items) {
    CALKIT_TRY(const auto id, item.as_int(0, INT32_MAX));
    out.push_back(static_cast<TokenId>(id));
  }
  return {};
}

Status read_template(const Cursor& at, Template& out) {
  CALKIT_CHECK_OK(only_one(at, out));
  CALKIT_CHECK_OK(at.only({"type", "single", "pair", "special_tokens"}));
  CALKIT_TRY(const auto single, at.at("single"));
  CALKIT_TRY(const auto tokens, at.at("special_tokens"));
  CALKIT_TRY(const auto pieces, single.items());
  bool text_seen = false;
  for (const Cursor& piece : pieces) {
    CALKIT_CHECK_OK(piece.only({"Sequence", "SpecialToken"}));
    if (const auto special = piece.find("SpecialToken")) {
      CALKIT_CHECK_OK(add_special(tokens, *special, text_seen ? out.frame.second : out.frame.first));
      continue;
    }
    CALKIT_TRY(const auto sequence, piece.at("Sequence"));
    CALKIT_TRY(const auto id, sequence.string("id"));
    if (id != "A" || text_seen) return sequence.error(fmt::format("sequence \"{}\"", id), "the text \"A\", once");
    text_seen = true;
  }
  if (!text_seen) return single.error("a template without the text", "the sequence \"A\" once");
  return {};
}

}  // namespace

Result<SpecialFrame> parse_post_processor(const Cursor& root) {
  const auto at = root.find("post_processor");
  if (!at) return SpecialFrame{};
  Template found;
  CALKIT_CHECK_OK(walk(*at, "processors", 0, [&](const Cursor& leaf, const std::string& type) -> Status {
    if (type == "TemplateProcessing") return read_template(leaf, found);
    if (type == "BertProcessing" || type == "RobertaProcessing") return read_cls_sep(leaf, found);
    if (type == "ByteLevel") return {};  // it moves offsets, no ids
    return unknown_type(leaf, type,
                        "TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing, a Sequence of them, or null",
                        "post-processor");
  }));
  return found.frame;
}

Result<std::vector<Cursor>> read_sequence(const Cursor& at, const char* key, int depth) {
  if (depth >= kMaxNesting) return at.error("Sequences inside Sequences", fmt::format("{} deep at most", kMaxNesting));
  CALKIT_CHECK_OK(at.only({"type", key}));
  CALKIT_TRY(const auto list, at.at(key));
  return list.items();
}

Result<char32_t> read_character(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const auto text, at.string(key));
  if (text.empty() || code_point_at(text, 0).bytes != text.size())
    return at.at(key).value().error(fmt::format("\"{}\"", printable(text)), "one character");
  return code_point_at(text, 0).value;
}

Result<MetaspaceOptions> read_metaspace(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"}));
  MetaspaceOptions out;
  CALKIT_TRY(out.replacement, read_character(at, "replacement"));
  if (const auto scheme = at.find("prepend_scheme")) {
    CALKIT_TRY(const auto word, scheme->as_word({"always", "first", "never"}));
    out.scheme = word == "always"  ? PrependScheme::kAlways
                 : word == "first" ? PrependScheme::kFirst
                                   : PrependScheme::kNever;
  }
  if (const auto prefix = at.find("add_prefix_space")) {
    CALKIT_TRY(const bool wanted, prefix->as_bool());
    if (!wanted && out.scheme != PrependScheme::kNever)
      return prefix->error("false", "prepend_scheme \"never\" beside it", "the peer refuses the two together as well");
  }
  if (const auto split = at.find("split")) {
    CALKIT_TRY(out.split, split->as_bool());
  }
  return out;
}

}  // namespace calkit::hf
