#include "tokenizer_normalize.h"

#include <fmt/format.h>

#include <algorithm>

#include "unicode_table.h"

namespace calkit::hf {
namespace {

bool is_space(char32_t c) {
  static const auto ranges = unicode_ranges("space");
  return in_ranges(ranges, c);
}
bool is_combining_mark(char32_t c) {
  static const auto ranges = unicode_ranges("combining_mark");
  return in_ranges(ranges, c);
}
// Controls that Nmt takes out, and characters that it makes a space.
bool is_nmt_control(char32_t c) {
  return (c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
}
bool is_nmt_space(char32_t c) {
  return c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

template <class Visit>
std::string rewrite(std::string_view text, Visit visit) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto c = code_point_at(text, at);
    visit(c.value, out);
    at += c.bytes;
  }
  return out;
}

std::string lowercase(std::string_view text) {
  return rewrite(text, [](char32_t c, std::string& out) {
    const LowerCase small = lower_case(c);
    append_utf8(out, small.first);
    if (small.second != 0) append_utf8(out, small.second);
  });
}

std::string_view strip(std::string_view text, bool left, bool right) {
  while (left && !text.empty() && is_space(code_point_at(text, 0).value))
    text.remove_prefix(code_point_at(text, 0).bytes);
  while (right && !text.empty()) {
    const auto last = code_point_before(text, text.size());
    if (!is_space(last.value)) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

}  // namespace

Result<std::string> Replacement::Run::apply(std::string_view text, std::size_t* first_match_end) {
  std::string out;
  const auto note = [&](std::size_t begin, std::size_t end) {
    if (first_match_end != nullptr && begin == 0) *first_match_end = std::max(*first_match_end, end);
  };
  if (rule_.is_literal()) {
    std::size_t done = 0;
    for (std::size_t at; (at = text.find(rule_.literal(), done)) != std::string_view::npos;) {
      note(at, at + rule_.literal().size());
      out.append(text, done, at - done).append(rule_.content());
      done = at + rule_.literal().size();
    }
    return std::move(out.append(text, done, std::string_view::npos));
  }
  if (!matcher_) matcher_ = std::make_unique<Pattern::Matcher>(rule_.pattern());
  found_.clear();
  CALKIT_CHECK_OK(matcher_->find(text, found_));
  for (const Found& piece : found_) {
    if (piece.match) note(piece.begin, piece.end);
    if (piece.match)
      out += rule_.content();
    else
      out.append(text, piece.begin, piece.end - piece.begin);
  }
  return out;
}

Normalizer::Run::Run(const Normalizer& steps) : steps_(steps) {
  for (const Step& step : steps_.steps_)
    replacements_.push_back(step.replacement ? std::make_unique<Replacement::Run>(*step.replacement) : nullptr);
}

Result<Normalizer::Text> Normalizer::Run::apply(std::string_view text) {
  Text out{std::string(text), true};
  for (std::size_t i = 0; i < replacements_.size(); ++i) CALKIT_CHECK_OK(step(i, out));
  return out;
}

Status Normalizer::Run::step(std::size_t i, Text& at) {
  const Step& step = steps_.steps_[i];
  std::string& text = at.text;
  if (text.empty()) return {};
  switch (step.kind) {
    case Kind::kForm:
      text = step.form == NormalForm::kNfc ? nfc(text) : normal_form(text, step.form);
      return {};
    case Kind::kLowercase:
      text = lowercase(text);
      return {};
    case Kind::kStrip:
      at.from_start = at.from_start && !(step.left && is_space(code_point_at(text, 0).value));
      text = std::string(strip(text, step.left, step.right));
      return {};
    case Kind::kStripAccents:
      at.from_start = at.from_start && !is_combining_mark(code_point_at(text, 0).value);
      text = rewrite(text, [](char32_t c, std::string& out) {
        if (!is_combining_mark(c)) append_utf8(out, c);
      });
      return {};
    case Kind::kNmt:
      at.from_start = at.from_start && !is_nmt_control(code_point_at(text, 0).value);
      text = rewrite(text, [](char32_t c, std::string& out) {
        if (!is_nmt_control(c)) append_utf8(out, is_nmt_space(c) ? ' ' : c);
      });
      return {};
    case Kind::kReplace: {
      std::size_t first_end = 0;
      const std::size_t one = code_point_at(text, 0).bytes;
      CALKIT_TRY(text, replacements_[i]->apply(text, &first_end));
      // What replaces a text is counted to the text's last character.
      if (first_end > (step.replacement->content().empty() ? 0 : one)) at.from_start = false;
      return {};
    }
    case Kind::kPrepend:
      text.insert(0, step.prefix);
      return {};
  }
  return {};
}

}  // namespace calkit::hf
