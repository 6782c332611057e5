#include <fmt/format.h>

#include "calkit/manifest/targets.h"

namespace calkit::embedded {
extern const std::string_view device_calculet_assumed;
}

namespace calkit::manifest {
namespace {

constexpr std::int64_t kMaxChiplets = 64;

/// A figure of the device, or null with its reason under `reasons`.
Status check_figure_or_reason(const Cursor& root, const Cursor& reasons, std::string_view key) {
  CALKIT_TRY(const Cursor figure, root.at(key));
  if (!figure.value().is_null()) {
    CALKIT_TRY(const std::uint64_t known, figure.as_uint(1));
    static_cast<void>(known);
    return {};
  }
  CALKIT_TRY(const std::string reason, reasons.string(key), fmt::format("looking for the reason why {} is null", key));
  if (reason.empty()) return reasons.error("an empty reason", "a sentence that says why the figure is null");
  return {};
}

Result<DeviceProfile> parse_profile(const Cursor& root) {
  CALKIT_CHECK_OK(
      root.only({"schema", "name", "assumed", "chiplets", "dram_bytes_per_chiplet", "guard_bytes_per_chiplet",
                 "calcores_per_chiplet", "sram_bytes_per_chiplet", "link_bytes_per_s", "reasons"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({"calkit.device-profile/1"}));
  static_cast<void>(word);
  DeviceProfile profile;
  CALKIT_TRY(profile.name, root.string("name"));
  CALKIT_TRY(profile.assumed, root.boolean("assumed"));
  CALKIT_TRY(profile.chiplets, root.integer("chiplets", 1, kMaxChiplets));
  CALKIT_TRY(profile.dram_bytes, root.uinteger("dram_bytes_per_chiplet", 1));
  // usable_bytes() subtracts: the guard must leave something.
  CALKIT_TRY(profile.guard_bytes, root.uinteger("guard_bytes_per_chiplet", 0, profile.dram_bytes - 1));
  CALKIT_TRY(const Cursor reasons, root.at("reasons"));
  CALKIT_CHECK_OK(reasons.only({"calcores_per_chiplet", "sram_bytes_per_chiplet", "link_bytes_per_s"}));
  for (const char* key : {"calcores_per_chiplet", "sram_bytes_per_chiplet", "link_bytes_per_s"})
    CALKIT_CHECK_OK(check_figure_or_reason(root, reasons, key));
  return profile;
}

}  // namespace

Result<DeviceProfile> read_device_profile(const std::filesystem::path& path) {
  CALKIT_TRY(const Value document, read_yaml(path), "reading the device profile");
  return parse_profile(Cursor(document, path.string()));
}

Result<DeviceProfile> default_device_profile() {
  const std::string file = "built-in calculet-assumed.yaml";
  CALKIT_TRY(const Value document, parse_yaml(embedded::device_calculet_assumed, file));
  return parse_profile(Cursor(document, file));
}

}  // namespace calkit::manifest
