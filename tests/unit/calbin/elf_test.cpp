#include "calkit/calbin/elf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "calkit/base/files.h"
#include "elf_builder.h"

namespace calkit::calbin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::control_program;
using testing_support::elf_image;
using testing_support::elf_set;
using testing_support::elf_set_segment;

ElfFile read(const std::string& image) {
  return ElfFile(std::as_bytes(std::span(image)));
}

/// "e_phoff: 2 entries of 56 B ...": the faults as texts.
std::vector<std::string> fields(const std::string& image) {
  std::vector<std::string> out;
  const ElfFile file = read(image);
  for (const auto& fault : file.faults()) {
    out.push_back(fault.field);
    EXPECT_THAT(fault.found, testing::Not(IsEmpty()));
    EXPECT_THAT(fault.allowed, testing::Not(IsEmpty()));
    EXPECT_LE(fault.byte, image.size());
  }
  return out;
}

std::string good(int elf_class = 64, bool little = true) {
  auto shape = control_program(0x80000000);
  shape.elf_class = elf_class;
  shape.little_endian = little;
  return elf_image(shape);
}

TEST(Elf, ReadsBothClassesInBothByteOrders) {
  for (const int elf_class : {32, 64}) {
    for (const bool little : {true, false}) {
      auto shape = control_program(0x80000000);
      shape.elf_class = elf_class;
      shape.little_endian = little;
      shape.flags = 0x12345;
      const std::string image = elf_image(shape);
      const ElfFile file = read(image);
      ASSERT_THAT(fields(image), IsEmpty());
      ASSERT_TRUE(file.header());
      EXPECT_EQ(file.header()->elf_class, elf_class);
      EXPECT_EQ(file.header()->little_endian, little);
      EXPECT_EQ(file.header()->machine, 243);
      EXPECT_EQ(file.header()->type, kElfExec);
      EXPECT_EQ(file.header()->flags, 0x12345u);
      EXPECT_EQ(file.header()->entry, 0x80000000u);
      ASSERT_EQ(file.segments(), 2u);
      EXPECT_EQ(file.segment(0).vaddr, 0x80000000u);
      EXPECT_EQ(file.segment(0).flags, 5u);
      EXPECT_EQ(file.segment(1).filesz, 32u);
      EXPECT_EQ(file.segment(1).memsz, 4096u);
      EXPECT_EQ(file.segment(2).memsz, 0u);
      ASSERT_EQ(file.sections(), 4u);
      EXPECT_EQ(file.name_of(file.section(1)), ".text");
      EXPECT_EQ(file.name_of(file.section(2)), ".data");
      EXPECT_EQ(file.section(4).size, 0u);
    }
  }
}

TEST(Elf, NamesMachines) {
  EXPECT_EQ(elf_machine("riscv"), 243);
  EXPECT_EQ(elf_machine("aarch64"), 183);
  EXPECT_EQ(elf_machine("0xf3"), 243);
  EXPECT_EQ(elf_machine("0x10000"), std::nullopt);
  EXPECT_EQ(elf_machine("RISC-V"), std::nullopt);
  EXPECT_EQ(elf_machine_text(243), "riscv (243)");
  EXPECT_EQ(elf_machine_text(4242), "machine 4242");
}

// ---- what is malformed ----

struct Spoilt {
  const char* name;
  std::function<void(std::string&)> spoil;
  std::vector<std::string> faults;
};

