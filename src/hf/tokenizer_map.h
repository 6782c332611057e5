#pragma once
/// A flat hash table from 64-bit keys to 32-bit values: lookups are most of what encoding does.
#include <cstdint>
#include <vector>

namespace calkit::hf {

class IdMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void reserve(std::size_t entries) {
    std::size_t slots = 16;
    while (slots < entries * 2) slots *= 2;
    if (slots > slots_.size()) rehash(slots);
  }
  /// The value of a key, kNone if it has none.
  std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = mix(key);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.value == kNone || slot.key == key) return slot.value;
    }
  }
  /// Sets a key's value, which must not be kNone.
  void set(std::uint64_t key, std::uint32_t value) {
    reserve(used_ + 1);
    Slot& slot = place(key);
    if (slot.value == kNone) ++used_;
    slot = {key, value};
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };
  static std::size_t mix(std::uint64_t key) {
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15;
    key ^= key >> 29;
    return static_cast<std::size_t>(key);
  }
  Slot& place(std::uint64_t key) {
    for (std::size_t at = mix(key);; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.value == kNone || slot.key == key) return slot;
    }
  }
  void rehash(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.value != kNone) place(slot.key) = slot;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace calkit::hf
