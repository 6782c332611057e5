/// Family 11, second part: nothing of the machine that built the package travels with it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"
#include "families.h"
#include "names.h"

namespace calkit::lint {

namespace {

constexpr std::size_t kMaxScanned = 16u << 20;  // of one file
constexpr std::size_t kShown = 4;               // characters of a leak that a message repeats

bool word_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

struct Leak {
  const char* kind;
  std::size_t at, length;
};

/// A text that begins so, and goes on for at least so many characters of a word.
struct Prefix {
  std::string_view text;
  std::size_t rest;
  const char* kind;
};
constexpr Prefix kPrefixes[] = {
    {"/home/", 1, "a home folder"},      {"/Users/", 1, "a home folder"}, {"/root/", 1, "a home folder"},
    {"C:\\Users\\", 1, "a home folder"}, {"hf_", 30, "an access token"},  {"ghp_", 30, "an access token"},
    {"gho_", 30, "an access token"},     {"ghs_", 30, "an access token"}, {"github_pat_", 20, "an access token"},
    {"glpat-", 20, "an access token"},   {"sk-", 32, "an access token"},  {"xoxb-", 20, "an access token"},
    {"xoxp-", 20, "an access token"},    {"AKIA", 16, "an access key"},   {"-----BEGIN ", 3, "a key"},
};

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && word_char(text[at])) ++at;
  return at;
}

std::optional<Leak> find_prefix(std::string_view text, const Prefix& prefix) {
  if (text.size() < prefix.text.size() + prefix.rest) return std::nullopt;
  for (std::size_t at = 0; (at = text.find(prefix.text, at)) != std::string_view::npos; at += prefix.text.size()) {
    const std::size_t begin = at + prefix.text.size(), end = word_end(text, begin);
    if (end - begin < prefix.rest) continue;
    // Tokens begin a word; paths may follow anything but another part of a path.
    if (at > 0 && word_char(text[at - 1])) continue;
    if (prefix.text == "-----BEGIN ") {
      const auto line = text.substr(begin, std::min<std::size_t>(text.size() - begin, 40));
      if (line.find("PRIVATE KEY") == std::string_view::npos) continue;
      return Leak{"a private key", at, line.size()};
    }
    return Leak{prefix.kind, at, end - at};
  }
  return std::nullopt;
}

/// "build7.corp": names that no other network can resolve.
std::optional<Leak> find_internal_host(std::string_view text) {
  for (const std::string_view suffix : {".internal", ".corp", ".lan", ".intranet", ".local"}) {
    for (std::size_t at = 0; (at = text.find(suffix, at)) != std::string_view::npos; at += suffix.size()) {
      const std::size_t end = at + suffix.size();
      if (end < text.size() && (word_char(text[end]) || text[end] == '.')) continue;
      std::size_t begin = at;
      while (begin > 0 && (word_char(text[begin - 1]) || text[begin - 1] == '.')) --begin;
      // "~/.local" and "a/.local" are folders.
      if (begin < at) return Leak{"an internal host name", begin, end - begin};
    }
  }
  return std::nullopt;
}

/// A private address where a host stands: behind // or @.
std::optional<Leak> find_private_address(std::string_view text) {
  for (const std::string_view lead : {"//", "@"}) {
    for (std::size_t at = 0; (at = text.find(lead, at)) != std::string_view::npos; at += lead.size()) {
      const std::size_t begin = at + lead.size();
      const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
      const auto parts = split(text.substr(begin, end - begin), '.');
      if (parts.size() != 4 || std::any_of(parts.begin(), parts.end(), [](const auto& p) { return p.empty(); }))
        continue;
      const auto second = parse_decimal_u64(parts[1]).value_or(0);
      if (parts[0] == "10" || (parts[0] == "192" && second == 168) ||
          (parts[0] == "172" && second >= 16 && second <= 31))
        return Leak{"a private address", begin, end - begin};
    }
  }
  return std::nullopt;
}

/// "scheme://user:secret@host".
std::optional<Leak> find_password(std::string_view text) {
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string_view::npos; at += 3) {
    const std::size_t begin = at + 3, end = std::min(text.find_first_of("/ \t\n\"'", begin), text.size());
    const auto authority = text.substr(begin, end - begin);
    const auto sign = authority.rfind('@'), colon = authority.find(':');
    if (sign != std::string_view::npos && colon < sign && colon + 1 < sign)
      return Leak{"a password in an address", begin, sign};
  }
  return std::nullopt;
}

