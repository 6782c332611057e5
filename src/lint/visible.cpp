/// Text from a package, made fit to be looked at.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calkit/base/text.h"
#include "report_parts.h"

namespace calkit::lint {

namespace {

struct CodePoints {
  char32_t first, last;
};
/// What has no picture of its own: controls, invisible characters, and those that turn the direction of a line.
constexpr std::array<CodePoints, 17> kUnseen{{{0x00, 0x1f},
                                              {0x7f, 0x9f},
                                              {0xad, 0xad},
                                              {0x61c, 0x61c},
                                              {0x115f, 0x1160},
                                              {0x17b4, 0x17b5},
                                              {0x180b, 0x180f},
                                              {0x200b, 0x200f},
                                              {0x2028, 0x202e},
                                              {0x2060, 0x206f},
                                              {0x3164, 0x3164},
                                              {0xfdd0, 0xfdef},
                                              {0xfe00, 0xfe0f},
                                              {0xfeff, 0xfeff},
                                              {0xffa0, 0xffa0},
                                              {0xfff0, 0xfffb},
                                              {0xe0000, 0xe0fff}}};

bool is_seen(char32_t code) {
  if ((code & 0xfffe) == 0xfffe) return false;  // no character in any plane
  return std::none_of(kUnseen.begin(), kUnseen.end(),
                      [code](const CodePoints& range) { return range.first <= code && code <= range.last; });
}

/// Of valid UTF-8.
std::size_t length_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

char32_t code_of(std::string_view character) {
  constexpr std::array<unsigned char, 5> kLeadBits{0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code = static_cast<unsigned char>(character[0]) & kLeadBits[character.size()];
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

void add_valid(std::string& out, std::string_view text, bool keep_lines) {
  while (!text.empty()) {
    const std::string_view character = text.substr(0, length_at(text));
    const char32_t code = code_of(character);
    if (is_seen(code) || (keep_lines && code == U'\n'))
      out += character;
    else if (code < 0x80)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
    else
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(code));
    text.remove_prefix(character.size());
  }
}

}  // namespace

std::string visible(std::string_view text, bool keep_lines) {
  std::string out;
  while (true) {
    const std::size_t bad = invalid_utf8_at(text);
    add_valid(out, text.substr(0, bad), keep_lines);
    if (bad == std::string_view::npos) return out;
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[bad]));
    text.remove_prefix(bad + 1);
  }
}

}  // namespace calkit::lint
