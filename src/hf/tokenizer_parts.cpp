#include "tokenizer_parts.h"

#include <fmt/format.h>

namespace calkit::hf {
namespace {

constexpr int kMaxNesting = 8;

Error unknown_type(const Cursor& at, const std::string& type, std::string_view allowed, std::string_view what) {
  return at.at("type").value().error(fmt::format("\"{}\"", type), allowed,
                                     fmt::format("calkit does not do this {}", what));
}

// Visits the leaves of nested {"type": "Sequence", key: [...]}.
template <class Leaf>
Status walk(const Cursor& at, std::string_view key, int depth, const Leaf& leaf) {
  CALKIT_TRY(const auto type, at.string("type"));
  if (type != "Sequence") return leaf(at, type);
  if (depth >= kMaxNesting) return at.error("Sequences inside Sequences", fmt::format("{} deep at most", kMaxNesting));
  CALKIT_TRY(const auto list, at.at(key));
  CALKIT_TRY(const auto items, list.items());
  for (const Cursor& item : items) CALKIT_CHECK_OK(walk(item, key, depth + 1, leaf));
  return {};
}

struct Template {
  bool seen = false;
  SpecialFrame frame;
};

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
  if (out.seen) return at.error("a second TemplateProcessing", "one");
  out.seen = true;
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

Result<bool> parse_normalizer(const Cursor& root) {
  const auto at = root.find("normalizer");
  if (!at) return false;
  bool nfc = false;
  CALKIT_CHECK_OK(walk(*at, "normalizers", 0, [&](const Cursor& leaf, const std::string& type) -> Status {
    if (type != "NFC") return unknown_type(leaf, type, "\"NFC\", alone or in a \"Sequence\", or null", "normalizer");
    nfc = true;
    return leaf.only({"type"});
  }));
  return nfc;
}

Result<SpecialFrame> parse_post_processor(const Cursor& root) {
  const auto at = root.find("post_processor");
  if (!at) return SpecialFrame{};
  Template found;
  CALKIT_CHECK_OK(walk(*at, "processors", 0, [&](const Cursor& leaf, const std::string& type) -> Status {
    if (type == "TemplateProcessing") return read_template(leaf, found);
    if (type == "ByteLevel") return {};  // it moves offsets, no ids
    return unknown_type(leaf, type, "\"TemplateProcessing\", \"ByteLevel\", a \"Sequence\" of them, or null",
                        "post-processor");
  }));
  return found.frame;
}

Result<bool> parse_decoder(const Cursor& root) {
  const auto at = root.find("decoder");
  if (!at) return false;
  int byte_levels = 0;
  CALKIT_CHECK_OK(walk(*at, "decoders", 0, [&](const Cursor& leaf, const std::string& type) -> Status {
    if (type == "Fuse") return {};  // a ByteLevel has joined all tokens already
    if (type != "ByteLevel")
      return unknown_type(leaf, type, "\"ByteLevel\", alone or in a \"Sequence\", or null", "decoder");
    if (++byte_levels > 1) return leaf.error("a second ByteLevel", "one");
    return {};
  }));
  if (byte_levels == 0)
    return at->error("a decoder without ByteLevel", "\"ByteLevel\", alone or in a \"Sequence\", or null");
  return true;
}

}  // namespace calkit::hf