std::vector<Spoilt> spoilt_images() {
  const auto set = [](const char* field, std::uint64_t value) {
    return [field, value](std::string& image) { elf_set(image, field, value); };
  };
  return {
      {"an empty file", [](std::string& i) { i.clear(); }, {"magic"}},
      {"three bytes of magic", [](std::string& i) { i.resize(3); }, {"magic"}},
      {"another magic", [](std::string& i) { i[1] = 'e'; }, {"magic"}},
      {"ten bytes", [](std::string& i) { i.resize(10); }, {"header"}},
      {"forty bytes", [](std::string& i) { i.resize(40); }, {"header"}},
      {"sixty-three bytes", [](std::string& i) { i.resize(63); }, {"header"}},
      {"the header alone, tables cut off", [](std::string& i) { i.resize(64); }, {"e_shoff", "e_phoff"}},
      {"class 3", [](std::string& i) { i[4] = 3; }, {"EI_CLASS"}},
      {"byte order 0", [](std::string& i) { i[5] = 0; }, {"EI_DATA"}},
      {"format version 2", [](std::string& i) { i[6] = 2; }, {"EI_VERSION"}},
      {"object version 0", set("e_version", 0), {"e_version"}},
      {"a header of 52 bytes in ELF64", set("e_ehsize", 52), {"e_ehsize"}},
      {"program headers that wrap", set("e_phoff", ~0ull - 8), {"e_phoff"}},
      {"program headers past the end", set("e_phoff", 0x1000000), {"e_phoff"}},
      {"program headers one byte past the end",
       [](std::string& i) { elf_set(i, "e_phoff", i.size() - 2 * 56 + 1); },
       {"e_phoff"}},
      {"program headers over the file header", set("e_phoff", 0), {"e_phoff"}},
      {"program header entries of ELF32", set("e_phentsize", 32), {"e_phentsize"}},
      {"65534 program headers", set("e_phnum", 65534), {"e_phoff"}},
      {"section headers that wrap", set("e_shoff", ~0ull - 8), {"e_shoff"}},
      {"section headers over the file header", set("e_shoff", 32), {"e_shoff"}},
      {"no place for four section headers", set("e_shoff", 0), {"e_shoff"}},
      {"section header entries of 4096 B", set("e_shentsize", 4096), {"e_shentsize"}},
      {"section header entries of 0 B", set("e_shentsize", 0), {"e_shentsize"}},
      {"65535 section headers", set("e_shnum", 65535), {"e_shoff"}},
      {"names in a section that is not there", set("e_shstrndx", 4), {"e_shstrndx"}},
      {"names in a section of code", set("e_shstrndx", 1), {"e_shstrndx"}},
      {"names but no sections",
       [](std::string& i) {
         for (const char* field : {"e_shoff", "e_shnum"}) elf_set(i, field, 0);
       },
       {"e_shstrndx"}},
      {"a segment past the end", [](std::string& i) { elf_set_segment(i, 1, "p_filesz", i.size()); }, {"segment 1"}},
      {"a segment that wraps", [](std::string& i) { elf_set_segment(i, 0, "p_offset", ~0ull - 3); }, {"segment 0"}},
      {"a section past the end",
       [](std::string& i) {
         testing_support::elf_put_field(i, testing_support::kElfSectionHeader,
                                        testing_support::elf_section_header(i, 2, 4), "sh_size", 1 << 20);
       },
       {"section 2"}},
      {"a name past the names",
       [](std::string& i) {
         testing_support::elf_put_field(i, testing_support::kElfSectionHeader,
                                        testing_support::elf_section_header(i, 1, 4), "sh_name", 4000);
       },
       {"name of section 1"}},
      {"names that do not end",
       [](std::string& i) {
         const auto at = i.rfind(".shstrtab");
         i[at + 9] = 'x';
       },
       {"section 3"}},
  };
}

TEST(Elf, SaysWhatIsMalformed) {
  for (const auto& spoilt : spoilt_images()) {
    std::string image = good();
    spoilt.spoil(image);
    EXPECT_EQ(fields(image), spoilt.faults) << spoilt.name;
  }
}

TEST(Elf, AcceptsWhatOnlyLooksMalformed) {
  std::string image = good();
  elf_set(image, "e_shstrndx", 0);  // no names
  EXPECT_THAT(fields(image), IsEmpty());
  for (const char* field : {"e_shoff", "e_shnum", "e_shentsize"}) elf_set(image, field, 0);  // no sections
  EXPECT_THAT(fields(image), IsEmpty());
  elf_set_segment(image, 1, "p_filesz", 0);  // nothing to read: its offset may be anything
  elf_set_segment(image, 1, "p_offset", 1 << 30);
  EXPECT_THAT(fields(image), IsEmpty());
  for (const char* field : {"e_phoff", "e_phnum", "e_phentsize"}) elf_set(image, field, 0);
  EXPECT_THAT(fields(image), IsEmpty());
  image.resize(64);
  EXPECT_THAT(fields(image), IsEmpty());
}

TEST(Elf, TakesNumbersThatDoNotFitTheHeaderFromSection0) {
  std::string image = good();
  const std::uint64_t first = testing_support::elf_section_header(image, 0, 4);
  const auto put = [&](const char* field, std::uint64_t value) {
    testing_support::elf_put_field(image, testing_support::kElfSectionHeader, first, field, value);
  };
  put("sh_size", 4);
  put("sh_link", 3);
  put("sh_info", 2);
  elf_set(image, "e_shnum", 0);
  elf_set(image, "e_shstrndx", 0xffff);
  elf_set(image, "e_phnum", 0xffff);
  const ElfFile file = read(image);
  EXPECT_THAT(fields(image), IsEmpty());
  EXPECT_EQ(file.sections(), 4u);
  EXPECT_EQ(file.segments(), 2u);
  EXPECT_EQ(file.name_of(file.section(1)), ".text");
  put("sh_size", ~0ull / 64 + 2);  // times 64 wraps
  EXPECT_THAT(fields(image), ElementsAre("e_shoff", "e_phoff"));
}