/// Every leak has one of these characters; most texts of a description have none.
bool may_leak(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return c == '/' || c == '\\' || c == '_' || c == '-' || c == '.' || c == '@' || c == 'A';
  });
}

std::optional<Leak> find_leak(std::string_view text) {
  if (!may_leak(text)) return std::nullopt;
  for (const auto& prefix : kPrefixes)
    if (const auto leak = find_prefix(text, prefix)) return leak;
  if (const auto leak = find_password(text)) return leak;
  if (const auto leak = find_internal_host(text)) return leak;
  return find_private_address(text);
}

Check::Said said(const Leak& leak, std::string_view text, const std::string& where) {
  const auto shown = text.substr(leak.at, std::min(kShown, leak.length));
  return {fmt::format("{} tells of the machine that built the package: {}", where, leak.kind),
          fmt::format("'{}...', {} characters", printable(shown), leak.length),
          "no home folders, tokens, keys, passwords, internal hosts",
          "build with neutral paths and without secrets in the environment; replace what was leaked"};
}

/// A place on the way down. They live on the stack of scan_value, so a pointer text is only built for a leak.
struct Place {
  const Place* above;
  std::string_view key;
  std::size_t index;
  bool is_item;

  std::string pointer() const {
    if (above == nullptr) return {};
    return above->pointer() + "/" + (is_item ? std::to_string(index) : pointer_step(key));
  }
};

void scan_value(Check& check, const Value& value, const Place& place) {
  if (const auto* text = value.if_string()) {
    const auto leak = find_leak(*text);
    if (!leak) return;
    const std::string pointer = place.pointer();
    check.report(pointer, said(*leak, *text, pointer));
  } else if (const auto* items = value.if_array()) {
    for (std::size_t i = 0; i < items->size(); ++i) scan_value(check, (*items)[i], {&place, {}, i, true});
  } else if (const auto* members = value.if_object()) {
    for (const auto& [key, member] : *members) scan_value(check, member, {&place, key, 0, false});
  }
}

/// A variable whose name says that its value is nobody's business.
void check_variables(Check& check) {
  if (!check.usable("/provenance/env_allow")) return;
  for (const auto& [key, value] : check.d().provenance.env_allow) {
    const std::string small = lower(key);
    for (const std::string_view word :
         {"token", "secret", "password", "passwd", "api_key", "private_key", "credential"})
      if (small.find(word) != std::string::npos && !value.empty() && !find_leak(value)) {
        check.report("/provenance/env_allow",
                     {fmt::format("the environment variable '{}' was recorded with its value", printable(key)),
                      fmt::format("{} characters", value.size()), "no variables that hold secrets",
                      "take it out of the recorded environment, and replace the secret"});
        break;
      }
  }
}

void scan_file(Check& check, std::size_t index) {
  const auto& file = check.d().files[index];
  const auto mapped = check.facts().map(file.path);
  if (!mapped.ok()) return;
  const auto bytes = (*mapped)->bytes();
  if (bytes.size() > kMaxScanned)
    check.left_out(fmt::format("only the first {} MiB of '{}' were searched", kMaxScanned >> 20, file.path));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kMaxScanned));
  if (const auto leak = find_leak(text)) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(leak->at), '\n');
    check.report_in(file.path, {}, static_cast<std::uint32_t>(line), said(*leak, text, file.path),
                    check.rule().severity);
  }
}

void check_leaks(Check& check) {
  scan_value(check, *check.facts().document, {nullptr, {}, 0, false});
  check_variables(check);
  for (std::size_t i = 0; i < check.d().files.size(); ++i) {
    const auto& role = check.d().files[i].role;
    const bool text = role == "command-text" || role == "log" || role == "profile" || role == "license";
    if (text && check.facts().files[i].state == FileState::kPresent) scan_file(check, i);
  }
}

}  // namespace

std::vector<Rule> leak_rules() {
  return {
      {{"CB1105", "host-leak", Severity::kWarning, RuleClass::kPolicy,
        "description, commands and logs tell nothing of the machine and people that built the package", "§7a",
        Maturity::kPreview},
       {"/provenance/argv,env_allow,notes", "/files/*/path,role"},
       &check_leaks},
  };
}

}  // namespace calkit::lint
