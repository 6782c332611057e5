#pragma once
/// ELF images as far as lint judges them: the file header, program headers and section headers of ELF32 and ELF64 in
/// both byte orders. Nothing is copied out of the file; every number is checked before it is used.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace calkit::calbin {

struct ElfHeader {
  int elf_class = 64;
  bool little_endian = true;
  std::uint8_t os_abi = 0;
  std::uint16_t type = 0, machine = 0;
  std::uint32_t version = 0, flags = 0;
  std::uint64_t entry = 0, phoff = 0, shoff = 0;
  std::uint64_t ehsize = 0, phentsize = 0, shentsize = 0;
  std::uint64_t phnum = 0, shnum = 0, shstrndx = 0;  ///< where the header's 16 bits do not suffice: from section 0
};
struct ElfSegment {
  std::uint32_t type = 0, flags = 0;
  std::uint64_t offset = 0, vaddr = 0, paddr = 0, filesz = 0, memsz = 0, align = 0;
};
struct ElfSection {
  std::uint32_t name = 0, type = 0;
  std::uint64_t flags = 0, addr = 0, offset = 0, size = 0;
  std::uint32_t link = 0, info = 0;
  std::uint64_t addralign = 0, entsize = 0;
};

inline constexpr std::uint32_t kElfLoad = 1;                          ///< PT_LOAD
inline constexpr std::uint32_t kElfExecutable = 1, kElfWritable = 2;  ///< PF_X, PF_W
inline constexpr std::uint16_t kElfExec = 2, kElfDyn = 3;             ///< ET_EXEC, ET_DYN

/// One thing that is wrong with the file's structure.
struct ElfFault {
  std::uint64_t byte = 0;  ///< where the field lies
  std::string field;       ///< "e_phoff", "program header 3", "section 7"
  std::string found, allowed;
};

class ElfFile {
 public:
  /// Never fails: what is wrong is in faults(), and the tables that could not be trusted are empty. The bytes must
  /// outlive the object.
  explicit ElfFile(std::span<const std::byte> bytes);

  /// nullopt when the file does not begin with a whole ELF header.
  const std::optional<ElfHeader>& header() const { return header_; }
  /// At most kMostFaults: header, sections, segments, names.
  const std::vector<ElfFault>& faults() const { return faults_; }
  static constexpr std::size_t kMostFaults = 16;

  bool has_segment_table() const { return segments_known_; }  ///< false: it is malformed
  std::uint64_t segments() const { return segments_; }
  ElfSegment segment(std::uint64_t index) const;
  std::uint64_t sections() const { return sections_; }
  ElfSection section(std::uint64_t index) const;
  /// Empty when the section has none.
  std::string_view name_of(const ElfSection& section) const;

 private:
  std::uint64_t number(std::uint64_t at, std::uint64_t width) const;
  void fault(std::uint64_t byte, std::string field, std::string found, std::string allowed);
  bool read_identification();
  bool read_header();
  struct Table {
    const char* prefix;                 ///< "ph" or "sh"
    std::uint64_t offset_at, entry_at;  ///< where the header says so
    std::uint64_t offset, count, entry, expected;
  };
  bool table_fits(const Table& table);
  void read_sections();
  ElfSection read_section(std::uint64_t index) const;
  void read_segments();
  void read_names();

  std::span<const std::byte> bytes_;
  std::optional<ElfHeader> header_;
  std::vector<ElfFault> faults_;
  bool wide_ = true, little_ = true, segments_known_ = false, sections_known_ = false;
  std::uint64_t segments_ = 0, sections_ = 0;
  std::uint64_t names_at_ = 0, names_size_ = 0;
};

/// The number of a machine by the name packages and device profiles use ("riscv", "aarch64"), or by "0x.." for one
/// without a name here; nullopt for any other text.
std::optional<std::uint16_t> elf_machine(std::string_view name);
/// "riscv (243)", or the number alone.
std::string elf_machine_text(std::uint16_t machine);

}  // namespace calkit::calbin
