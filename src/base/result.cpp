#include "calkit/base/result.h"

#include <cstdint>

#include "calkit/base/text.h"

namespace calkit {

// Out of line: inlined into every CALKIT_TRY, it is code nobody runs, and GCC 12 warns about its own string moves.
Error&& Error::during(std::string frame) && {
  if (!frame.empty()) context.push_back(std::move(frame));
  return std::move(*this);
}

Error input_error(std::string_view file, std::string_view field, std::string_view found, std::string_view allowed,
                  std::string hint) {
  std::string text;
  const auto part = [&text](std::string_view separator, std::string_view label, std::string_view content) {
    if (content.empty()) return;
    if (!text.empty()) text += separator;
    text += label;
    text += printable(content, SIZE_MAX);  // names from a file must not steer the terminal
  };
  part("", "", file);
  part(": ", "", field);
  part(": ", "found ", found);
  part(found.empty() ? ": " : "; ", "allowed: ", allowed);
  return Error{ErrorKind::kInput, std::move(text), std::move(hint)};
}

}  // namespace calkit