TEST(Elf, TellsAtMostSixteenFaults) {
  auto shape = control_program(0x1000);
  shape.segments.resize(100, shape.segments[0]);
  std::string image = elf_image(shape);
  for (std::uint64_t i = 0; i < 100; ++i) elf_set_segment(image, i, "p_filesz", 1 << 30);
  EXPECT_EQ(fields(image).size(), ElfFile::kMostFaults);
}

// ---- against readelf ----

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"), &::pclose);
  std::string out;
  std::array<char, 4096> piece;
  for (std::size_t n = 0; (n = ::fread(piece.data(), 1, piece.size(), pipe.get())) > 0;) out.append(piece.data(), n);
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

/// The image in the words of `readelf -hlSW`: header fields, then a line a section, then a line a segment.
std::vector<std::string> in_words(const ElfFile& file) {
  const ElfHeader& h = *file.header();
  std::vector<std::string> out = {
      h.elf_class == 64 ? "ELF64" : "ELF32", h.little_endian ? "little" : "big",
      fmt::format("entry {:#x}, tables {} {}, flags {:#x}", h.entry, h.phoff, h.shoff, h.flags),
      fmt::format("sizes {} {} {}, counts {} {} {}", h.ehsize, h.phentsize, h.shentsize, h.phnum, h.shnum, h.shstrndx)};
  for (std::uint64_t i = 0; i < file.sections(); ++i) {
    const ElfSection s = file.section(i);
    out.push_back(fmt::format("section {} {:x} {:x} {:x} {:x} {} {} {}", file.name_of(s), s.addr, s.offset, s.size,
                              s.entsize, s.link, s.info, s.addralign));
  }
  for (std::uint64_t i = 0; i < file.segments(); ++i) {
    const ElfSegment s = file.segment(i);
    out.push_back(fmt::format("segment {}{:x} {:x} {:x} {:x} {:x} {}{}{} {:x}", s.type == kElfLoad ? "LOAD " : "",
                              s.offset, s.vaddr, s.paddr, s.filesz, s.memsz, (s.flags & 4) != 0 ? "R" : "",
                              (s.flags & 2) != 0 ? "W" : "", (s.flags & 1) != 0 ? "E" : "", s.align));
  }
  return out;
}

std::uint64_t hex(const std::string& text) {
  return std::stoull(text, nullptr, 16);
}

/// "[ 1] .text PROGBITS 0000000080000000 0000b0 00001c 00 AX 0 0 4": name and flags may be absent.
std::string section_words(std::vector<std::string> w, std::size_t address_digits) {
  std::size_t at = 0;
  while (at < w.size() &&
         !(w[at].size() == address_digits && w[at].find_first_not_of("0123456789abcdef") == std::string::npos))
    ++at;
  if (at + 7 > w.size()) return "unread";
  const std::string name = at >= 2 ? w[0] : "";
  const std::size_t n = w.size();
  return fmt::format("section {} {:x} {:x} {:x} {:x} {} {} {}", name, hex(w[at]), hex(w[at + 1]), hex(w[at + 2]),
                     hex(w[at + 3]), w[n - 3], w[n - 2], w[n - 1]);
}

std::string segment_words(const std::vector<std::string>& w) {
  const auto first = std::find_if(w.begin(), w.end(), [](const std::string& s) { return s.starts_with("0x"); });
  const auto at = static_cast<std::size_t>(first - w.begin());
  std::string flags;
  for (std::size_t i = at + 5; i + 1 < w.size(); ++i) flags += w[i];
  return fmt::format("segment {}{:x} {:x} {:x} {:x} {:x} {} {:x}", w[0] == "LOAD" ? "LOAD " : "", hex(w[at]),
                     hex(w[at + 1]), hex(w[at + 2]), hex(w[at + 3]), hex(w[at + 4]), flags, hex(w.back()));
}

