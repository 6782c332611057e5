#pragma once
/// Exact arithmetic on the symbols of a graph: "2*B*S + 16", "past + seq", "1200/(B*S)". A sum of terms with rational
/// coefficients and whole exponents. What cannot be said exactly is unknown, and everything made of it is unknown too.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace calkit::inventory {

using Bindings = std::map<std::string, std::int64_t>;

class Formula {
 public:
  Formula() = default;      ///< 0
  Formula(std::int64_t n);  // NOLINT: a number is a formula
  static Formula unknown();
  static Formula symbol(std::string name);
  /// Sums, differences and products of names and whole numbers are read as such ("s15 + 1"); any other text is the name
  /// of a symbol.
  static Formula parse(std::string_view text);

  bool known() const { return known_; }
  std::optional<std::int64_t> whole() const;  ///< a whole number without symbols
  std::optional<double> number() const;       ///< a number without symbols
  /// No term is negative: true for every sum and product of extents.
  bool never_negative() const;
  bool is_zero() const { return known_ && terms_.empty(); }
  std::set<std::string> symbols() const;

  /// Exact division of polynomials; a divisor of one term may leave negative exponents. Unknown where it does not come
  /// out.
  Formula over(const Formula& divisor) const;
  /// Unknown unless the quotient has whole coefficients and no negative exponents, as an extent has.
  Formula whole_over(const Formula& divisor) const;
  /// True when every value of the symbols gives a multiple of n.
  bool multiple_of(std::int64_t n) const;
  Formula at(const Bindings& values) const;
  Formula with(const std::map<std::string, Formula>& values) const;
  std::string text() const;  ///< "?" when unknown

  Formula& operator+=(const Formula& other);
  friend Formula operator+(const Formula& a, const Formula& b);
  friend Formula operator-(const Formula& a, const Formula& b);
  friend Formula operator*(const Formula& a, const Formula& b);
  /// The same for all values of the symbols. The unknown equals nothing.
  friend bool operator==(const Formula& a, const Formula& b);

 private:
  using Powers = std::vector<std::pair<std::string, int>>;  ///< by name, no exponent is 0
  struct Term {
    Powers powers;
    std::int64_t top = 0, bottom = 1;
  };
  static int compare(const Powers& a, const Powers& b);
  static std::optional<Powers> product(const Powers& a, const Powers& b, int sign);
  static std::optional<Term> multiply(const Term& a, const Term& b);
  static std::optional<Term> divide(const Term& a, const Term& b);
  bool add(const Term& term);  ///< false: cannot be held exactly
  std::string term_text(const Term& term) const;

  std::vector<Term> terms_;  ///< largest first, in the order of compare()
  bool known_ = true;
};

}  // namespace calkit::inventory
