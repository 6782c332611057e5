#pragma once
/// Looking at names the way people and other programs do.
#include <string>
#include <string_view>
#include <vector>

namespace calkit::lint {

/// The code points of valid UTF-8.
std::vector<char32_t> code_points(std::string_view text);
/// ASCII letters in small.
std::string lower(std::string_view text);
/// What the name looks like: letters of other scripts, digits and signs that are taken for one another become one,
/// invisible characters vanish. Two names with one skeleton look the same.
std::u32string skeleton(std::string_view name);
/// The runs of ASCII letters and digits of a text.
std::vector<std::string> words(std::string_view text);

}  // namespace calkit::lint
