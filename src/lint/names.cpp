#include "names.h"

#include <algorithm>
#include <iterator>

#include "calkit/base/unicode.h"

namespace calkit::lint {

namespace {

struct Look {
  char32_t from;
  char to;
};
/// Sorted by `from`: what fonts draw (nearly) alike. Cyrillic and Greek letters, dashes, digits.
constexpr Look kLooks[] = {
    {U'.', '-'},   {U'0', 'o'},   {U'1', 'l'},   {U'I', 'l'},   {U'O', 'o'},   {U'_', '-'},   {U'|', 'l'},
    {0x00a0, '-'}, {0x0131, 'i'}, {0x03bf, 'o'}, {0x0391, 'a'}, {0x0392, 'b'}, {0x0395, 'e'}, {0x0397, 'h'},
    {0x0399, 'l'}, {0x039a, 'k'}, {0x039c, 'm'}, {0x039d, 'n'}, {0x039f, 'o'}, {0x03a1, 'p'}, {0x03a4, 't'},
    {0x03a7, 'x'}, {0x03b1, 'a'}, {0x03bd, 'v'}, {0x03c1, 'p'}, {0x0410, 'a'}, {0x0412, 'b'}, {0x0415, 'e'},
    {0x041a, 'k'}, {0x041c, 'm'}, {0x041d, 'h'}, {0x041e, 'o'}, {0x0420, 'p'}, {0x0421, 'c'}, {0x0422, 't'},
    {0x0425, 'x'}, {0x0430, 'a'}, {0x0435, 'e'}, {0x043e, 'o'}, {0x0440, 'p'}, {0x0441, 'c'}, {0x0443, 'y'},
    {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'}, {0x04bb, 'h'}, {0x0501, 'd'}, {0x2010, '-'},
    {0x2011, '-'}, {0x2012, '-'}, {0x2013, '-'}, {0x2014, '-'}, {0x2212, '-'}, {0x212a, 'k'},
};

bool invisible(char32_t c) {
  return c == 0x00ad || c == 0xfeff || (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x2064);
}

char32_t looks_like(char32_t c) {
  if (c >= 0xff01 && c <= 0xff5e) c -= 0xfee0;  // full-width forms of ASCII
  const auto* at = std::find_if(std::begin(kLooks), std::end(kLooks), [c](const Look& look) { return look.from == c; });
  if (at != std::end(kLooks)) return static_cast<char32_t>(at->to);
  return c >= U'A' && c <= U'Z' ? c + (U'a' - U'A') : c;
}

bool alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    out.push_back(point.value);
    at += point.bytes;
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return out;
}

std::u32string skeleton(std::string_view name) {
  std::u32string out;
  for (const char32_t c : code_points(name))
    if (!invisible(c)) out += looks_like(c);
  return out;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  bool inside = false;
  for (const char c : text) {
    if (alphanumeric(c)) {
      if (!inside) out.emplace_back();
      out.back() += c;
    }
    inside = alphanumeric(c);
  }
  return out;
}

}  // namespace calkit::lint
