#include "calkit/calbin/elf.h"

#include <fmt/format.h>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"

namespace calkit::calbin {

namespace {

constexpr std::uint64_t kIdentBytes = 16;
constexpr std::uint64_t kExtended = 0xffff;  // PN_XNUM and SHN_XINDEX: the number is in section 0
constexpr std::uint32_t kStringTable = 3, kNoBits = 8;

/// Where a number lies in a header, and how wide it is, in ELF32 and in ELF64.
struct Field {
  std::uint64_t at32, width32, at64, width64;
  std::uint64_t at(bool wide) const { return wide ? at64 : at32; }
  std::uint64_t width(bool wide) const { return wide ? width64 : width32; }
};
constexpr Field kType{16, 2, 16, 2}, kMachine{18, 2, 18, 2}, kVersion{20, 4, 20, 4}, kEntry{24, 4, 24, 8},
    kPhoff{28, 4, 32, 8}, kShoff{32, 4, 40, 8}, kFlags{36, 4, 48, 4}, kEhsize{40, 2, 52, 2}, kPhentsize{42, 2, 54, 2},
    kPhnum{44, 2, 56, 2}, kShentsize{46, 2, 58, 2}, kShnum{48, 2, 60, 2}, kShstrndx{50, 2, 62, 2};

std::uint64_t header_bytes(bool wide) {
  return wide ? 64 : 52;
}
std::uint64_t segment_bytes(bool wide) {
  return wide ? 56 : 32;
}
std::uint64_t section_bytes(bool wide) {
  return wide ? 64 : 40;
}

std::string bytes_from(std::uint64_t count, std::uint64_t offset) {
  return fmt::format("{} B from byte {}", count, offset);
}

}  // namespace

ElfFile::ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {
  if (!read_identification() || !read_header()) return;
  read_sections();
  read_segments();
  read_names();
}

std::uint64_t ElfFile::number(std::uint64_t at, std::uint64_t width) const {
  if (!range_inside(at, width, bytes_.size())) return 0;
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < width; ++i)
    out = (out << 8) | std::to_integer<std::uint64_t>(bytes_[at + (little_ ? width - 1 - i : i)]);
  return out;
}

void ElfFile::fault(std::uint64_t byte, std::string field, std::string found, std::string allowed) {
  if (faults_.size() < kMostFaults) faults_.push_back({byte, std::move(field), std::move(found), std::move(allowed)});
}

bool ElfFile::read_identification() {
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  if (!text.starts_with("\x7f"
                        "ELF")) {
    fault(0, "magic", text.empty() ? "an empty file" : fmt::format("'{}'", printable(text.substr(0, 4))), "'\\x7fELF'");
    return false;
  }
  if (text.size() < kIdentBytes) {
    fault(0, "header", fmt::format("a file of {} B", text.size()), "a whole header of 52 or 64 B");
    return false;
  }
  const auto elf_class = number(4, 1), data = number(5, 1), version = number(6, 1);
  const bool class_known = elf_class == 1 || elf_class == 2, data_known = data == 1 || data == 2;
  if (!class_known) fault(4, "EI_CLASS", fmt::format("{}", elf_class), "1 (32 bit) or 2 (64 bit)");
  if (!data_known) fault(5, "EI_DATA", fmt::format("{}", data), "1 (little endian) or 2 (big endian)");
  if (version != 1) fault(6, "EI_VERSION", fmt::format("{}", version), "1");
  wide_ = elf_class == 2;
  little_ = data == 1;
  return class_known && data_known;
}

bool ElfFile::read_header() {
  const std::uint64_t size = header_bytes(wide_);
  if (bytes_.size() < size) {
    fault(0, "header", fmt::format("a file of {} B", bytes_.size()), fmt::format("a whole header of {} B", size));
    return false;
  }
  const auto get = [this](const Field& field) { return number(field.at(wide_), field.width(wide_)); };
  ElfHeader out;
  out.elf_class = wide_ ? 64 : 32;
  out.little_endian = little_;
  out.os_abi = static_cast<std::uint8_t>(number(7, 1));
  out.type = static_cast<std::uint16_t>(get(kType));
  out.machine = static_cast<std::uint16_t>(get(kMachine));
  out.version = static_cast<std::uint32_t>(get(kVersion));
  out.flags = static_cast<std::uint32_t>(get(kFlags));
  out.entry = get(kEntry);
  out.phoff = get(kPhoff);
  out.shoff = get(kShoff);
  out.ehsize = get(kEhsize);
  out.phentsize = get(kPhentsize);
  out.phnum = get(kPhnum);
  out.shentsize = get(kShentsize);
  out.shnum = get(kShnum);
  out.shstrndx = get(kShstrndx);
  header_ = out;
  if (out.version != 1) fault(kVersion.at(wide_), "e_version", fmt::format("{}", out.version), "1");
  if (out.ehsize != size) fault(kEhsize.at(wide_), "e_ehsize", fmt::format("{}", out.ehsize), fmt::format("{}", size));
  return true;
}

bool ElfFile::table_fits(const Table& table) {
  const std::string prefix = std::string("e_") + table.prefix;
  if (table.entry != table.expected) {
    fault(table.entry_at, prefix + "entsize", fmt::format("{}", table.entry), fmt::format("{}", table.expected));
    return false;
  }
  const auto size = checked_mul(table.count, table.entry);
  if (size && table.offset >= header_bytes(wide_) && range_inside(table.offset, *size, bytes_.size())) return true;
  fault(table.offset_at, prefix + "off",
        fmt::format("{} entries of {} B from byte {}", table.count, table.entry, table.offset),
        fmt::format("behind the header, within the file's {} B", bytes_.size()));
  return false;
}

