/// Family 12: golden inputs and outputs.
#include "families.h"

namespace calkit::lint {

std::vector<Rule> golden_rules() {
  return {};
}

}  // namespace calkit::lint
