// The files of a reference of texts.
#include "calkit/frozen/texts.h"

#include "calkit/base/files.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

constexpr char kTexts[] = "reference/texts.jsonl";
constexpr char kSource[] = "reference/source.json";
constexpr std::int64_t kMaxCount = std::int64_t{1} << 31;

Status read_count(const Cursor& line, const char* key, std::optional<std::int64_t>& out) {
  if (const auto at = line.find(key)) {
    CALKIT_TRY(out, at->as_int(0, kMaxCount));
  }
  return {};
}

Status read_line(const Cursor& line, TextReference& out) {
  CALKIT_CHECK_OK(line.only({"id", "kind", "text", "finish_reason", "prompt_tokens", "completion_tokens", "refused"}));
  CALKIT_TRY(const std::string id, line.string("id"));
  if (const auto at = line.find("refused")) {
    CALKIT_TRY(const std::string reason, at->as_string());
    out.refused.push_back({id, {}, std::nullopt, reason});
    return {};
  }
  TextAnswer answer;
  answer.id = id;
  CALKIT_TRY(answer.text, line.string("text"));
  if (const auto at = line.find("finish_reason")) {
    CALKIT_TRY(answer.finish_reason, at->as_string());
  }
  CALKIT_CHECK_OK(read_count(line, "prompt_tokens", answer.prompt_tokens));
  CALKIT_CHECK_OK(read_count(line, "completion_tokens", answer.completion_tokens));
  out.answers.push_back(std::move(answer));
  return {};
}

Value to_value(const TextAnswer& answer) {
  return Value::object({{"id", answer.id},
                        {"text", answer.text},
                        {"finish_reason", answer.finish_reason.empty() ? Value() : Value(answer.finish_reason)},
                        {"prompt_tokens", answer.prompt_tokens},
                        {"completion_tokens", answer.completion_tokens}});
}

}  // namespace

bool has_texts(const fs::path& dir) {
  std::error_code ignored;
  return fs::is_regular_file(dir / kTexts, ignored);
}

Result<TextReference> read_texts(const fs::path& dir) {
  TextReference out;
  CALKIT_TRY(out.source, read_json(dir / kSource), "reading who answered");
  CALKIT_TRY(const auto lines, read_json_lines(dir / kTexts), "reading the texts");
  for (const Value& line : lines) CALKIT_CHECK_OK(read_line(Cursor(line, (dir / kTexts).string()), out));
  return out;
}

Status write_texts(const fs::path& staged_dir, const TextReference& texts) {
  std::string lines;
  const auto add = [&lines](const Value& line) { lines += to_json(line, {true, -1}) + "\n"; };
  for (const TextAnswer& answer : texts.answers) add(to_value(answer));
  for (const Unanswered& prompt : texts.refused) add(Value::object({{"id", prompt.id}, {"refused", prompt.reason}}));
  std::error_code problem;
  fs::create_directories(staged_dir / "reference", problem);
  if (problem) return Error(ErrorKind::kIo, (staged_dir / "reference").string() + ": " + problem.message());
  CALKIT_CHECK_OK(write_file(staged_dir / kTexts, lines));
  return write_file(staged_dir / kSource, to_json(texts.source) + "\n");
}

}  // namespace calkit::frozen
