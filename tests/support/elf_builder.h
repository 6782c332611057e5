#pragma once
/// Small ELF images for tests: any class, byte order and machine. What readelf says of them is right; tests then spoil
/// single fields with elf_set().
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace calkit::testing_support {

struct ElfSegment {
  std::uint32_t type = 1, flags = 5;  ///< PT_LOAD, R+X
  std::uint64_t vaddr = 0;
  std::string bytes;
  std::uint64_t memsz = 0;  ///< 0: as many as bytes
  std::uint64_t align = 16;
  std::string section;  ///< name of the section over these bytes; empty: none
};

struct ElfShape {
  int elf_class = 64;
  bool little_endian = true;
  std::uint16_t type = 2;  ///< ET_EXEC
  std::uint16_t machine = 243;
  std::uint32_t flags = 0;
  std::uint64_t entry = 0;
  std::vector<ElfSegment> segments;
};

/// A control program for riscv, 64 bit, little endian: code at `base`, data in the page behind it (8 KiB in all).
inline ElfShape control_program(std::uint64_t base) {
  ElfShape out;
  out.entry = base;
  out.segments = {{1, 5, base, std::string(64, '\x13'), 0, 16, ".text"},
                  {1, 6, base + 4096, std::string(32, '\x2a'), 4096, 16, ".data"}};
  return out;
}

/// Writes `value` into a spot of `width` bytes.
inline void elf_put(std::string& image, std::uint64_t at, int width, std::uint64_t value, bool little_endian) {
  if (image.size() < at + static_cast<std::uint64_t>(width)) image.resize(at + static_cast<std::uint64_t>(width));
  for (int i = 0; i < width; ++i)
    image[at + static_cast<std::uint64_t>(i)] = static_cast<char>(value >> (8 * (little_endian ? i : width - 1 - i)));
}

struct ElfField {
  std::string_view name;
  int at32, width32, at64, width64;
};
// Offsets inside the file header, a program header and a section header.
inline constexpr ElfField kElfHeader[] = {
    {"e_type", 16, 2, 16, 2},    {"e_machine", 18, 2, 18, 2},   {"e_version", 20, 4, 20, 4},
    {"e_entry", 24, 4, 24, 8},   {"e_phoff", 28, 4, 32, 8},     {"e_shoff", 32, 4, 40, 8},
    {"e_flags", 36, 4, 48, 4},   {"e_ehsize", 40, 2, 52, 2},    {"e_phentsize", 42, 2, 54, 2},
    {"e_phnum", 44, 2, 56, 2},   {"e_shentsize", 46, 2, 58, 2}, {"e_shnum", 48, 2, 60, 2},
    {"e_shstrndx", 50, 2, 62, 2}};
inline constexpr ElfField kElfProgramHeader[] = {
    {"p_type", 0, 4, 0, 4},     {"p_offset", 4, 4, 8, 8},  {"p_vaddr", 8, 4, 16, 8}, {"p_paddr", 12, 4, 24, 8},
    {"p_filesz", 16, 4, 32, 8}, {"p_memsz", 20, 4, 40, 8}, {"p_flags", 24, 4, 4, 4}, {"p_align", 28, 4, 48, 8}};
inline constexpr ElfField kElfSectionHeader[] = {
    {"sh_name", 0, 4, 0, 4},        {"sh_type", 4, 4, 4, 4},     {"sh_flags", 8, 4, 8, 8},  {"sh_addr", 12, 4, 16, 8},
    {"sh_offset", 16, 4, 24, 8},    {"sh_size", 20, 4, 32, 8},   {"sh_link", 24, 4, 40, 4}, {"sh_info", 28, 4, 44, 4},
    {"sh_addralign", 32, 4, 48, 8}, {"sh_entsize", 36, 4, 56, 8}};

template <std::size_t N>
void elf_put_field(std::string& image, const ElfField (&fields)[N], std::uint64_t start, std::string_view name,
                   std::uint64_t value) {
  const bool wide = image[4] == 2, little = image[5] == 1;
  for (const auto& field : fields)
    if (field.name == name)
      return elf_put(image, start + static_cast<std::uint64_t>(wide ? field.at64 : field.at32),
                     wide ? field.width64 : field.width32, value, little);
  std::abort();
}

/// Where the program and section headers of an image made here begin.
inline std::uint64_t elf_program_header(const std::string& image, std::uint64_t index) {
  return image[4] == 2 ? 64 + 56 * index : 52 + 32 * index;
}
inline std::uint64_t elf_section_header(const std::string& image, std::uint64_t index, std::uint64_t sections) {
  const std::uint64_t size = image[4] == 2 ? 64 : 40;
  return image.size() - size * (sections - index);
}

/// Changes a field of the file header ("e_phoff") of an image.
inline void elf_set(std::string& image, std::string_view name, std::uint64_t value) {
  elf_put_field(image, kElfHeader, 0, name, value);
}
/// Changes a field of a program header ("p_filesz").
inline void elf_set_segment(std::string& image, std::uint64_t index, std::string_view name, std::uint64_t value) {
  elf_put_field(image, kElfProgramHeader, elf_program_header(image, index), name, value);
}

/// The image: file header, program headers, bytes of the segments, names of the sections, section headers.
inline std::string elf_image(const ElfShape& shape) {
  const bool wide = shape.elf_class == 64, little = shape.little_endian;
  std::string image(
      "\x7f"
      "ELF",
      4);
  image += static_cast<char>(wide ? 2 : 1);
  image += static_cast<char>(little ? 1 : 2);
  image += '\x01';
  image.resize(wide ? 64 : 52);
  const std::uint64_t program_headers = image.size(), segments = shape.segments.size();
  image.resize(elf_program_header(image, segments));

  struct Section {
    std::uint64_t name, type, flags, addr, offset, size, align;
  };
  std::vector<Section> sections{{0, 0, 0, 0, 0, 0, 0}};
  std::string names(1, '\0');
  for (std::uint64_t i = 0; i < segments; ++i) {
    const ElfSegment& segment = shape.segments[i];
    const std::uint64_t align = segment.align > 1 ? segment.align : 1;
    while (image.size() % align != segment.vaddr % align) image += '\0';
    const std::uint64_t offset = image.size();
    image += segment.bytes;
    elf_set_segment(image, i, "p_type", segment.type);
    elf_set_segment(image, i, "p_flags", segment.flags);
    elf_set_segment(image, i, "p_offset", offset);
    elf_set_segment(image, i, "p_vaddr", segment.vaddr);
    elf_set_segment(image, i, "p_paddr", segment.vaddr);
    elf_set_segment(image, i, "p_filesz", segment.bytes.size());
    elf_set_segment(image, i, "p_memsz", segment.memsz != 0 ? segment.memsz : segment.bytes.size());
    elf_set_segment(image, i, "p_align", segment.align);
    if (segment.section.empty()) continue;
    // SHF_ALLOC, plus SHF_WRITE and SHF_EXECINSTR as the segment has them.
    const std::uint64_t flags = 2 | ((segment.flags & 2) != 0 ? 1 : 0) | ((segment.flags & 1) != 0 ? 4 : 0);
    sections.push_back({names.size(), 1, flags, segment.vaddr, offset, segment.bytes.size(), segment.align});
    names += segment.section + '\0';
  }
  const std::uint64_t name_section = names.size();
  names += std::string(".shstrtab") + '\0';
  sections.push_back({name_section, 3, 0, 0, image.size(), names.size(), 1});
  image += names;
  while (image.size() % 8 != 0) image += '\0';

  const std::uint64_t section_headers = image.size(), section_size = wide ? 64 : 40;
  for (const Section& section : sections) {
    const std::uint64_t start = image.size();
    image.resize(start + section_size);
    const auto put = [&](std::string_view name, std::uint64_t value) {
      elf_put_field(image, kElfSectionHeader, start, name, value);
    };
    put("sh_name", section.name);
    put("sh_type", section.type);
    put("sh_flags", section.flags);
    put("sh_addr", section.addr);
    put("sh_offset", section.offset);
    put("sh_size", section.size);
    put("sh_addralign", section.align);
  }
  elf_set(image, "e_type", shape.type);
  elf_set(image, "e_machine", shape.machine);
  elf_set(image, "e_version", 1);
  elf_set(image, "e_entry", shape.entry);
  elf_set(image, "e_phoff", segments > 0 ? program_headers : 0);
  elf_set(image, "e_shoff", section_headers);
  elf_set(image, "e_flags", shape.flags);
  elf_set(image, "e_ehsize", wide ? 64 : 52);
  elf_set(image, "e_phentsize", segments > 0 ? (wide ? 56 : 32) : 0);
  elf_set(image, "e_phnum", segments);
  elf_set(image, "e_shentsize", section_size);
  elf_set(image, "e_shnum", sections.size());
  elf_set(image, "e_shstrndx", sections.size() - 1);
  return image;
}

}  // namespace calkit::testing_support
