#pragma once
/// What a call across the C boundary answers, and the guard that keeps exceptions on our side of it.
#include <cstdint>
#include <new>
#include <string>

#include "calkit/abi/device_v1.h"
#include "calkit/base/result.h"

namespace calkit::emulator {

struct Answer {
  std::uint32_t scope = CALKIT_SCOPE_NONE, kind = CALKIT_KIND_OK, retry = CALKIT_RETRY_NO, lost = CALKIT_LOST_NONE;
  std::string message = "ok";

  bool ok() const { return kind == CALKIT_KIND_OK; }
};

/// The call is refused; everything stays as it was.
Answer refuse(std::uint32_t kind, std::string message, std::uint32_t retry = CALKIT_RETRY_NO);
/// An error from inside. `scope` and `kind` are those of an input error; timeouts, memory and defects keep their own.
Answer from_error(const Error& error, std::uint32_t scope, std::uint32_t kind);
/// Fills *status (if any) and returns the kind.
std::uint32_t report(calkit_status_v1* status, const Answer& answer) noexcept;

/// Every function of the table runs inside: D1 and D2 of the header.
template <class Work>
std::uint32_t guard(calkit_status_v1* status, Work&& work) noexcept {
  if (status != nullptr && status->size < sizeof(calkit_status_v1)) return CALKIT_KIND_ABI;
  try {
    return report(status, work());
  } catch (const std::bad_alloc&) {
    return report(
        status, Answer{CALKIT_SCOPE_HOST, CALKIT_KIND_OUT_OF_MEMORY, CALKIT_RETRY_AFTER_BACKOFF, CALKIT_LOST_NONE, {}});
  } catch (...) {
    return report(status, Answer{CALKIT_SCOPE_DEVICE, CALKIT_KIND_INTERNAL, CALKIT_RETRY_NO, CALKIT_LOST_MODEL, {}});
  }
}

/// D3: a struct of the caller must be at least as large as this header's.
template <class Struct>
bool speaks(const Struct* value) {
  return value != nullptr && value->size >= sizeof(Struct);
}

}  // namespace calkit::emulator
