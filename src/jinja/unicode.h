#pragma once
/// What Python knows of characters: classes, cases, and cutting text at code points (private to jinja).
#include <string>
#include <string_view>
#include <vector>

namespace calkit::jinja {

bool is_space(char32_t c);
bool is_line_end(char32_t c);
bool is_alpha(char32_t c);
bool is_alnum(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);
bool is_cased(char32_t c);  ///< lower, upper or title case
bool is_printable(char32_t c);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string to_title(std::string_view text);        ///< str.title
std::string to_capitalized(std::string_view text);  ///< str.capitalize

std::string_view lstrip(std::string_view text);
std::string_view rstrip(std::string_view text);
/// Without the characters of `set` at the ends.
std::string_view lstrip(std::string_view text, std::string_view set);
std::string_view rstrip(std::string_view text, std::string_view set);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

/// The byte where code point number `index` begins, at most the size.
std::size_t byte_of(std::string_view text, std::size_t index);
std::size_t count_points(std::string_view text);

}  // namespace calkit::jinja
