#include "dram.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"

namespace calkit::emulator {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t page_down(std::uint64_t address) {
  return address & ~(kPage - 1);
}

}  // namespace

bool is_writable_kind(const std::string& kind) {
  return kind == "kv" || kind == "workspace" || kind == "io";
}

Result<Dram> Dram::create(const calbin::Description& description, std::int64_t chip, std::vector<ParamWindow> params) {
  Dram dram;
  std::uint64_t end = 0;
  dram.start_ = UINT64_MAX;
  for (const calbin::Region& region : description.memory.regions) {
    if (region.chip != chip || !is_writable_kind(region.kind) || region.size == 0) continue;
    dram.ranges_.push_back({region.base, region.size});
    dram.start_ = std::min(dram.start_, page_down(region.base));
    const auto top = checked_align_up(region.base + region.size, kPage);
    if (!top)
      return input_error("calbin.json", region.id, hex_u64(region.base), "a region below the end of the address space");
    end = std::max(end, *top);
  }
  dram.params_ = std::move(params);
  std::sort(dram.params_.begin(), dram.params_.end(), [](const auto& a, const auto& b) { return a.base < b.base; });
  if (dram.ranges_.empty()) {
    dram.start_ = 0;
    return dram;
  }
  // Everything between regions stays unreadable: a stray access of ours dies instead of giving numbers.
  dram.span_ = end - dram.start_;
  void* at = mmap(nullptr, dram.span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    return Error{ErrorKind::kIncomplete,
                 fmt::format("the host refuses {} of address space for chip {}: {}", format_bytes(dram.span_), chip,
                             std::strerror(errno)),
                 "raise the address space limit (ulimit -v) or pack fewer slots or a shorter context"};
  dram.memory_ = static_cast<std::byte*>(at);
  for (const Range& range : dram.ranges_) {
    const std::uint64_t first = page_down(range.base) - dram.start_;
    const std::uint64_t last = *checked_align_up(range.base + range.size, kPage) - dram.start_;
    if (mprotect(dram.memory_ + first, last - first, PROT_READ | PROT_WRITE) != 0)
      return Error{ErrorKind::kIncomplete, fmt::format("the host refuses {} for chip {}: {}",
                                                       format_bytes(last - first), chip, std::strerror(errno))};
  }
  return dram;
}

Dram::~Dram() {
  if (memory_ != nullptr) munmap(memory_, span_);
}

Dram::Dram(Dram&& other) noexcept {
  *this = std::move(other);
}

Dram& Dram::operator=(Dram&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(start_, other.start_);
  std::swap(span_, other.span_);
  ranges_.swap(other.ranges_);
  params_.swap(other.params_);
  return *this;
}

Result<std::byte*> Dram::writable(std::uint64_t base, std::uint64_t bytes) const {
  for (const Range& range : ranges_) {
    if (base >= range.base && range_inside(base - range.base, bytes, range.size)) return memory_ + (base - start_);
  }
  return input_error("device memory", hex_u64(base), fmt::format("{} + {} B", hex_u64(base), bytes),
                     "a range inside one kv, workspace or io region");
}

Result<const ParamWindow*> Dram::parameter(std::uint64_t base, std::uint64_t bytes) const {
  auto after = std::upper_bound(params_.begin(), params_.end(), base,
                                [](std::uint64_t address, const ParamWindow& window) { return address < window.base; });
  if (after != params_.begin()) {
    const ParamWindow& window = *std::prev(after);
    if (range_inside(base - window.base, bytes, window.bytes)) return &window;
  }
  return input_error("device memory", hex_u64(base), fmt::format("{} + {} B", hex_u64(base), bytes),
                     "a range inside one parameter");
}

Status Dram::clear(std::uint64_t base, std::uint64_t bytes) {
  CALKIT_TRY(std::byte * at, writable(base, bytes));
  const std::uint64_t first = std::min(*checked_align_up(base, kPage), base + bytes);
  const std::uint64_t last = std::max(page_down(base + bytes), first);
  std::memset(at, 0, first - base);
  if (last > first && madvise(memory_ + (first - start_), last - first, MADV_DONTNEED) != 0)
    std::memset(memory_ + (first - start_), 0, last - first);
  std::memset(memory_ + (last - start_), 0, base + bytes - last);
  return {};
}

}  // namespace calkit::emulator
