#pragma once
/// What both ways of formatting share: directives and how values are laid out by them (private to jinja).
#include <cstdint>
#include <string>
#include <string_view>

#include "ops.h"

namespace calkit::jinja {

/// What stands between '%' or ':' and the letter of a directive.
struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0;
  bool alternate = false, zero = false, comma = false;
  std::int64_t width = 0, precision = -1;
};

Result<std::int64_t> digits(std::string_view text, std::size_t& at);
std::string signed_text(bool negative, char sign, std::string body);
std::string grouped(std::string digits);
std::string integer_digits(std::int64_t value, char type, bool alternate);
Result<std::string> real_digits(double value, char type, std::int64_t precision);
Result<std::string> padded(Run& run, const std::string& text, const Spec& spec, char usual_align);

}  // namespace calkit::jinja
