#pragma once
// What the commands that drive a device share.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "calkit/base/paths.h"
#include "calkit/base/text.h"
#include "command.h"

namespace calkit::cli {

inline constexpr std::uint64_t kMostSeed = (1ull << 63) - 1;

/// An option that takes a whole number within the bounds.
inline CLI::Option* add_number(CLI::App& app, const char* name, std::uint64_t& into, std::uint64_t least,
                               std::uint64_t most, const char* help) {
  return app.add_option(name, into, help)->type_name("N")->check(whole_number(least, most));
}

/// Accepts "16,128": plain decimal numbers within the bounds, each once, no empty item. numbers_of() reads what it
/// accepted.
inline CLI::Validator whole_numbers(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        std::set<std::uint64_t> seen;
        for (const std::string& item : split(text, ',')) {
          const auto value = parse_decimal_u64(item);
          if (!value || *value < least || *value > most)
            return fmt::format("the item '{}' is no whole number from {} to {}", printable(item), least, most);
          if (!seen.insert(*value).second) return fmt::format("{} is there twice; allowed: each once", *value);
        }
        return std::string();
      },
      fmt::format("{}..{}", least, most), "whole numbers");
}
inline std::vector<std::int64_t> numbers_of(const std::string& checked) {
  std::vector<std::int64_t> out;
  for (const std::string& item : split(checked, ','))
    out.push_back(static_cast<std::int64_t>(parse_decimal_u64(item).value_or(0)));
  return out;
}

/// --device and --timeout.
inline void add_device_options(CLI::App& app, std::string& device, double& timeout_s) {
  const auto known = [](const std::string& name) {
    constexpr std::string_view kPlugin = "plugin:";
    const bool good = name == "emu" || (name.starts_with(kPlugin) && name.size() > kPlugin.size());
    return good ? std::string() : fmt::format("'{}' is no device; allowed: emu or plugin:PATH", printable(name));
  };
  app.add_option("--device", device, "`emu` (emulated) or plugin:PATH")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(known);
  app.add_option("--timeout", timeout_s, "limit of configure and of each step")
      ->type_name("SECONDS")
      ->capture_default_str();
}

inline Result<std::chrono::nanoseconds> timeout_from_seconds(double seconds) {
  if (!(seconds >= 0.001 && seconds <= 86400))
    return Error(ErrorKind::kUsage, fmt::format("--timeout is {}; allowed: 0.001 to 86400 seconds", seconds));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

/// kUsage if writing the CSV would change what is measured: the service manifest, or anything in the package's folder.
inline Status check_csv_target(const std::string& csv, const std::string& package, const std::string& service) {
  if (csv.empty()) return {};
  namespace fs = std::filesystem;
  const auto refuse = [&](const char* what) {
    return Error(ErrorKind::kUsage, fmt::format("--csv is '{}', {}", printable(csv, 200), what),
                 "name a file outside of the inputs");
  };
  std::error_code bad;
  for (const char* ending : {"", ".partial"}) {
    const fs::path target = fs::weakly_canonical(csv + ending, bad);
    if (bad) return Error(ErrorKind::kIo, fmt::format("--csv {}: {}", printable(csv, 200), bad.message()));
    if (lies_inside(target, service)) return refuse("the service manifest");
    if (lies_inside(target, package)) return refuse("in the package's folder");
  }
  return {};
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