std::vector<std::string> readelf_words(const std::string& path) {
  std::map<std::string, std::string> header;
  std::vector<std::string> sections, segments;
  bool in_segments = false;
  std::istringstream text(output_of("LC_ALL=C readelf -hlSW '" + path + "'"));
  for (std::string line; std::getline(text, line);) {
    const auto colon = line.find(':');
    if (line.starts_with("Program Headers:")) in_segments = true;
    if (line.starts_with(" Section to Segment")) break;
    if (line.starts_with("  [") && line.find(']') == 5 && line[3] != 'N') {
      sections.push_back(section_words(words_of(line.substr(6)), header["Class"] == "ELF64" ? 16 : 8));
    } else if (in_segments && line.find(" 0x") != std::string::npos) {
      segments.push_back(segment_words(words_of(line)));
    } else if (!in_segments && colon != std::string::npos && line.starts_with("  ")) {
      const auto words = words_of(line.substr(colon + 1));
      if (!words.empty()) header.emplace(line.substr(2, colon - 2), words[0] == "2's" ? words[2] : words[0]);
    }
  }
  const std::string flags = header["Flags"].substr(0, header["Flags"].find(','));
  std::vector<std::string> out = {
      header["Class"], header["Data"],
      fmt::format("entry {:#x}, tables {} {}, flags {:#x}", hex(header["Entry point address"]),
                  header["Start of program headers"], header["Start of section headers"], hex(flags)),
      fmt::format("sizes {} {} {}, counts {} {} {}", header["Size of this header"], header["Size of program headers"],
                  header["Size of section headers"], header["Number of program headers"],
                  header["Number of section headers"], header["Section header string table index"])};
  out.insert(out.end(), sections.begin(), sections.end());
  out.insert(out.end(), segments.begin(), segments.end());
  return out;
}

/// Programs, libraries, objects and foreign images: those below tests/data/elf, what this system runs, and the files
/// of CALKIT_ELF_FILES (separated by colons).
std::vector<std::string> real_files() {
  std::vector<std::string> out = {"/bin/ls", "/proc/self/exe"};
  for (const char* name : {"libc.so.6", "libstdc++.so.6", "crt1.o", "crtbeginS.o"})
    out.push_back(output_of(std::string("c++ -print-file-name=") + name));
  for (const auto& entry : std::filesystem::directory_iterator(CALKIT_TEST_DATA "/elf"))
    if (entry.path().extension() == ".elf" || entry.path().extension() == ".o") out.push_back(entry.path());
  if (const char* more = std::getenv("CALKIT_ELF_FILES")) {
    std::istringstream in(more);
    for (std::string path; std::getline(in, path, ':');) out.push_back(path);
  }
  return out;
}

TEST(Elf, AgreesWithReadelfOnRealFiles) {
  std::size_t compared = 0;
  for (const std::string& listed : real_files()) {
    std::error_code error;
    const std::string path = std::filesystem::canonical(listed, error);
    if (error) continue;
    const auto bytes = MappedFile::open(path);
    ASSERT_TRUE(bytes.ok()) << path;
    const ElfFile file((*bytes)->bytes());
    ASSERT_TRUE(file.header()) << path;
    EXPECT_THAT(file.faults(), IsEmpty()) << path;
    EXPECT_EQ(in_words(file), readelf_words(path)) << path;
    ++compared;
  }
  EXPECT_GE(compared, 9u);
}

// ---- whatever the bytes ----

/// Reads everything the reader offers.
std::uint64_t touch(const ElfFile& file) {
  std::uint64_t sum = file.faults().size();
  for (std::uint64_t i = 0; i < file.segments(); ++i) sum += file.segment(i).memsz;
  for (std::uint64_t i = 0; i < file.sections(); ++i) sum += file.name_of(file.section(i)).size();
  return sum;
}

TEST(Elf, SurvivesMutatedHeaders) {
  std::mt19937_64 random(20261130);
  constexpr std::uint64_t kValues[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x40};
  std::size_t refused = 0;
  for (const char* name : {"riscv64-le.elf", "riscv64-be.elf", "riscv32-le.elf", "riscv32-be.elf", "riscv64-le.o"}) {
    const auto good_bytes = read_file(std::string(CALKIT_TEST_DATA "/elf/") + name);
    ASSERT_TRUE(good_bytes.ok());
    for (int run = 0; run < 1000; ++run) {
      std::string image = *good_bytes;
      for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
        // The header, the program headers behind it, or the section headers at the end.
        const bool front = random() % 3 != 0;
        const std::uint64_t reach = front ? std::min<std::uint64_t>(image.size(), 232) : image.size() / 2;
        const std::uint64_t at = front ? random() % reach : image.size() - 1 - random() % reach;
        image[at] = static_cast<char>(random() % 2 == 0 ? kValues[random() % std::size(kValues)] : random() % 256);
      }
      if (random() % 8 == 0) image.resize(random() % image.size());
      // Of exactly its size, so that a sanitizer sees a read beyond it.
      const std::unique_ptr<std::byte[]> bytes(new std::byte[image.size()]);
      std::memcpy(bytes.get(), image.data(), image.size());
      const ElfFile file(std::span<const std::byte>(bytes.get(), image.size()));
      static_cast<void>(touch(file));
      if (!file.faults().empty()) ++refused;
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace calkit::calbin
