#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/lint/policy.h"

namespace calkit::lint {

namespace {

constexpr std::string_view kSchema = "calkit.waivers/1";
constexpr std::uint64_t kMaxBytes = 16u << 20;

bool all_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  return text.starts_with(kPrefix) && text.size() == kPrefix.size() + 64 &&
         all_of(text.substr(kPrefix.size()), "0123456789abcdef");
}

/// "2027-01-31", a day that exists.
bool is_date(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  if (text.size() != 10 || text[4] != '-' || text[7] != '-' || !all_of(text.substr(0, 4), kDigits) ||
      !all_of(text.substr(5, 2), kDigits) || !all_of(text.substr(8), kDigits))
    return false;
  const auto number = [&](std::size_t at, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(at, count)) value = value * 10 + (c - '0');
    return value;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = month == 2 && (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
  return day <= kDays[static_cast<std::size_t>(month - 1)] + (leap ? 1 : 0);
}

Result<std::string> text_field(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const Cursor field, at.at(key));
  CALKIT_TRY(std::string text, field.as_string());
  if (text.find_first_not_of(" \t\n") == std::string::npos) return field.error("an empty text", "a text that says it");
  return text;
}

Result<std::string> checked_field(const Cursor& at, std::string_view key, bool (*good)(std::string_view),
                                  std::string_view allowed) {
  CALKIT_TRY(const Cursor field, at.at(key));
  CALKIT_TRY(std::string text, field.as_string());
  if (!good(text)) return field.error(field.value().describe(), allowed);
  return text;
}

Status check_rule(const Cursor& field, const std::string& id) {
  std::vector<std::string> known;
  for (const auto& rule : rules()) {
    if (rule.id == id && rule.severity != Severity::kBlocker) return {};
    if (rule.id == id)
      return field.error(fmt::format("{}, a blocker", id), "rules that are no blockers",
                         "a blocker cannot be waived: take the entry out and repair the package");
    known.emplace_back(rule.id);
  }
  const auto near = nearest_word(id, known);
  return field.error(field.value().describe(), "the id of a rule",
                     near.empty() ? "see `calkit calbin-lint --list-rules`" : fmt::format("did you mean {}?", near));
}

Result<Waiver> parse_waiver(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"rule", "fingerprint", "reason", "owner", "expires", "added_by_tool_version"}));
  Waiver out;
  CALKIT_TRY(const Cursor rule, at.at("rule"));
  CALKIT_TRY(out.rule, rule.as_string());
  CALKIT_CHECK_OK(check_rule(rule, out.rule));
  CALKIT_TRY(out.fingerprint, checked_field(at, "fingerprint", &is_digest, "sha256: and 64 lower-case hex digits"));
  CALKIT_TRY(out.reason, text_field(at, "reason"));
  CALKIT_TRY(out.owner, text_field(at, "owner"));
  CALKIT_TRY(out.expires, checked_field(at, "expires", &is_date, "a day as YYYY-MM-DD"));
  CALKIT_TRY(out.added_by_tool_version, text_field(at, "added_by_tool_version"));
  return out;
}

Value waiver_value(const Waiver& waiver) {
  return Value::object({{"rule", waiver.rule},
                        {"fingerprint", waiver.fingerprint},
                        {"reason", waiver.reason},
                        {"owner", waiver.owner},
                        {"expires", waiver.expires},
                        {"added_by_tool_version", waiver.added_by_tool_version}});
}

}  // namespace

Result<WaiverFile> parse_waivers(std::string_view text, const std::string& file) {
  CALKIT_TRY(const Value document, parse_json(text, file));
  const Cursor root(document, file);
  CALKIT_CHECK_OK(root.only({"schema", "waivers"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({kSchema}));
  static_cast<void>(word);
  CALKIT_TRY(const Cursor list, root.at("waivers"));
  CALKIT_TRY(const auto items, list.items());
  WaiverFile out;
  out.digest = "sha256:" + sha256_hex(text);
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& item : items) {
    CALKIT_TRY(Waiver waiver, parse_waiver(item));
    if (!seen.emplace(waiver.rule, waiver.fingerprint).second)
      return item.error(fmt::format("a second waiver of {} {}", waiver.rule, waiver.fingerprint),
                        "one for each finding");
    out.waivers.push_back(std::move(waiver));
  }
  return out;
}

Result<WaiverFile> read_waivers(const std::filesystem::path& path) {
  CALKIT_TRY(const std::string text, read_file(path, kMaxBytes));
  return parse_waivers(text, path.string());
}

std::string pruned(const WaiverFile& file, const Report& report) {
  Value list = Value::array();
  for (const auto& waiver : file.waivers) {
    const bool stale = std::any_of(report.stale.begin(), report.stale.end(), [&](const StaleWaiver& entry) {
      return entry.waiver.rule == waiver.rule && entry.waiver.fingerprint == waiver.fingerprint;
    });
    if (!stale) list.push(waiver_value(waiver));
  }
  return to_json(Value::object({{"schema", kSchema}, {"waivers", std::move(list)}})) + "\n";
}

}  // namespace calkit::lint
