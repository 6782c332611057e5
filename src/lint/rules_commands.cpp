/// Family 10: command binaries and ELF images.
#include "families.h"

namespace calkit::lint {

std::vector<Rule> command_rules() {
  return {};
}

}  // namespace calkit::lint
