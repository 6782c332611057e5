#pragma once
/// Steps of JSON pointers (RFC 6901): a key as it stands in a pointer, and back.
#include <string>
#include <string_view>

namespace calkit {

/// "a/b~c" -> "a~1b~0c".
std::string pointer_step(std::string_view key);
/// "a~1b~0c" -> "a/b~c"; a `~` before anything else stays.
std::string pointer_key(std::string_view step);

}  // namespace calkit
