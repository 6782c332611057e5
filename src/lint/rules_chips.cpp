/// Family 09: chips of the package and how the model is divided over them.
#include "families.h"

namespace calkit::lint {

std::vector<Rule> chip_rules() {
  return {};
}

}  // namespace calkit::lint
