#pragma once
/// A calbin.json that a test edited gets the seal of what it now says.
#include <string>

#include "calkit/calbin/reading.h"

namespace calkit::testing_support {

/// Replaces the seal in the text and nothing else. False when the text is no JSON or has no seal.
inline bool reseal_text(std::string& text) {
  const auto document = parse_json(text, "calbin.json");
  const Value* seal = document.ok() ? document->find("seal") : nullptr;
  const std::string* old = seal != nullptr ? seal->if_string() : nullptr;
  const auto at = old != nullptr && !old->empty() ? text.find(*old) : std::string::npos;
  if (at == std::string::npos) return false;
  text.replace(at, old->size(), calbin::seal_of(*document));
  return true;
}

}  // namespace calkit::testing_support
