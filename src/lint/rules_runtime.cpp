/// Family 02, second part: the versions a package asks for, against the runtime at hand and the support matrix.
#include <fmt/format.h>

#include "families.h"

namespace calkit::lint {

namespace {

using manifest::Version;
using manifest::VersionRange;

/// Milder than the rule: nobody said that it fails, only that nobody said it works.
void error(Check& check, const std::string& pointer, Check::Said said) {
  check.report_in(kDescriptionFile, pointer, calbin::line_of(*check.facts().document, pointer), std::move(said),
                  Severity::kError);
}

/// False when a field is missing (CB0204 tells) or no range (told here).
bool ranges_readable(Check& check) {
  const auto& compat = check.d().compat;
  bool good = true;
  for (const auto& [key, text] :
       {std::pair{"runtime_abi", &compat.runtime_abi}, {"driver", &compat.driver}, {"firmware", &compat.firmware}}) {
    const auto pointer = fmt::format("/package/compat/{}", key);
    if (!check.usable(pointer)) {
      good = false;
    } else if (!VersionRange::parse(*text).ok()) {
      good = false;
      error(check, pointer,
            {fmt::format("compat.{} is no version range", key), fmt::format("'{}'", *text),
             "any, an exact version, or bounds such as >=0.7.6 <0.8", "name the versions the package was built for"});
    }
  }
  return good;
}

void look_up(Check& check, const Version& runtime) {
  const auto& compat = check.d().compat;
  const auto& matrix = *check.facts().support;
  const auto* row = matrix.find(runtime, {compat.runtime_abi, compat.driver, compat.firmware, compat.device});
  const std::string found =
      fmt::format("runtime {}, driver {}, firmware {}, device {}", check.facts().inputs.runtime_abi, compat.driver,
                  compat.firmware, compat.device);
  if (row == nullptr)
    return error(check, "/package/compat",
                 {"nobody has said whether this runtime runs packages of this device", found,
                  fmt::format("a row of {}", matrix.source),
                  "add the row once the combination was tried or the vendor has stated it"});
  if (!row->supported)
    check.report("/package/compat", {"the support matrix refuses this combination", found,
                                     fmt::format("{}: {}", matrix.source, row->reason),
                                     "take a package for this runtime, driver and firmware, or update them"});
}

/// Names are compared whole: a device's name may begin another's.
void check_target(Check& check) {
  const std::string& wanted = check.service()->target;
  const std::string& made_for = check.d().compat.device;
  if (!wanted.empty() && wanted != made_for && check.usable("/package/compat/device"))
    check.report("/package/compat/device",
                 {"the package is made for another device than the service wants", fmt::format("'{}'", made_for),
                  fmt::format("service manifest target '{}', spelt exactly so", wanted),
                  "take the package made for that device, or correct the manifest's target"});
}

void check_runtime(Check& check) {
  if (!ranges_readable(check)) return;
  const char* at = "/package/compat/runtime_abi";
  const std::string& abi = check.d().compat.runtime_abi;
  const auto range = VersionRange::parse(abi);
  const std::string& ours = check.facts().inputs.runtime_abi;
  const auto runtime = Version::parse(ours);
  if (!runtime) return check.not_evaluated(fmt::format("'{}' is no runtime version", ours));
  if (!range->contains(*runtime))
    check.report(at, {"the package is built for another runtime", fmt::format("'{}'", abi),
                      fmt::format("'{}', which the runtime at hand speaks", ours), "pack for this runtime ABI"});
  else if (check.usable("/package/compat/device"))
    look_up(check, *runtime);
  if (check.service() == nullptr) return check.left_out("no --service given: not compared with its runtime_abi");
  const std::string& served = check.service()->runtime_abi;
  const auto wanted = Version::parse(served);
  if (!wanted || !range->contains(*wanted))
    check.report(at, {"the service expects another runtime than the package", fmt::format("'{}'", abi),
                      fmt::format("service manifest runtime_abi '{}'", served),
                      "take the package built for that ABI, or update the manifest"});
  check_target(check);
}

}  // namespace

std::vector<Rule> runtime_rules() {
  return {
      {{"CB0209", "runtime-incompatible", Severity::kBlocker, RuleClass::kIncompatible,
        "package, service, runtime and support matrix allow one combination of versions", "§6.7"},
       {"/package/compat/runtime_abi,driver,firmware,device"},
       &check_runtime},
  };
}

}  // namespace calkit::lint
