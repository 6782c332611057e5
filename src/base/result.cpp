#include "calkit/base/result.h"

namespace calkit {

Error input_error(std::string_view file, std::string_view field, std::string_view found, std::string_view allowed,
                  std::string hint) {
  std::string text;
  const auto part = [&text](std::string_view separator, std::string_view label, std::string_view content) {
    if (content.empty()) return;
    if (!text.empty()) text += separator;
    text += label;
    text += content;
  };
  part("", "", file);
  part(": ", "", field);
  part(": ", "found ", found);
  part(found.empty() ? ": " : "; ", "allowed: ", allowed);
  return Error{ErrorKind::kInput, std::move(text), std::move(hint)};
}

}  // namespace calkit
