#pragma once
/// The memory of one emulated chip: one flat range of addresses, so that regions which overlap really collide.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calkit/base/files.h"
#include "calkit/base/result.h"
#include "calkit/calbin/package.h"

namespace calkit::emulator {

/// Parameters are read straight from their mapped file: they cost no second copy, and nothing can write them.
struct ParamWindow {
  std::string name;
  std::uint64_t base = 0, bytes = 0, file_offset = 0;
  std::shared_ptr<const MappedFile> file;
};

/// True for the kinds of region an op or the host may write.
bool is_writable_kind(const std::string& kind);

class Dram {
 public:
  /// @param description its writable regions of `chip` are reserved (untouched pages cost nothing).
  /// kIncomplete if the system refuses the address space.
  static Result<Dram> create(const calbin::Description& description, std::int64_t chip,
                             std::vector<ParamWindow> params);
  ~Dram();
  Dram(Dram&& other) noexcept;
  Dram& operator=(Dram&& other) noexcept;

  /// The bytes at [base, base + bytes) of a writable region, or kInput.
  Result<std::byte*> writable(std::uint64_t base, std::uint64_t bytes) const;
  /// The bytes of one parameter, or part of one; kInput when the range leaves it.
  Result<const ParamWindow*> parameter(std::uint64_t base, std::uint64_t bytes) const;
  /// Zeroes a range and gives its pages back.
  Status clear(std::uint64_t base, std::uint64_t bytes);

 private:
  Dram() = default;
  struct Range {
    std::uint64_t base = 0, size = 0;
  };
  std::byte* memory_ = nullptr;
  std::uint64_t start_ = 0, span_ = 0;
  std::vector<Range> ranges_;
  std::vector<ParamWindow> params_;  ///< sorted by base
};

}  // namespace calkit::emulator
