/// Family 13: quantisation schemes, scales and calibration.
#include "families.h"

namespace calkit::lint {

std::vector<Rule> quant_rules() {
  return {};
}

}  // namespace calkit::lint
