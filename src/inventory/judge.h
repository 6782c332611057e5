#pragma once
// Holds nodes against a support matrix; private to the module.
#include <unordered_map>

#include "calkit/inventory/inventory.h"
#include "fact.h"

namespace calkit::inventory {

class Judge {
 public:
  Judge(const manifest::OpSupport& matrix, const std::map<std::string, std::int64_t>& opsets);
  Support judge(const Call& call, std::span<const Fact* const> outputs) const;

 private:
  std::unordered_map<std::string, std::vector<const manifest::OpRow*>> rows_;  ///< by operator
  const std::map<std::string, std::int64_t>& opsets_;
};

}  // namespace calkit::inventory
