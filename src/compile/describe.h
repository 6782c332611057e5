#pragma once
/// calbin.json of a placed package.
#include <string>
#include <vector>

#include "calkit/calbin/package.h"
#include "calkit/compile/pack.h"
#include "inputs.h"
#include "place.h"

namespace calkit::compile {

struct DescribeParts {
  const PackOptions& options;
  const Inputs& inputs;
  const PlaceOptions& place;
  const MemoryPlan& plan;
  const std::vector<PlacedGraph>& graphs;  ///< prefill, decode
  std::string name;
  std::vector<calbin::PackageFile> files;
  std::vector<calbin::Golden> golden;
};

inline constexpr const char* kPackageVersion = "1.0.0";

std::string submodel_name(const std::string& package, const std::string& phase);
calbin::Description describe(DescribeParts parts);

}  // namespace calkit::compile
