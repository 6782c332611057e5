#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer_regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include "calkit/base/text.h"

namespace calkit::hf {
namespace {

// Real patterns take a few steps a byte; a text that needs more than this is an attack on a bad pattern.
constexpr std::uint32_t kMatchLimit = 20'000'000;
constexpr std::uint32_t kHeapLimitKiB = 256 * 1024;
constexpr std::size_t kJitStackStart = 32 * 1024, kJitStackMost = 4 * 1024 * 1024;

std::string pcre_message(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof buffer) < 0) return fmt::format("error {}", code);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct Pattern::Code {
  pcre2_code* code = nullptr;
  std::string shown, file;
  ~Code() { pcre2_code_free(code); }
};

Pattern::Pattern() = default;
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Result<Pattern> Pattern::compile(const std::string& translated, std::string_view shown, const Cursor& at) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pattern out;
  out.code_ = std::make_unique<Code>();
  out.code_->shown = printable(shown);
  out.code_->file = at.file();
  out.code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                  PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (out.code_->code == nullptr)
    return at.error(fmt::format("a pattern that does not compile ({})", pcre_message(error)), "a regular expression");
  // Without just-in-time compilation the interpreter gives the same answers, slower.
  pcre2_jit_compile(out.code_->code, PCRE2_JIT_COMPLETE);
  return out;
}

Result<Pattern> Pattern::regex(std::string_view pattern, const Cursor& at) {
  CALKIT_TRY(const auto translated, translate_pattern(pattern, at));
  return compile(translated, pattern, at);
}

Result<Pattern> Pattern::literal(std::string_view text, const Cursor& at) {
  if (text.empty()) return at.error("an empty text to split at", "a text of at least one character");
  std::string escaped;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80)
      escaped += fmt::format("\\x{{{:x}}}", static_cast<unsigned>(c));
    else
      escaped += c;
  }
  return compile(escaped, text, at);
}

struct Pattern::Matcher::State {
  const Code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
  int match(std::string_view text, std::size_t from) const {
    const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const int rc = pcre2_match(code->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, data, context);
    if (rc != PCRE2_ERROR_JIT_STACKLIMIT) return rc;
    return pcre2_match(code->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, context);
  }
};

Pattern::Matcher::Matcher(const Pattern& pattern) : state_(std::make_unique<State>()) {
  state_->code = pattern.code_.get();
  state_->data = pcre2_match_data_create_from_pattern(pattern.code_->code, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  state_->stack = pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr);
  if (state_->context == nullptr) return;
  pcre2_set_match_limit(state_->context, kMatchLimit);
  pcre2_set_depth_limit(state_->context, kMatchLimit);
  pcre2_set_heap_limit(state_->context, kHeapLimitKiB);
  if (state_->stack != nullptr) pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
}

Pattern::Matcher::~Matcher() = default;

Status Pattern::Matcher::find(std::string_view text, std::vector<Found>& out) {
  if (state_->data == nullptr || state_->context == nullptr)
    return Error{ErrorKind::kIncomplete, "no memory to match a pattern", {}};
  std::size_t covered = 0, from = 0;
  std::size_t last_end = std::string_view::npos;
  while (from <= text.size()) {
    const int rc = state_->match(text, from);
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0)
      return Error{ErrorKind::kInput,
                   fmt::format("{}: pattern '{}' on a text of {} bytes: {}", state_->code->file, state_->code->shown,
                               text.size(), pcre_message(rc)),
                   "split the text, or use a pattern that does not backtrack this much"};
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(state_->data);
    const std::size_t begin = span[0], end = span[1];
    // The peer does not accept an empty match right behind the last one: it goes on one character further.
    if (begin == end && end == last_end) {
      if (from >= text.size()) break;
      ++from;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
      continue;
    }
    if (covered != begin) out.push_back({covered, begin, false});
    out.push_back({begin, end, true});
    covered = from = last_end = end;
  }
  if (covered != text.size()) out.push_back({covered, text.size(), false});
  return {};
}

}  // namespace calkit::hf
