#pragma once
// What the two reports of this module say alike.
#include <string>

#include "calkit/base/value.h"
#include "calkit/device/device.h"
#include "calkit/manifest/evidence.h"

namespace calkit::load {

/// Samples that a 95 % upper bound of the percentile needs: the least n with 1 - q^n >= 0.95.
inline constexpr std::size_t kSamplesForP90 = 29;
inline constexpr std::size_t kSamplesForP99 = 299;

Value device_value(const device::RuntimeInfo& runtime);
Value package_value(const device::PackageInfo& package);
std::string device_line(const device::RuntimeInfo& runtime, const device::PackageInfo& package);
manifest::EvidenceDevice evidence_device(const device::RuntimeInfo& runtime);

}  // namespace calkit::load
