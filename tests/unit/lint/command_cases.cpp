/// Family 10.
#include <algorithm>

#include "chip_scenes.h"

namespace calkit::lint {

namespace {

using testing_support::elf_set;
using testing_support::elf_set_segment;
using testing_support::ElfShape;

calbin::Submodel& prefill(Scene& s) {
  return s.package.prefill_model();
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
}

LintCase with_commands(const char* name, Ids expected, std::function<void(Scene&)> change, Ids open = {}) {
  return {name, std::move(expected),
          [change = std::move(change)](Scene& s) {
            add_commands(s);
            change(s);
          },
          std::move(open)};
}

LintCase with_program(const char* name, Ids expected, std::function<void(Scene&)> change, Ids open = {}) {
  return {name, std::move(expected),
          [change = std::move(change)](Scene& s) {
            add_control_program(s);
            change(s);
          },
          std::move(open)};
}

std::vector<LintCase> command_file_cases() {
  return {
      with_commands("CB1001 near: all commands", {}, [](Scene&) {}),
      with_commands("CB1001 no PLD commands", {"CB1001"}, [](Scene& s) { prefill(s).commands.pop_back(); }),
      with_commands("CB1001 commands of one submodel only", {"CB1001"},
                    [](Scene& s) { s.package.decode_model().commands.clear(); }),
      with_commands("CB1001 no commands for the second chip", {"CB1001"}, [](Scene& s) { divide(s); }),
      with_commands("CB1001 commands for a chip the submodel does not use", {"CB1001"},
                    [](Scene& s) {
                      auto extra = prefill(s).commands[0];
                      extra.chip = 1;
                      prefill(s).commands.push_back(extra);
                    }),
      with_commands("CB1001 CPU commands twice", {"CB1001"},
                    [](Scene& s) { prefill(s).commands.push_back(prefill(s).commands[0]); }),
      with_commands("CB1001 a binary of another role", {"CB1001"},
                    [](Scene& s) { s.package.file("mini-prefill.cpu").role = "license"; }),
      with_commands("CB1001 a text of another role", {"CB1001"},
                    [](Scene& s) { s.package.file("mini-prefill.cpu.text").role = "license"; }),
      with_commands("CB1001 a text that is a binary", {"CB1001", "CB1002"},
                    [](Scene& s) { command_text(s) = command_bin(s); }),
      with_commands("CB1001 near: two submodels share their commands", {},
                    [](Scene& s) {
                      s.package.decode_model().commands = prefill(s).commands;
                      auto& files = s.package.description.files;
                      files.erase(std::remove_if(files.begin(), files.end(),
                                                 [&](const calbin::PackageFile& file) {
                                                   const bool drop = file.id.starts_with("mini-decode.");
                                                   if (drop) s.package.files.erase(file.path);
                                                   return drop;
                                                 }),
                                  files.end());
                    }),
      with_commands("CB1002 a binary that is cut", {"CB1002"}, [](Scene& s) { command_bin(s).resize(47); }),
      with_commands("CB1002 another number of records than stated", {"CB1002"},
                    [](Scene& s) { prefill(s).commands[0].records = 4; }),
      with_commands("CB1002 a line too few", {"CB1002"},
                    [](Scene& s) { replace(command_text(s), "2 OP2 0x10000080 64\n", ""); }),
      with_commands("CB1002 an index twice", {"CB1002"},
                    [](Scene& s) { replace(command_text(s), "\n1 OP1", "\n0 OP1"); }),
      with_commands("CB1002 another address than the binary", {"CB1002"},
                    [](Scene& s) { replace(command_text(s), "0x10000040", "0x10000044"); }),
      with_commands("CB1002 a line in another form", {"CB1002"},
                    [](Scene& s) { replace(command_text(s), "1 OP1 0x10000040 64", "OP1 0x10000040"); }),
      with_commands("CB1002 near: comments and empty lines", {},
                    [](Scene& s) { command_text(s) += "\n  # the end\n\n"; }),
      with_commands("CB1002 near: records whose layout nobody knows", {},
                    [](Scene& s) { std::fill(command_bin(s).begin(), command_bin(s).end(), '\x5a'); }),
  };
}

std::vector<LintCase> structure_cases() {
  const auto set = [](const char* field, std::uint64_t value) {
    return [field, value](Scene& s) { elf_set(ccu_image(s), field, value); };
  };
  const Ids unread = {"CB1004", "CB1005"};
  return {
      with_program("CB1003 near: a sound control program", {}, [](Scene&) {}),
      with_program(
          "CB1003 a file of 40 bytes", {"CB1003"}, [](Scene& s) { ccu_image(s).resize(40); }, unread),
      with_program(
          "CB1003 no ELF image at all", {"CB1003"}, [](Scene& s) { ccu_image(s) = "#!/bin/sh\n"; }, unread),
      with_program(
          "CB1003 an unknown class", {"CB1003"}, [](Scene& s) { ccu_image(s)[4] = 9; }, unread),
      with_program("CB1003 program headers that wrap", {"CB1003"}, set("e_phoff", ~0ull - 8), {"CB1005"}),
      with_program("CB1003 program headers of another size", {"CB1003"}, set("e_phentsize", 32), {"CB1005"}),
      with_program("CB1003 65535 section headers", {"CB1003"}, set("e_shnum", 65535)),
      with_program("CB1003 section headers of 4096 bytes", {"CB1003"}, set("e_shentsize", 4096)),
      with_program("CB1003 names in a section that is not there", {"CB1003"}, set("e_shstrndx", 9)),
      with_program("CB1003 an image that is cut", {"CB1003"},
                   [](Scene& s) { ccu_image(s).resize(ccu_image(s).size() - 1); }),
      with_program(
          "CB1003 a parameter file in the control program's place", {"CB1003"},
          [](Scene& s) { s.package.description.ccu->elf = "blk0"; }, unread),
      with_program("CB1003 near: an image without sections", {},
                   [](Scene& s) {
                     for (const char* field : {"e_shoff", "e_shnum", "e_shstrndx"}) elf_set(ccu_image(s), field, 0);
                   }),
      {"CB1003 a D2D helper that is a cut image",
       {"CB1003"},
       [](Scene& s) {
         divide(s);
         add_helper(s);
         s.package.files["d2d/helper.bin"] =
             "\x7f"
             "ELF";
       }},
  };
}

std::vector<LintCase> target_cases() {
  const auto profile = [](const std::function<void(manifest::ControlProgram&)>& state) {
    return [state](Scene& s) {
      s.profile = board();
      s.profile->ccu = {"riscv", 64, true, 0, "exec"};
      state(s.profile->ccu);
    };
  };
  return {
      with_program("CB1004 another machine", {"CB1004"}, [](Scene& s) { elf_set(ccu_image(s), "e_machine", 183); }),
      with_program("CB1004 another class", {"CB1004"},
                   [](Scene& s) { build_ccu(s, [](ElfShape& shape) { shape.elf_class = 32; }); }),
      with_program("CB1004 another byte order", {"CB1004"},
                   [](Scene& s) { build_ccu(s, [](ElfShape& shape) { shape.little_endian = false; }); }),
      with_program("CB1004 another ABI", {"CB1004"}, [](Scene& s) { elf_set(ccu_image(s), "e_flags", 5); }),
      with_program("CB1004 an object file", {"CB1004"}, [](Scene& s) { elf_set(ccu_image(s), "e_type", 1); }),
      with_program("CB1004 near: a machine by its number", {},
                   [](Scene& s) { s.package.description.ccu->machine = "0xf3"; }),
      with_program("CB1004 a machine nobody knows", {}, [](Scene& s) { s.package.description.ccu->machine = "z80"; },
                   {"CB1004"}),
      with_program("CB1004 near: what the board states", {}, profile([](auto&) {})),
      with_program("CB1004 a board with another machine", {"CB1004"}, profile([](auto& ccu) { ccu.machine = "arm"; })),
      with_program("CB1004 a board with another class", {"CB1004"}, profile([](auto& ccu) { ccu.elf_class = 32; })),
      with_program("CB1004 a board with another byte order", {"CB1004"},
                   profile([](auto& ccu) { ccu.little_endian = false; })),
      with_program("CB1004 a board with another ABI", {"CB1004"}, profile([](auto& ccu) { ccu.flags = 5; })),
      with_program("CB1004 a board that loads programs elsewhere", {"CB1004"},
                   profile([](auto& ccu) { ccu.type = "dyn"; })),
  };
}

std::vector<LintCase> placement_cases() {
  const auto shape = [](std::function<void(ElfShape&)> change) { return [change](Scene& s) { build_ccu(s, change); }; };
  return {
      with_program("CB1005 a segment one byte beyond the reservation", {"CB1005"},
                   [](Scene& s) { elf_set_segment(ccu_image(s), 1, "p_memsz", 4097); }),
      with_program("CB1005 a segment below the reservation", {"CB1005"},
                   shape([](ElfShape& e) { e.segments[1].vaddr = kCcuBase - 4096; })),
      with_program("CB1005 a segment that wraps", {"CB1005"},
                   [](Scene& s) { elf_set_segment(ccu_image(s), 1, "p_vaddr", ~0ull - 15); }),
      with_program("CB1005 more bytes in the file than in memory", {"CB1005"},
                   [](Scene& s) { elf_set_segment(ccu_image(s), 1, "p_memsz", 31); }),
      with_program("CB1005 segments that overlap", {"CB1005"},
                   shape([](ElfShape& e) { e.segments[1].vaddr = kCcuBase + 48; })),
      with_program("CB1005 near: segments that touch", {},
                   shape([](ElfShape& e) { e.segments[1].vaddr = kCcuBase + 64; })),
      with_program("CB1005 it begins in data", {"CB1005"},
                   [](Scene& s) { elf_set(ccu_image(s), "e_entry", kCcuBase + 4096); }),
      with_program("CB1005 it begins behind its code", {"CB1005"},
                   [](Scene& s) { elf_set(ccu_image(s), "e_entry", kCcuBase + 64); }),
      with_program("CB1005 near: it begins with its last byte of code", {},
                   [](Scene& s) { elf_set(ccu_image(s), "e_entry", kCcuBase + 63); }),
      with_program("CB1005 nothing to load", {"CB1005"},
                   [](Scene& s) {
                     for (const std::uint64_t i : {0, 1}) elf_set_segment(ccu_image(s), i, "p_type", 4);
                   }),
      with_program("CB1005 a writable and executable segment", {"CB1005"},
                   [](Scene& s) { elf_set_segment(ccu_image(s), 0, "p_flags", 7); }),
      with_program("CB1005 a reservation of another kind", {"CB1005"},
                   [](Scene& s) { s.package.region("ccu").kind = "command"; }),
      with_program("CB1005 near: a note that has its size in the file alone", {},
                   shape([](ElfShape& e) { e.segments.push_back({0x70000003, 4, 0, "attributes", 0, 1, {}}); })),
      with_program("CB1005 near: a program that may be moved", {}, shape([](ElfShape& e) {
                     e.type = 3;
                     e.entry = 0;
                     e.segments[0].vaddr = 0;
                     e.segments[1].vaddr = 4096;
                   })),
      with_program("CB1005 a program that may be moved and is too long", {"CB1005"}, shape([](ElfShape& e) {
                     e.type = 3;
                     e.entry = 0;
                     e.segments[0].vaddr = 0;
                     e.segments[1].vaddr = 8192;
                   })),
  };
}

}  // namespace

std::vector<LintCase> command_cases() {
  std::vector<LintCase> out = command_file_cases();
  for (const auto& part : {structure_cases(), target_cases(), placement_cases()})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
