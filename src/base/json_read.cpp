#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "tree_builder.h"

namespace calkit {
namespace {

/// Follows the parser through the text, one token behind it, because the parser tells no positions.
/// Between two tokens there are only blanks, commas and colons; the tokens themselves are known to be well formed.
class TokenTracker {
 public:
  TokenTracker(std::string_view text, std::uint32_t first_line) : text_(text), line_(first_line) {}

  Position begin_token() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r' && c != ',' && c != ':') {
        break;
      }
    }
    return Position{line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)};
  }
  void skip(std::size_t bytes) { at_ += bytes; }
  std::string_view number() {
    const std::size_t end = std::min(text_.find_first_not_of("+-.0123456789Ee", at_), text_.size());
    const std::string_view token = text_.substr(at_, end - at_);
    at_ = end;
    return token;
  }
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

 private:
  std::string_view text_;
  std::uint32_t line_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
};

/// What nlohmann says, without its "[json.exception.NAME.N] parse error at line L, column C: ": our position is better.
std::string detail_of(std::string_view what) {
  constexpr std::size_t kMostShown = 160;
  if (const std::size_t bracket = what.find("] "); bracket != std::string_view::npos) what.remove_prefix(bracket + 2);
  if (const std::size_t colon = what.find(": "); what.starts_with("parse error") && colon != std::string_view::npos)
    what.remove_prefix(colon + 2);
  return printable(what, kMostShown);
}

/// nlohmann's event interface: nothing is stored that our limits have not seen.
class JsonEvents {
 public:
  JsonEvents(std::string_view text, std::string_view file, const ReadLimits& limits, std::uint32_t first_line)
      : text_(text), first_line_(first_line), tracker_(text, first_line), tree_(file, limits) {}

  bool null() { return word(Value(), 4); }
  bool boolean(bool value) { return word(Value(value), value ? 4 : 5); }
  bool number_integer(std::int64_t value) {
    const Position at = tracker_.begin_token();
    const std::string_view token = tracker_.number();
    if (token == "-0") return tree_.refuse(ReadProblem::kNumber, at, "the integer -0", "0, or -0.0 for a decimal");
    return tree_.scalar(Value(value), at);
  }
  bool number_unsigned(std::uint64_t value) {
    const Position at = tracker_.begin_token();
    tracker_.number();
    return tree_.scalar(Value(value), at);
  }
  bool number_float(double value, const std::string&) {
    const Position at = tracker_.begin_token();
    const std::string_view token = tracker_.number();
    // The parser turns an integer of more than 64 bits into a double without a word.
    if (token.find_first_of(".eE") == std::string_view::npos)
      return tree_.refuse(ReadProblem::kNumber, at, fmt::format("the integer {:.40}", token),
                          "an integer from -2^63 to 2^64-1");
    return tree_.scalar(Value(value), at);
  }
  bool string(std::string& value) {
    const Position at = tracker_.begin_token();
    tracker_.skip_string();
    return tree_.scalar(Value(std::move(value)), at);
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool key(std::string& name) {
    const Position at = tracker_.begin_token();
    tracker_.skip_string();
    return tree_.key(std::move(name), at);
  }
  bool start_object(std::size_t) { return begin(Value(Value::Object{})); }
  bool start_array(std::size_t) { return begin(Value(Value::Array{})); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& problem) {
    const std::size_t read = std::min(position, text_.size());
    const auto before = text_.substr(0, read == 0 ? 0 : read - 1);
    const auto line = first_line_ + static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    // The parser reads a number beyond a double's range to its end, and then calls it out of range.
    const bool number = std::string_view(problem.what()).find("out_of_range") != std::string_view::npos;
    return tree_.refuse(number ? ReadProblem::kNumber : ReadProblem::kSyntax, Position{line, 1},
                        fmt::format("a fault at column {}: {}", column, detail_of(problem.what())),
                        "one JSON document (RFC 8259)");
  }

  TreeBuilder& tree() { return tree_; }

 private:
  bool word(Value value, std::size_t length) {
    const Position at = tracker_.begin_token();
    tracker_.skip(length);
    return tree_.scalar(std::move(value), at);
  }
  bool begin(Value container) {
    const Position at = tracker_.begin_token();
    tracker_.skip(1);
    return tree_.begin(std::move(container), at);
  }
  bool end() {
    tracker_.begin_token();
    tracker_.skip(1);
    return tree_.end();
  }

  std::string_view text_;
  std::uint32_t first_line_;
  TokenTracker tracker_;
  TreeBuilder tree_;
};

Result<Value> parse_checked(std::string_view text, std::string_view file, const ReadLimits& limits,
                            std::uint32_t first_line) {
  JsonEvents events(text, file, limits, first_line);
  try {
    const bool complete = nlohmann::json::sax_parse(text.begin(), text.end(), &events);
    if (events.tree().error()) return std::move(*events.tree().error());
    if (complete) return events.tree().take();
  } catch (const std::exception& problem) {
    return read_error(ReadProblem::kSyntax, file, problem.what(), "one JSON document");
  }
  return read_error(ReadProblem::kSyntax, file, "text that is no JSON", "one JSON document (RFC 8259)");
}

}  // namespace

Result<Value> parse_json(std::string_view text, std::string_view file, const ReadLimits& limits) {
  CALKIT_TRY(const auto plain, check_text(text, file, limits));
  return parse_checked(plain, file, limits, 1);
}

Result<Value> read_json(const std::filesystem::path& path, const ReadLimits& limits) {
  CALKIT_TRY(const std::string text, read_file(path, limits.max_bytes));
  return parse_json(text, path.string(), limits);
}

Result<std::vector<Value>> parse_json_lines(std::string_view text, std::string_view file, const ReadLimits& limits) {
  CALKIT_TRY(text, check_text(text, file, limits));
  std::vector<Value> records;
  std::uint32_t line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view record = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool blank = record.find_first_not_of(" \t\r") == std::string_view::npos;
    if (blank && text.empty()) break;
    if (blank) return input_error(at_line(file, line), {}, "a blank line", "one JSON document in each line");
    CALKIT_TRY(Value value, parse_checked(record, file, limits, line));
    records.push_back(std::move(value));
    ++line;
  }
  return records;
}

Result<std::vector<Value>> read_json_lines(const std::filesystem::path& path, const ReadLimits& limits) {
  CALKIT_TRY(const std::string text, read_file(path, limits.max_bytes));
  return parse_json_lines(text, path.string(), limits);
}

}  // namespace calkit
