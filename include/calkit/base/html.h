#pragma once
/// Text in HTML.
#include <string>
#include <string_view>

namespace calkit {

/// Text that is safe between tags and inside a quoted attribute; written as Python's MarkupSafe writes it.
inline std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace calkit
