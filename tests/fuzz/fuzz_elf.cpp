// ELF images: any bytes give facts and faults; a table that is believed lies inside the file, and so does every name.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "calkit/calbin/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const calkit::calbin::ElfFile file(std::as_bytes(std::span(data, size)));
  if (!file.header() && file.faults().empty()) std::abort();
  if (file.faults().size() > calkit::calbin::ElfFile::kMostFaults) std::abort();
  // Entries have at least 32 and 40 bytes.
  if (file.segments() > size / 32 || file.sections() > size / 40) std::abort();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < file.segments(); ++i) sum += file.segment(i).filesz;
  for (std::uint64_t i = 0; i < file.sections(); ++i)
    if (file.name_of(file.section(i)).size() > size) std::abort();
  return sum == 1 && file.segments() == 0 ? 1 : 0;
}
