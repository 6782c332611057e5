#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "tree_builder.h"

namespace calkit {
namespace {

/// Thrown through yaml-cpp to stop it at once; parse_yaml catches it, and the error waits in the TreeBuilder.
struct Stop {};

Position position_of(const YAML::Mark& mark) {
  return Position{static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

/// yaml-cpp's events come before anything is stored or expanded, so an alias bomb never gets as far as an alias.
class YamlEvents : public YAML::EventHandler {
 public:
  YamlEvents(std::string_view text, std::string_view file, const ReadLimits& limits)
      : text_(text), tree_(file, limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(ReadProblem::kYamlFeature, mark, "a second document", "one document in a file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_plain(mark, {}, anchor);
    // An empty value has no text of its own, and the mark is then that of the next token.
    const std::string_view spelling = word_at(mark);
    if (spelling == "~" || spelling == "Null" || spelling == "NULL")
      refuse(ReadProblem::kScalar, mark, "another spelling of null", "null, or nothing after the colon");
    if (tree_.wants_key()) refuse(ReadProblem::kSyntax, mark, "a key that is null", "a string as key");
    check(tree_.scalar(Value(), position_of(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(ReadProblem::kYamlFeature, mark, "an alias (*name)", kSubset);
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    refuse(ReadProblem::kYamlFeature, mark, "an anchor (&name)", kSubset);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_plain(mark, tag, anchor);
    if (!is_closed(mark)) refuse(ReadProblem::kSyntax, mark, "a quote that is never closed", "a closing quote");
    // The library writes the escapes \_ and \N as single bytes of Latin-1.
    if (invalid_utf8_at(value) != std::string_view::npos)
      refuse(ReadProblem::kEncoding, mark, "an escape that makes no UTF-8",
             "UTF-8; write the character itself, or \\u");
    const Position at = position_of(mark);
    const bool plain = tag == "?" || tag.empty();
    PlainScalar scalar = plain ? read_plain_scalar(value) : PlainScalar{Value(value), {}};
    if (!scalar.problem.empty()) {
      refuse(value == "<<" ? ReadProblem::kYamlFeature : ReadProblem::kScalar, mark,
             fmt::format("{}, which {}", printable(value), scalar.problem),
             "a plain decimal number, true, false, null or text", "quote it if it is text");
    }
    if (!tree_.wants_key()) {
      check(tree_.scalar(std::move(scalar.value), at));
    } else if (!scalar.value.is_string()) {
      refuse(ReadProblem::kScalar, mark, fmt::format("the key {}", scalar.value.describe()), "a string as key",
             "quote the key");
    } else {
      check(tree_.key(value, at));
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Value(Value::Array{}));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Value(Value::Object{}));
  }
  void OnSequenceEnd() override { check(tree_.end()); }
  void OnMapEnd() override { check(tree_.end()); }

  TreeBuilder& tree() { return tree_; }
  int documents() const { return documents_; }

 private:
  static constexpr std::string_view kSubset = "plain mappings, sequences and scalars";

  void check(bool accepted) {
    if (!accepted) throw Stop{};
  }
  void refuse(ReadProblem problem, const YAML::Mark& mark, std::string_view found, std::string_view allowed,
              std::string hint = {}) {
    check(tree_.refuse(problem, position_of(mark), found, allowed, std::move(hint)));
  }
  std::string_view text_from(const YAML::Mark& mark) const {
    return text_.substr(std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size()));
  }
  std::string_view word_at(const YAML::Mark& mark) const {
    const std::string_view text = text_from(mark);
    return text.substr(0, text.find_first_of(" \t\r\n,:]}"));
  }
  /// yaml-cpp takes the end of the file for the closing quote when a line feed stands before it.
  bool is_closed(const YAML::Mark& mark) const {
    const std::string_view text = text_from(mark);
    if (!text.starts_with('"') && !text.starts_with('\'')) return true;
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (text[at] == '\\' && text[0] == '"') {
        ++at;
      } else if (text[at] == text[0]) {
        const bool doubled = text[0] == '\'' && text.substr(at + 1).starts_with('\'');
        if (!doubled) return true;
        ++at;
      }
    }
    return false;
  }
  /// yaml-cpp gives "?" to plain and "!" to quoted scalars; a lone "!" in the text looks the same, hence the second
  /// look.
  void check_plain(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(ReadProblem::kYamlFeature, mark, "an anchor (&name)", kSubset);
    if ((!tag.empty() && tag != "?" && tag != "!") || text_from(mark).starts_with('!'))
      refuse(ReadProblem::kYamlFeature, mark, "a tag (!name)", kSubset);
  }
  void begin(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor, Value container) {
    check_plain(mark, tag, anchor);
    if (tree_.wants_key()) refuse(ReadProblem::kYamlFeature, mark, "a key that is no scalar", "a string as key");
    check(tree_.begin(std::move(container), position_of(mark)));
  }

  std::string_view text_;
  TreeBuilder tree_;
  int documents_ = 0;
};

/// yaml-cpp takes byte 4 for the end of the file, and directives change what follows: both are refused here.
Status check_yaml_text(std::string_view text, std::string_view file) {
  std::uint32_t line = 1;
  bool line_start = true;
  bool content_seen = false;
  bool comment = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F)
      return read_error(ReadProblem::kEncoding, at_line(file, line), fmt::format("the control character {:#04x}", byte),
                        "printable text");
    if (line_start && c == '%' && !content_seen)
      return read_error(ReadProblem::kYamlFeature, at_line(file, line), "a directive (%)",
                        "a document without directives");
    if (c == '#' && !content_seen) comment = true;
    line_start = c == '\n';
    if (c == '\n') {
      ++line;
      comment = false;
    } else if (c != ' ' && c != '\t' && c != '\r' && !comment) {
      content_seen = true;
    }
  }
  return {};
}

}  // namespace

Result<Value> parse_yaml(std::string_view text, std::string_view file, const ReadLimits& limits) {
  CALKIT_TRY(text, check_text(text, file, limits));
  CALKIT_CHECK_OK(check_yaml_text(text, file));
  YamlEvents events(text, file, limits);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Stop&) {
    return std::move(*events.tree().error());
  } catch (const YAML::Exception& problem) {
    // An alias of an anchor that nobody set does not get as far as an event.
    const bool alias = problem.msg.find("anchor") != std::string::npos;
    return read_error(
        alias ? ReadProblem::kYamlFeature : ReadProblem::kSyntax, at_line(file, position_of(problem.mark).line),
        fmt::format("a fault at column {}: {}", position_of(problem.mark).column, problem.msg), "one YAML document");
  } catch (const std::exception& problem) {
    return read_error(ReadProblem::kSyntax, file, problem.what(), "one YAML document");
  }
  if (events.documents() == 0) return read_error(ReadProblem::kSyntax, file, "an empty document", "one YAML document");
  return events.tree().take();
}

Result<Value> read_yaml(const std::filesystem::path& path, const ReadLimits& limits) {
  CALKIT_TRY(const std::string text, read_file(path, limits.max_bytes));
  return parse_yaml(text, path.string(), limits);
}

}  // namespace calkit
