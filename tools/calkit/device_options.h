#pragma once
// What the commands that drive a device share.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "command.h"

namespace calkit::cli {

/// --device and --timeout.
inline void add_device_options(CLI::App& app, std::string& device, double& timeout_s) {
  app.add_option("--device", device, "`emu` (emulated) or plugin:PATH")->type_name("NAME")->capture_default_str();
  app.add_option("--timeout", timeout_s, "limit of configure and of each step")
      ->type_name("SECONDS")
      ->capture_default_str();
}

inline Result<std::chrono::nanoseconds> timeout_from_seconds(double seconds) {
  if (!(seconds >= 0.001 && seconds <= 86400))
    return Error(ErrorKind::kUsage, fmt::format("--timeout is {}; allowed: 0.001 to 86400 seconds", seconds));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

/// Hashes the named inputs into the record; an empty path is an option that was not given.
inline Status add_inputs(manifest::Evidence& evidence,
                         const std::vector<std::pair<std::string, std::string>>& role_and_path) {
  for (const auto& [role, path] : role_and_path) {
    if (path.empty()) continue;
    CALKIT_TRY(auto file, manifest::evidence_file(role, path), "hashing the inputs");
    evidence.inputs.push_back(std::move(file));
  }
  return {};
}

}  // namespace calkit::cli
