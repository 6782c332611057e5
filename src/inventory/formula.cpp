#include "calkit/inventory/formula.h"

#include <algorithm>
#include <numeric>

#include "calkit/base/checked.h"

namespace calkit::inventory {
namespace {

constexpr std::size_t kMaxTerms = 64;  // graphs have a handful; a hostile one must not make products explode
constexpr int kMaxExponent = 32;

struct Fraction {
  std::int64_t top = 0, bottom = 1;
};

std::optional<Fraction> reduced(std::optional<std::int64_t> top, std::optional<std::int64_t> bottom) {
  if (!top || !bottom || *bottom == 0 || *top == INT64_MIN || *bottom == INT64_MIN) return std::nullopt;
  const std::int64_t common = std::gcd(*top, *bottom) * (*bottom < 0 ? -1 : 1);
  return Fraction{*top / common, *bottom / common};
}

}  // namespace

Formula::Formula(std::int64_t n) {
  if (n != 0) terms_.push_back({{}, n, 1});
}

Formula Formula::unknown() {
  Formula out;
  out.known_ = false;
  return out;
}

Formula Formula::symbol(std::string name) {
  Formula out;
  out.terms_.push_back({{{std::move(name), 1}}, 1, 1});
  return out;
}

// Lexicographic: at the first symbol where they differ, the larger exponent is larger. Products keep this order.
int Formula::compare(const Powers& a, const Powers& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first)) return a[i].second > 0 ? 1 : -1;
    if (i == a.size() || b[j].first < a[i].first) return b[j].second > 0 ? -1 : 1;
    if (a[i].second != b[j].second) return a[i].second > b[j].second ? 1 : -1;
    ++i, ++j;
  }
  return 0;
}

std::optional<Formula::Powers> Formula::product(const Powers& a, const Powers& b, int sign) {
  Powers out;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first)) {
      out.push_back(a[i++]);
    } else if (i == a.size() || b[j].first < a[i].first) {
      out.emplace_back(b[j].first, sign * b[j].second);
      ++j;
    } else {
      const int exponent = a[i].second + sign * b[j].second;
      if (exponent != 0) out.emplace_back(a[i].first, exponent);
      ++i, ++j;
    }
    if (!out.empty() && std::abs(out.back().second) > kMaxExponent) return std::nullopt;
  }
  return out;
}

std::optional<Formula::Term> Formula::multiply(const Term& a, const Term& b) {
  const auto powers = product(a.powers, b.powers, 1);
  const auto value = reduced(checked_mul(a.top, b.top), checked_mul(a.bottom, b.bottom));
  if (!powers || !value) return std::nullopt;
  return Term{*powers, value->top, value->bottom};
}

std::optional<Formula::Term> Formula::divide(const Term& a, const Term& b) {
  const auto powers = product(a.powers, b.powers, -1);
  const auto value = reduced(checked_mul(a.top, b.bottom), checked_mul(a.bottom, b.top));
  if (!powers || !value) return std::nullopt;
  return Term{*powers, value->top, value->bottom};
}

bool Formula::add(const Term& term) {
  const auto place = std::lower_bound(terms_.begin(), terms_.end(), term,
                                      [](const Term& a, const Term& b) { return compare(a.powers, b.powers) > 0; });
  if (place == terms_.end() || compare(place->powers, term.powers) != 0) {
    if (terms_.size() == kMaxTerms) return false;
    terms_.insert(place, term);
    return true;
  }
  const auto left = checked_mul(place->top, term.bottom), right = checked_mul(term.top, place->bottom);
  if (!left || !right) return false;
  const auto value = reduced(checked_add(*left, *right), checked_mul(place->bottom, term.bottom));
  if (!value) return false;
  place->top = value->top;
  place->bottom = value->bottom;
  if (place->top == 0) terms_.erase(place);
  return true;
}

Formula& Formula::operator+=(const Formula& other) {
  if (!known_ || !other.known_) return *this = unknown();
  for (const Term& term : other.terms_)
    if (!add(term)) return *this = unknown();
  return *this;
}

Formula operator+(const Formula& a, const Formula& b) {
  Formula out = a;
  return out += b;
}

Formula operator-(const Formula& a, const Formula& b) {
  return a + b * Formula(-1);
}

Formula operator*(const Formula& a, const Formula& b) {
  if (!a.known_ || !b.known_) return Formula::unknown();
  Formula out;
  for (const auto& left : a.terms_)
    for (const auto& right : b.terms_) {
      const auto term = Formula::multiply(left, right);
      if (!term || !out.add(*term)) return Formula::unknown();
    }
  return out;
}

bool operator==(const Formula& a, const Formula& b) {
  if (!a.known_ || !b.known_ || a.terms_.size() != b.terms_.size()) return false;
  return std::equal(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), [](const auto& x, const auto& y) {
    return x.top == y.top && x.bottom == y.bottom && x.powers == y.powers;
  });
}

Formula Formula::over(const Formula& divisor) const {
  if (!known_ || !divisor.known_ || divisor.terms_.empty()) return unknown();
  Formula rest = *this, out;
  for (std::size_t step = 0; !rest.terms_.empty(); ++step) {
    const auto term = step < kMaxTerms ? divide(rest.terms_.front(), divisor.terms_.front()) : std::nullopt;
    if (!term || !out.add(*term)) return unknown();
    Formula part;
    part.terms_.push_back(*term);
    rest = rest - part * divisor;
    if (!rest.known_) return unknown();
  }
  return out;
}

Formula Formula::whole_over(const Formula& divisor) const {
  Formula out = over(divisor);
  for (const Term& term : out.terms_) {
    const bool negative =
        std::any_of(term.powers.begin(), term.powers.end(), [](const auto& power) { return power.second < 0; });
    if (term.bottom != 1 || negative) return unknown();
  }
  return out;
}

bool Formula::multiple_of(std::int64_t n) const {
  return known_ && n != 0 && std::all_of(terms_.begin(), terms_.end(), [n](const Term& term) {
           return term.bottom == 1 && term.top % n == 0 &&
                  std::all_of(term.powers.begin(), term.powers.end(),
                              [](const auto& power) { return power.second > 0; });
         });
}

std::optional<std::int64_t> Formula::whole() const {
  if (!known_ || terms_.size() > 1) return std::nullopt;
  if (terms_.empty()) return 0;
  const Term& term = terms_.front();
  return term.powers.empty() && term.bottom == 1 ? std::optional(term.top) : std::nullopt;
}

std::optional<double> Formula::number() const {
  if (!known_ || terms_.size() > 1) return std::nullopt;
  if (terms_.empty()) return 0.0;
  const Term& term = terms_.front();
  if (!term.powers.empty()) return std::nullopt;
  return static_cast<double>(term.top) / static_cast<double>(term.bottom);
}

bool Formula::never_negative() const {
  return known_ && std::all_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.top > 0; });
}

std::set<std::string> Formula::symbols() const {
  std::set<std::string> out;
  for (const Term& term : terms_)
    for (const auto& [name, exponent] : term.powers) out.insert(name);
  return out;
}

}  // namespace calkit::inventory
