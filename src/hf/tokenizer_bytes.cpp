#include "tokenizer_bytes.h"

#include <array>

#include "unicode_table.h"

namespace calkit::hf {
namespace {

// Printable bytes of Latin-1 stand for themselves, the rest count up from U+0100.
constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

constexpr unsigned kSymbolEnd = 0x144;

struct Alphabet {
  std::array<std::string, 256> symbol;
  std::array<int, kSymbolEnd> byte{};
  Alphabet() {
    byte.fill(-1);
    unsigned next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const unsigned c = stands_for_itself(b) ? b : next++;
      append_utf8(symbol[b], c);
      byte[c] = static_cast<int>(b);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet made;
  return made;
}

// The length of the well-formed sequence at the start, or minus the length of the ill-formed part to replace.
int sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  unsigned low = 0x80, high = 0xbf;
  int length = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return -1;
  }
  for (int i = 1; i < length; ++i) {
    const unsigned next = byte(static_cast<std::size_t>(i));
    if (next < low || next > high) return -i;
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

}  // namespace

const std::string& byte_symbol(std::uint8_t byte) {
  return alphabet().symbol[byte];
}

std::string to_symbols(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) out += byte_symbol(static_cast<std::uint8_t>(c));
  return out;
}

std::optional<std::string> from_symbols(std::string_view token) {
  std::string out;
  for (std::size_t at = 0; at < token.size();) {
    const auto c = code_point_at(token, at);
    if (c.value >= kSymbolEnd || alphabet().byte[c.value] < 0) return std::nullopt;
    out.push_back(static_cast<char>(alphabet().byte[c.value]));
    at += c.bytes;
  }
  return out;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const int length = sequence_length(bytes);
    const auto count = static_cast<std::size_t>(length > 0 ? length : -length);
    if (length > 0)
      out += bytes.substr(0, count);
    else
      out += "\xef\xbf\xbd";
    bytes.remove_prefix(count);
  }
  return out;
}

std::size_t unfinished_tail(std::string_view bytes) {
  for (std::size_t length = 1; length <= 3 && length <= bytes.size(); ++length) {
    const std::string_view tail = bytes.substr(bytes.size() - length);
    const auto lead = static_cast<unsigned char>(tail[0]);
    if ((lead & 0xc0) == 0x80) continue;
    const bool begins = lead >= 0xc2 && lead <= 0xf4;
    return begins && sequence_length(tail) == -static_cast<int>(length) ? length : 0;
  }
  return 0;
}

}  // namespace calkit::hf
