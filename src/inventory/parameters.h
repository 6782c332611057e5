#pragma once
// Which parameters of operators are in the file and which are computed; private to the module.
#include <map>

#include "calkit/inventory/inventory.h"
#include "fact.h"

namespace calkit::inventory {

class Parameters {
 public:
  void add(const Call& call, const std::string& op);
  std::vector<Parameter> take();

 private:
  std::map<std::pair<std::string, std::string>, Parameter> rows_;
};

}  // namespace calkit::inventory
