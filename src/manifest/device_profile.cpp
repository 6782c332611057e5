#include <fmt/format.h>

#include <bit>

#include "calkit/base/text.h"
#include "calkit/manifest/targets.h"

namespace calkit::embedded {
extern const std::string_view device_calculet_assumed;
}

namespace calkit::manifest {
namespace {

constexpr std::int64_t kMaxChiplets = 64;

/// The sentence that says why a fact is null.
Status check_reason(const Cursor& reasons, std::string_view key) {
  CALKIT_TRY(const std::string reason, reasons.string(key), fmt::format("looking for the reason why {} is null", key));
  if (reason.empty()) return reasons.error("an empty reason", "a sentence that says why the figure is null");
  return {};
}

/// A figure of the device, or null with its reason under `reasons`.
Status check_figure_or_reason(const Cursor& root, const Cursor& reasons, std::string_view key) {
  CALKIT_TRY(const Cursor figure, root.at(key));
  if (figure.value().is_null()) return check_reason(reasons, key);
  CALKIT_TRY(const std::uint64_t known, figure.as_uint(1));
  static_cast<void>(known);
  return {};
}

/// A fact that may be absent (older profiles do not have it), null with a reason, or stated.
Result<std::optional<Cursor>> stated(const Cursor& root, const Cursor& reasons, std::string_view key) {
  if (root.value().find(key) == nullptr) return std::optional<Cursor>();
  CALKIT_TRY(Cursor fact, root.at(key));
  if (!fact.value().is_null()) return std::optional<Cursor>(std::move(fact));
  CALKIT_CHECK_OK(check_reason(reasons, key));
  return std::optional<Cursor>();
}

Result<std::uint64_t> hex_of(const Cursor& at) {
  CALKIT_TRY(const std::string text, at.as_string());
  const auto number = parse_hex_u64(text);
  if (!number) return at.error(fmt::format("'{}'", text), "\"0x...\" of at most 64 bits");
  return *number;
}

Status read_chip_mask(const Cursor& root, const Cursor& reasons, DeviceProfile& profile) {
  CALKIT_TRY(const auto at, stated(root, reasons, "chip_mask"));
  if (!at) return {};
  CALKIT_TRY(const std::uint64_t mask, hex_of(*at));
  if (std::popcount(mask) != profile.chiplets)
    return at->error(fmt::format("{} with {} bits", hex_u64(mask), std::popcount(mask)),
                     fmt::format("a bit for each of the {} chiplets", profile.chiplets));
  profile.chip_mask = mask;
  return {};
}

Status read_control_program(const Cursor& root, const Cursor& reasons, ControlProgram& ccu) {
  CALKIT_TRY(const auto machine, stated(root, reasons, "ccu_machine"));
  if (machine) {
    CALKIT_TRY(ccu.machine, machine->as_string());
  }
  CALKIT_TRY(const auto elf_class, stated(root, reasons, "ccu_class"));
  if (elf_class) {
    CALKIT_TRY(const std::int64_t bits, elf_class->as_int());
    if (bits != 32 && bits != 64) return elf_class->error(fmt::format("{}", bits), "32 or 64");
    ccu.elf_class = static_cast<int>(bits);
  }
  CALKIT_TRY(const auto endian, stated(root, reasons, "ccu_endian"));
  if (endian) {
    CALKIT_TRY(const std::string order, endian->as_word({"little", "big"}));
    ccu.little_endian = order == "little";
  }
  CALKIT_TRY(const auto flags, stated(root, reasons, "ccu_flags"));
  if (flags) {
    CALKIT_TRY(ccu.flags, hex_of(*flags));
  }
  CALKIT_TRY(const auto type, stated(root, reasons, "ccu_type"));
  if (type) {
    CALKIT_TRY(ccu.type, type->as_word({"exec", "dyn"}));
  }
  return {};
}

Result<DeviceProfile> parse_profile(const Cursor& root) {
  CALKIT_CHECK_OK(
      root.only({"schema", "name", "assumed", "chiplets", "dram_bytes_per_chiplet", "guard_bytes_per_chiplet",
                 "calcores_per_chiplet", "sram_bytes_per_chiplet", "link_bytes_per_s", "chip_mask", "ccu_machine",
                 "ccu_class", "ccu_endian", "ccu_flags", "ccu_type", "reasons"}));
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
  CALKIT_CHECK_OK(reasons.only({"calcores_per_chiplet", "sram_bytes_per_chiplet", "link_bytes_per_s", "chip_mask",
                                "ccu_machine", "ccu_class", "ccu_endian", "ccu_flags", "ccu_type"}));
  for (const char* key : {"calcores_per_chiplet", "sram_bytes_per_chiplet", "link_bytes_per_s"})
    CALKIT_CHECK_OK(check_figure_or_reason(root, reasons, key));
  CALKIT_CHECK_OK(read_chip_mask(root, reasons, profile));
  CALKIT_CHECK_OK(read_control_program(root, reasons, profile.ccu));
  return profile;
}

Result<DeviceProfile> parse_default() {
  const std::string file = "built-in calculet-assumed.yaml";
  CALKIT_TRY(const Value document, parse_yaml(embedded::device_calculet_assumed, file));
  return parse_profile(Cursor(document, file));
}

}  // namespace

Result<DeviceProfile> read_device_profile(const std::filesystem::path& path) {
  CALKIT_TRY(const Value document, read_yaml(path), "reading the device profile");
  return parse_profile(Cursor(document, path.string()));
}

Result<DeviceProfile> default_device_profile() {
  static const Result<DeviceProfile> parsed = parse_default();
  return parsed;
}

}  // namespace calkit::manifest
