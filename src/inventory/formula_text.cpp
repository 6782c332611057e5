// Formulas as text, both ways, and with values put in.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "calkit/base/text.h"
#include "calkit/inventory/formula.h"

namespace calkit::inventory {
namespace {

constexpr std::size_t kMaxText = 200;  // longer ones are names

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool in_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.';
}

bool is_name(std::string_view text) {
  return !text.empty() && starts_name(text.front()) && std::all_of(text.begin(), text.end(), in_name);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Formula> read() {
    auto out = sum();
    if (at_ != text_.size()) return std::nullopt;
    return out;
  }

 private:
  bool take(char c) {
    spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    spaces();
    return true;
  }
  void spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::optional<Formula> sum() {
    auto out = factors();
    while (out) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const auto next = factors();
      if (!next) return std::nullopt;
      out = plus ? *out + *next : *out - *next;
    }
    return out;
  }

  std::optional<Formula> factors() {
    auto out = factor();
    while (out && take('*')) {
      const auto next = factor();
      if (!next) return std::nullopt;
      out = *out * *next;
    }
    return out;
  }

  std::optional<Formula> factor() {
    const std::size_t start = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    spaces();
    if (is_name(word)) return Formula::symbol(std::string(word));
    const auto number = parse_decimal_u64(word);
    if (!number || *number > INT64_MAX) return std::nullopt;
    return Formula(static_cast<std::int64_t>(*number));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Formula Formula::parse(std::string_view text) {
  if (text.size() <= kMaxText && !is_name(text)) {
    const auto read = Reader(text).read();
    if (read && read->known()) return *read;
  }
  return symbol(std::string(text));
}

std::string Formula::term_text(const Term& term) const {
  std::string above, below;
  int count_below = term.bottom != 1;
  if (term.bottom != 1) below = fmt::format("{}", term.bottom);
  for (const auto& [name, exponent] : term.powers) {
    std::string& side = exponent > 0 ? above : below;
    const std::string shown = is_name(name) ? name : "'" + name + "'";
    side += (side.empty() ? "" : "*") + shown;
    if (std::abs(exponent) != 1) side += fmt::format("^{}", std::abs(exponent));
    count_below += exponent < 0;
  }
  const std::int64_t size = std::abs(term.top);
  if (above.empty() || size != 1) above = fmt::format("{}{}{}", size, above.empty() ? "" : "*", above);
  if (below.empty()) return above;
  return count_below > 1 ? above + "/(" + below + ")" : above + "/" + below;
}

std::string Formula::text() const {
  if (!known_) return "?";
  if (terms_.empty()) return "0";
  std::string out;
  for (const Term& term : terms_) {
    if (!out.empty()) out += term.top < 0 ? " - " : " + ";
    if (out.empty() && term.top < 0) out += '-';
    out += term_text(term);
  }
  return out;
}

Formula Formula::with(const std::map<std::string, Formula>& values) const {
  if (!known_) return *this;
  Formula out;
  for (const Term& term : terms_) {
    Formula part, divisor(1);
    part.terms_.push_back({{}, term.top, term.bottom});
    for (const auto& [name, exponent] : term.powers) {
      const auto found = values.find(name);
      const Formula factor = found == values.end() ? symbol(name) : found->second;
      for (int i = 0; i < std::abs(exponent); ++i)
        (exponent > 0 ? part : divisor) = (exponent > 0 ? part : divisor) * factor;
    }
    out += part.over(divisor);
  }
  return out;
}

Formula Formula::at(const Bindings& values) const {
  std::map<std::string, Formula> made;
  for (const auto& [name, value] : values) made.emplace(name, Formula(value));
  return with(made);
}

}  // namespace calkit::inventory
