/// Machines by name: the e_machine numbers of the ELF registry for processors that control accelerators.
#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/calbin/elf.h"

namespace calkit::calbin {

namespace {

struct Machine {
  std::string_view name;
  std::uint16_t number;
};
constexpr Machine kMachines[] = {
    {"sparc", 2},   {"i386", 3},    {"m68k", 4},      {"mips", 8},       {"powerpc", 20},     {"powerpc64", 21},
    {"s390", 22},   {"arm", 40},    {"superh", 42},   {"x86_64", 62},    {"openrisc", 92},    {"arc", 93},
    {"xtensa", 94}, {"nios2", 113}, {"hexagon", 164}, {"aarch64", 183},  {"microblaze", 189}, {"arcv2", 195},
    {"riscv", 243}, {"bpf", 247},   {"csky", 252},    {"loongarch", 258}};

}  // namespace

std::optional<std::uint16_t> elf_machine(std::string_view name) {
  for (const auto& machine : kMachines)
    if (machine.name == name) return machine.number;
  const auto number = parse_hex_u64(name);
  if (!number || *number > 0xffff) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

std::string elf_machine_text(std::uint16_t machine) {
  for (const auto& known : kMachines)
    if (known.number == machine) return fmt::format("{} ({})", known.name, machine);
  return fmt::format("machine {}", machine);
}

}  // namespace calkit::calbin
