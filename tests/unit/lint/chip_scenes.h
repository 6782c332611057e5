#pragma once
/// Steps that the cases of families 09 and 10 share: the good package on two chips, with commands, with a control
/// program.
#include "elf_builder.h"
#include "lint_case.h"

namespace calkit::lint {

/// Chip 1 (or another) joins, and nothing lies on it yet.
void add_bare_chip(Scene& scene, std::int64_t chip = 1);
/// The same with a parameter of its own; the submodels stay on chip 0.
void add_chip(Scene& scene, std::int64_t chip = 1);
/// The decode submodel runs on chips 0 and 1 under tensor parallelism, each with its op list.
void divide(Scene& scene);
/// A D2D helper and routes both ways between chips 0 and 1.
void add_helper(Scene& scene);
/// An op that moves data between chips, at the end of chip 0's op list of the decode submodel.
void add_all_reduce(Scene& scene);
/// Listed file with its bytes.
void add_file(Scene& scene, const std::string& id, const std::string& path, const std::string& role, std::string bytes);

/// CPU and PLD commands of both submodels: three records of 16 B each, and their text.
void add_commands(Scene& scene);
std::string& command_text(Scene& scene);  ///< of the first command
std::string& command_bin(Scene& scene);

/// A control program for riscv in a reservation of 8 KiB.
void add_control_program(Scene& scene);
constexpr std::uint64_t kCcuBase = 0x40000000;
std::string& ccu_image(Scene& scene);
/// The image again, after a change of its shape.
void build_ccu(Scene& scene, const std::function<void(testing_support::ElfShape&)>& change);
manifest::DeviceProfile board(std::int64_t chiplets = 2);

}  // namespace calkit::lint
