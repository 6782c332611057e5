#include "calkit/manifest/version_range.h"

#include <fmt/format.h>

#include "calkit/base/text.h"

namespace calkit::manifest {
namespace {

constexpr std::size_t kMaxNumbers = 8;

struct Relation {
  std::string_view sign;
  bool low, high, included;
};
constexpr Relation kRelations[] = {{">=", true, false, true},
                                   {"<=", false, true, true},
                                   {">", true, false, false},
                                   {"<", false, true, false},
                                   {"", true, true, true}};

Error bad(std::string_view text, std::string_view part) {
  return input_error("version range", fmt::format("'{}'", text), fmt::format("'{}' in it", part),
                     "any, an exact version such as 0.7.6, or bounds such as >=0.7.6 <0.8",
                     "write numbers between dots, and >=, >, < or <= before a bound");
}

}  // namespace

std::optional<Version> Version::parse(std::string_view text) {
  Version out;
  for (const auto& part : split(text, '.')) {
    const auto number = parse_decimal_u64(part);
    if (!number || (part.size() > 1 && part[0] == '0') || out.numbers_.size() == kMaxNumbers) return std::nullopt;
    out.numbers_.push_back(*number);
  }
  while (!out.numbers_.empty() && out.numbers_.back() == 0) out.numbers_.pop_back();
  return out;
}

Result<VersionRange> VersionRange::parse(std::string_view text) {
  VersionRange out;
  if (text == "any") return out;
  for (const auto& part : split(text, ' ')) {
    for (const auto& relation : kRelations) {
      if (!part.starts_with(relation.sign)) continue;
      const auto version = Version::parse(std::string_view(part).substr(relation.sign.size()));
      if (!version) return bad(text, part);
      const Bound bound{*version, relation.included};
      if ((relation.low && out.low_) || (relation.high && out.high_)) return bad(text, part);
      if (relation.low) out.low_ = bound;
      if (relation.high) out.high_ = bound;
      break;
    }
  }
  if (!out.leaves_room(out.low_, out.high_)) return bad(text, text);
  return out;
}

bool VersionRange::leaves_room(const std::optional<Bound>& low, const std::optional<Bound>& high) const {
  if (!low || !high) return true;
  return low->version < high->version || (low->version == high->version && low->included && high->included);
}

bool VersionRange::contains(const Version& version) const {
  const bool above = !low_ || version > low_->version || (version == low_->version && low_->included);
  const bool below = !high_ || version < high_->version || (version == high_->version && high_->included);
  return above && below;
}

bool VersionRange::meets(const VersionRange& other) const {
  return leaves_room(low_, other.high_) && leaves_room(other.low_, high_);
}

}  // namespace calkit::manifest
