/// Family 05, second part: the reservations of a chip form a tree, and no two share bytes unasked.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "families.h"

namespace calkit::lint {

namespace {

const calbin::Region* parent_of(const Check& check, const calbin::Region& region) {
  return region.parent.empty() ? nullptr : check.region(region.parent);
}

/// Who says to share bytes with whom.
using Sharing = std::set<std::pair<const calbin::Region*, const calbin::Region*>>;

Sharing sharing_of(Check& check) {
  Sharing out;
  check.each_region([&](const calbin::Region& region, const std::string&) {
    for (const auto& id : region.shared_with)
      if (const auto* other = check.region(id)) out.emplace(&region, other);
  });
  return out;
}

/// True when one of the two lies above the other in the tree of reservations, or they are declared as shared.
bool may_overlap(const Check& check, const Sharing& said, const calbin::Region& a, const calbin::Region& b) {
  const auto is_above = [&](const calbin::Region& upper, const calbin::Region& lower) {
    const auto* at = &lower;
    for (int steps = 0; at != nullptr && !at->parent.empty() && steps < 64; ++steps) {
      if (at->parent == upper.id) return true;
      at = parent_of(check, *at);
    }
    return false;
  };
  return is_above(a, b) || is_above(b, a) || (said.contains({&a, &b}) && said.contains({&b, &a}));
}

/// Sharing is agreed between two; where they overlap all the same, that is the finding.
void check_sharing(Check& check, const Sharing& said) {
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    for (std::size_t i = 0; i < region.shared_with.size(); ++i) {
      const auto* other = check.region(region.shared_with[i]);
      if (other == nullptr) continue;  // CB0204
      const bool self = other == &region;
      const bool one_place = other->chip == region.chip && other->space == region.space;
      const bool overlapping = one_place && overlap(region.base, region.size, other->base, other->size);
      if (!self && (said.contains({other, &region}) || (overlapping && !may_overlap(check, said, region, *other))))
        continue;
      check.report_in(kDescriptionFile, fmt::format("{}/shared_with/{}", pointer, i), 0,
                      {self ? fmt::format("region '{}' is said to share bytes with itself", region.id)
                            : fmt::format("region '{}' says that it shares bytes with '{}', which does not say so",
                                          region.id, other->id),
                       fmt::format("'{}'", other->id), "shared_with on both regions, or on none",
                       "have the memory plan say on both sides what is meant"},
                      Severity::kError);
    }
  });
}

void check_region_overlap(Check& check) {
  const Sharing said = sharing_of(check);
  check_sharing(check, said);
  constexpr std::uint64_t kMaxPairs = 100000;
  struct Place {
    const calbin::Region* region;
    std::string pointer;
  };
  std::vector<Place> places;
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    if (region.size != 0 && !wraps(region.base, region.size)) places.push_back({&region, pointer});
  });
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.region->chip, a.region->space, a.region->base) <
           std::tie(b.region->chip, b.region->space, b.region->base);
  });
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& a = *places[i].region;
    for (std::size_t k = i + 1; k < places.size(); ++k) {
      const auto& b = *places[k].region;
      if (b.chip != a.chip || b.space != a.space || b.base >= a.base + a.size) break;
      if (++pairs > kMaxPairs)
        return check.not_evaluated(fmt::format("more than {} pairs of regions overlap", kMaxPairs));
      if (may_overlap(check, said, a, b)) continue;
      check.report(places[k].pointer, {fmt::format("regions '{}' and '{}' share bytes on chip {}", a.id, b.id, a.chip),
                                       fmt::format("'{}' {}", b.id, range_text(b.base, b.size)),
                                       fmt::format("outside '{}' {}", a.id, range_text(a.base, a.size)),
                                       "separate them, or declare shared_with on both if that is meant"});
    }
  }
}

void check_region_parent(Check& check) {
  check.each_region([&](const calbin::Region& region, const std::string& pointer) {
    if (region.parent.empty() || wraps(region.base, region.size)) return;
    const auto* parent = parent_of(check, region);
    if (parent == nullptr || wraps(parent->base, parent->size)) return;
    const auto* at = &region;
    for (std::size_t steps = 0; at != nullptr && !at->parent.empty(); ++steps, at = parent_of(check, *at)) {
      if (steps > 64 || (steps > 0 && at == &region)) {
        check.report(pointer + "/parent",
                     {fmt::format("the parents of region '{}' form a ring or a chain without end", region.id),
                      fmt::format("'{}'", region.parent), "a tree of reservations", "correct the memory plan"});
        return;
      }
    }
    if (parent->chip == region.chip && parent->space == region.space && contains(*parent, region.base, region.size))
      return;
    check.report(pointer,
                 {fmt::format("region '{}' lies outside its parent", region.id),
                  fmt::format("{} in {} of chip {}", range_text(region.base, region.size), region.space, region.chip),
                  fmt::format("'{}' {} in {} of chip {}", parent->id, range_text(parent->base, parent->size),
                              parent->space, parent->chip),
                  "enlarge the global reservation, or correct the submodel's"});
  });
}

}  // namespace

std::vector<Rule> region_rules() {
  return {
      {{"CB0504", "region-overlap", Severity::kBlocker, RuleClass::kInvalid,
        "regions of one chip share no bytes, unless nested or declared", "7b"},
       {kRegionPlace, "/memory/regions/*/parent,shared_with"},
       &check_region_overlap},
      {{"CB0510", "submodel-outside-global", Severity::kError, RuleClass::kInvalid,
        "every region lies inside its parent", "7b", Maturity::kPreview},
       {kRegionPlace, "/memory/regions/*/parent"},
       &check_region_parent},
  };
}

}  // namespace calkit::lint
