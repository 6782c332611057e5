#pragma once
/// Ranges of versions, as packages and the support matrix state them: "any", an exact version ("0.7.6"), or bounds that
/// all must hold (">=0.7.6 <0.8").
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::manifest {

/// Numbers between dots; missing ones count as 0, so 0.8 and 0.8.0 are equal.
class Version {
 public:
  static std::optional<Version> parse(std::string_view text);
  std::strong_ordering operator<=>(const Version& other) const { return numbers_ <=> other.numbers_; }
  bool operator==(const Version& other) const = default;

 private:
  std::vector<std::uint64_t> numbers_;  ///< without zeros at the end
};

class VersionRange {
 public:
  /// kInput names the part that is no bound.
  static Result<VersionRange> parse(std::string_view text);
  bool contains(const Version& version) const;
  /// A version exists that both contain, versions being dense.
  bool meets(const VersionRange& other) const;

 private:
  struct Bound {
    Version version;
    bool included = true;
  };
  bool leaves_room(const std::optional<Bound>& low, const std::optional<Bound>& high) const;
  std::optional<Bound> low_, high_;
};

}  // namespace calkit::manifest
