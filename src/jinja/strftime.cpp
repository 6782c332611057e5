#include <fmt/format.h>

#include <chrono>

#include "ops.h"

namespace calkit::jinja {
namespace {

constexpr const char* kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};

struct Moment {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, weekday = 0, day_of_year = 0;
};

Moment moment_of(std::int64_t clock) {
  using namespace std::chrono;
  const sys_seconds at{seconds{clock}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  const auto new_year = sys_days{date.year() / January / 1};
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(time.hours().count()),
          static_cast<int>(time.minutes().count()),
          static_cast<int>(time.seconds().count()),
          static_cast<int>(weekday{day}.c_encoding()),
          static_cast<int>((day - new_year).count()) + 1};
}

// One directive in the C locale; empty for one that is not supported.
std::string directive(char c, const Moment& m) {
  const int hour12 = m.hour % 12 == 0 ? 12 : m.hour % 12;
  switch (c) {
    case 'a':
      return std::string(kDays[m.weekday]).substr(0, 3);
    case 'A':
      return kDays[m.weekday];
    case 'b':
    case 'h':
      return std::string(kMonths[m.month - 1]).substr(0, 3);
    case 'B':
      return kMonths[m.month - 1];
    case 'd':
      return fmt::format("{:02}", m.day);
    case 'e':
      return fmt::format("{:2}", m.day);
    case 'D':
    case 'x':
      return fmt::format("{:02}/{:02}/{:02}", m.month, m.day, m.year % 100);
    case 'F':
      return fmt::format("{}-{:02}-{:02}", m.year, m.month, m.day);
    case 'H':
      return fmt::format("{:02}", m.hour);
    case 'I':
      return fmt::format("{:02}", hour12);
    case 'j':
      return fmt::format("{:03}", m.day_of_year);
    case 'm':
      return fmt::format("{:02}", m.month);
    case 'M':
      return fmt::format("{:02}", m.minute);
    case 'p':
      return m.hour < 12 ? "AM" : "PM";
    case 'S':
      return fmt::format("{:02}", m.second);
    case 'T':
    case 'X':
      return fmt::format("{:02}:{:02}:{:02}", m.hour, m.minute, m.second);
    case 'R':
      return fmt::format("{:02}:{:02}", m.hour, m.minute);
    case 'u':
      return std::to_string(m.weekday == 0 ? 7 : m.weekday);
    case 'w':
      return std::to_string(m.weekday);
    case 'y':
      return fmt::format("{:02}", m.year % 100);
    case 'Y':
      return std::to_string(m.year);
    case 'f':
      return "000000";
    case '%':
      return "%";
    default:
      return {};
  }
}

}  // namespace

Result<std::string> format_time(std::int64_t clock, const std::string& format) {
  constexpr std::int64_t kFirst = -30610224000, kLast = 253402300799;  // the years 1000 to 9999
  if (clock < kFirst || clock > kLast) return fault("strftime_now: a clock outside of the years 1000 to 9999");
  const Moment moment = moment_of(clock);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const bool bare = i + 1 < format.size() && format[i + 1] == '-';  // %-d: without the leading zero
    const char c = i + 1 + bare < format.size() ? format[i + 1 + bare] : ' ';
    std::string part = directive(c, moment);
    const bool number = std::string_view("dHIjmMSy").find(c) != std::string_view::npos;
    if (part.empty() || (bare && !number))
      return fault(fmt::format("strftime_now: the directive '%{}{}'; not supported", bare ? "-" : "", c));
    if (bare) part.erase(0, std::min(part.find_first_not_of('0'), part.size() - 1));
    out += part;
    i += 1 + bare;
  }
  return out;
}

}  // namespace calkit::jinja
