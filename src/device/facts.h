#pragma once
/// What a loaded package says of itself through the boundary, and the check of a service manifest against it.
#include <memory>

#include "calkit/device/device.h"
#include "connection.h"

namespace calkit::device {

Result<PackageInfo> read_package_info(const Connection& connection);

/// The layout of one tensor, checked once so that readers and writers need not.
Result<calkit_tensor_info_v1> read_tensor(const Connection& connection, const std::string& model,
                                          std::uint32_t direction, std::uint32_t index);

/// kInput for the first field in which manifest and package differ: field, found, expected.
Status check_binding(const Connection& connection, const PackageInfo& package,
                     const manifest::ServiceManifest& service);

}  // namespace calkit::device