void ElfFile::read_sections() {
  ElfHeader& h = *header_;
  sections_known_ = h.shoff == 0 && h.shnum == 0;
  if (sections_known_) return;
  const std::uint64_t stated = h.shnum == 0 ? 1 : h.shnum;
  Table table{"sh", kShoff.at(wide_), kShentsize.at(wide_), h.shoff, stated, h.shentsize, section_bytes(wide_)};
  sections_known_ = table_fits(table);
  if (!sections_known_) return;
  const ElfSection first = read_section(0);
  if (h.shnum == 0) h.shnum = first.size;
  if (h.shstrndx == kExtended) h.shstrndx = first.link;
  table.count = h.shnum;
  sections_known_ = table_fits(table);
  if (!sections_known_) return;
  sections_ = h.shnum;
  if (h.phnum == kExtended) h.phnum = first.info;
  for (std::uint64_t i = 1; i < sections_ && faults_.size() < kMostFaults; ++i) {
    const ElfSection at = section(i);
    if (at.type != 0 && at.type != kNoBits && !range_inside(at.offset, at.size, bytes_.size()))
      fault(h.shoff + i * h.shentsize, fmt::format("section {}", i), bytes_from(at.size, at.offset),
            fmt::format("within the file's {} B", bytes_.size()));
  }
}

void ElfFile::read_segments() {
  const ElfHeader& h = *header_;
  segments_known_ = h.phnum == 0 || table_fits({"ph", kPhoff.at(wide_), kPhentsize.at(wide_), h.phoff, h.phnum,
                                                h.phentsize, segment_bytes(wide_)});
  if (!segments_known_) return;
  segments_ = h.phnum;
  for (std::uint64_t i = 0; i < segments_ && faults_.size() < kMostFaults; ++i) {
    const ElfSegment at = segment(i);
    if (at.type != 0 && at.filesz != 0 && !range_inside(at.offset, at.filesz, bytes_.size()))
      fault(h.phoff + i * h.phentsize, fmt::format("segment {}", i), bytes_from(at.filesz, at.offset),
            fmt::format("within the file's {} B", bytes_.size()));
  }
}

void ElfFile::read_names() {
  const ElfHeader& h = *header_;
  if (h.shstrndx == 0 || !sections_known_) return;
  const std::string field = "e_shstrndx";
  if (h.shstrndx >= sections_)
    return fault(kShstrndx.at(wide_), field, fmt::format("{}", h.shstrndx),
                 fmt::format("below {} sections", sections_));
  const ElfSection table = section(h.shstrndx);
  if (table.type != kStringTable || !range_inside(table.offset, table.size, bytes_.size()))
    return fault(kShstrndx.at(wide_), field, fmt::format("section {} of type {}", h.shstrndx, table.type),
                 "a string table within the file");
  if (table.size == 0 || number(table.offset + table.size - 1, 1) != 0)
    return fault(h.shoff + h.shstrndx * h.shentsize, fmt::format("section {}", h.shstrndx), "names without an end",
                 "a string table that ends with a zero byte");
  names_at_ = table.offset;
  names_size_ = table.size;
  for (std::uint64_t i = 0; i < sections_ && faults_.size() < kMostFaults; ++i)
    if (const ElfSection at = section(i); at.name >= names_size_)
      fault(h.shoff + i * h.shentsize, fmt::format("name of section {}", i), fmt::format("byte {}", at.name),
            fmt::format("within the {} B of names", names_size_));
}

ElfSegment ElfFile::segment(std::uint64_t index) const {
  if (index >= segments_) return {};
  const std::uint64_t start = header_->phoff + index * header_->phentsize;  // inside the file: table_fits()
  const auto get = [&](const Field& field) { return number(start + field.at(wide_), field.width(wide_)); };
  ElfSegment out;
  out.type = static_cast<std::uint32_t>(get({0, 4, 0, 4}));
  out.flags = static_cast<std::uint32_t>(get({24, 4, 4, 4}));
  out.offset = get({4, 4, 8, 8});
  out.vaddr = get({8, 4, 16, 8});
  out.paddr = get({12, 4, 24, 8});
  out.filesz = get({16, 4, 32, 8});
  out.memsz = get({20, 4, 40, 8});
  out.align = get({28, 4, 48, 8});
  return out;
}

ElfSection ElfFile::section(std::uint64_t index) const {
  return index < sections_ ? read_section(index) : ElfSection{};
}

ElfSection ElfFile::read_section(std::uint64_t index) const {
  const std::uint64_t start = header_->shoff + index * header_->shentsize;  // inside the file: table_fits()
  const auto get = [&](const Field& field) { return number(start + field.at(wide_), field.width(wide_)); };
  ElfSection out;
  out.name = static_cast<std::uint32_t>(get({0, 4, 0, 4}));
  out.type = static_cast<std::uint32_t>(get({4, 4, 4, 4}));
  out.flags = get({8, 4, 8, 8});
  out.addr = get({12, 4, 16, 8});
  out.offset = get({16, 4, 24, 8});
  out.size = get({20, 4, 32, 8});
  out.link = static_cast<std::uint32_t>(get({24, 4, 40, 4}));
  out.info = static_cast<std::uint32_t>(get({28, 4, 44, 4}));
  out.addralign = get({32, 4, 48, 8});
  out.entsize = get({36, 4, 56, 8});
  return out;
}

std::string_view ElfFile::name_of(const ElfSection& section) const {
  if (section.name >= names_size_) return {};
  // The table ends with a zero byte, so this one ends inside it.
  return reinterpret_cast<const char*>(bytes_.data()) + names_at_ + section.name;
}

}  // namespace calkit::calbin
