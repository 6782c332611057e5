#include "calkit/base/json_pointer.h"

namespace calkit {

std::string pointer_step(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

std::string pointer_key(std::string_view step) {
  std::string out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const bool escape = step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
    out += !escape ? step[i] : step[i + 1] == '0' ? '~' : '/';
    if (escape) ++i;
  }
  return out;
}

}  // namespace calkit
