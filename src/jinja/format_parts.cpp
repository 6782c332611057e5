#include "format_parts.h"

#include <fmt/format.h>

#include <cmath>

#include "calkit/base/unicode.h"
#include "unicode.h"

namespace calkit::jinja {
namespace {

constexpr std::int64_t kMaxWidth = 1'000'000;

}  // namespace

Result<std::int64_t> digits(std::string_view text, std::size_t& at) {
  std::int64_t out = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    out = out * 10 + (text[at++] - '0');
    if (out > kMaxWidth) return fault(fmt::format("a width above {} in a format (limit of the renderer)", kMaxWidth));
  }
  return out;
}

std::string signed_text(bool negative, char sign, std::string body) {
  if (negative) return "-" + body;
  return sign == '+' ? "+" + body : sign == ' ' ? " " + body : body;
}

std::string grouped(std::string digits) {
  const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (std::size_t i = end; i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string integer_digits(std::int64_t value, char type, bool alternate) {
  const std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  switch (type) {
    case 'x':
      return (alternate ? "0x" : "") + fmt::format("{:x}", size);
    case 'X':
      return (alternate ? "0X" : "") + fmt::format("{:X}", size);
    case 'o':
      return (alternate ? "0o" : "") + fmt::format("{:o}", size);
    case 'b':
      return (alternate ? "0b" : "") + fmt::format("{:b}", size);
    default:
      return std::to_string(size);
  }
}

Result<std::string> real_digits(double value, char type, std::int64_t precision) {
  if (std::isnan(value) || std::isinf(value)) {
    const std::string out = std::isnan(value) ? "nan" : "inf";
    return type == 'F' || type == 'E' || type == 'G' ? to_upper(out) : out;
  }
  if (precision > 1000) return fault("more than 1000 digits in the format of a float (limit of the renderer)");
  const int places = precision < 0 ? 6 : static_cast<int>(precision);
  switch (type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", std::abs(value), places);
    case 'e':
      return fmt::format("{:.{}e}", std::abs(value), places);
    case 'E':
      return fmt::format("{:.{}E}", std::abs(value), places);
    case 'g':
      return fmt::format("{:.{}g}", std::abs(value), places);
    case 'G':
      return fmt::format("{:.{}G}", std::abs(value), places);
    case '%':
      return fmt::format("{:.{}f}%", std::abs(value) * 100, places);
    default:
      return fault(fmt::format("the format '{}' of a float; not supported", type));
  }
}

Result<std::string> padded(Run& run, const std::string& text, const Spec& spec, char usual_align) {
  const auto length = static_cast<std::int64_t>(count_points(text));
  if (length >= spec.width) return text;
  const auto room = static_cast<std::uint64_t>(spec.width - length);
  CALKIT_CHECK_OK(run.charge(room * spec.fill.size()));
  const char align = spec.align != 0 ? spec.align : spec.zero ? '=' : usual_align;
  const std::string& fill = spec.zero && spec.align == 0 ? "0" : spec.fill;
  std::string space;
  std::string left, right;
  const std::uint64_t before = align == '<' ? 0 : align == '^' ? room / 2 : room;
  for (std::uint64_t i = 0; i < before; ++i) left += fill;
  for (std::uint64_t i = before; i < room; ++i) right += fill;
  if (align != '=') return left + text + right;
  std::size_t lead = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
  if (text.size() > lead + 2 && text[lead] == '0' && std::isalpha(static_cast<unsigned char>(text[lead + 1])) != 0)
    lead += 2;
  return text.substr(0, lead) + left + text.substr(lead);
}

}  // namespace calkit::jinja
