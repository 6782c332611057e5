#include "render.h"

#include <fmt/format.h>

namespace calkit::load {

Value device_value(const device::RuntimeInfo& runtime) {
  return Value::object({{"kind", runtime.emulated ? "emulated" : "plugin"},
                        {"name", runtime.name},
                        {"runtime_version", runtime.runtime_version},
                        {"driver_version", runtime.driver_version},
                        {"firmware_version", runtime.firmware_version}});
}

Value package_value(const device::PackageInfo& package) {
  return Value::object({{"name", package.name}, {"version", package.version}, {"digest", package.digest}});
}

std::string device_line(const device::RuntimeInfo& runtime, const device::PackageInfo& package) {
  return fmt::format("device {}{}, package {} {}\n", runtime.name,
                     runtime.emulated ? " (emulated: no figure here is hardware performance)" : "", package.name,
                     package.version);
}

manifest::EvidenceDevice evidence_device(const device::RuntimeInfo& runtime) {
  return {runtime.emulated ? "emulated" : "plugin", runtime.name, runtime.runtime_version, runtime.driver_version,
          runtime.firmware_version};
}

}  // namespace calkit::load
