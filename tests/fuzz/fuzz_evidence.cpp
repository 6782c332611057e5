// Evidence records and service manifests from outside: read strictly or refused, never a crash.
#include <cstdint>
#include <filesystem>

#include "calkit/manifest/evidence.h"
#include "calkit/manifest/service.h"
#include "calkit/manifest/targets.h"
#include "scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path& path = calkit::fuzz::as_file(data, size);
  static_cast<void>(calkit::manifest::read_evidence(path).ok());
  const auto service = calkit::manifest::read_service(path);
  if (service.ok()) static_cast<void>(calkit::manifest::to_yaml(*service));
  static_cast<void>(calkit::manifest::read_project(path).ok());
  static_cast<void>(calkit::manifest::read_device_profile(path).ok());
  return 0;
}
