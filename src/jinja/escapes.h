#pragma once
#include <string>
#include <string_view>

#include "calkit/base/result.h"

namespace calkit::jinja {
/// A string literal's body as Python's unicode-escape reads it.
Result<std::string> unescape(std::string_view body);
}  // namespace calkit::jinja
