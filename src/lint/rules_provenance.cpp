/// Family 11: where the package comes from, and what it should not carry.
#include "families.h"

namespace calkit::lint {

std::vector<Rule> provenance_rules() {
  return {};
}

}  // namespace calkit::lint
