#include "answer.h"

#include <algorithm>
#include <cstring>

namespace calkit::emulator {
namespace {

std::string one_text(const Error& error) {
  std::string text = error.message;
  for (const std::string& frame : error.context) text += "; while " + frame;
  if (!error.hint.empty()) text += " (" + error.hint + ")";
  return text;
}

}  // namespace

Answer refuse(std::uint32_t kind, std::string message, std::uint32_t retry) {
  return {CALKIT_SCOPE_REQUEST, kind, retry, CALKIT_LOST_NONE, std::move(message)};
}

Answer from_error(const Error& error, std::uint32_t scope, std::uint32_t kind) {
  Answer answer{scope, kind, CALKIT_RETRY_NO, CALKIT_LOST_NONE, one_text(error)};
  switch (error.kind) {
    case ErrorKind::kTimeout:
      answer.kind = CALKIT_KIND_TIMEOUT;
      break;
    case ErrorKind::kIncomplete:
      answer.scope = CALKIT_SCOPE_HOST;
      answer.kind = CALKIT_KIND_OUT_OF_MEMORY;
      answer.retry = CALKIT_RETRY_AFTER_BACKOFF;
      break;
    case ErrorKind::kIo:
      answer.scope = CALKIT_SCOPE_HOST;
      break;
    case ErrorKind::kInternal:
      answer.kind = CALKIT_KIND_INTERNAL;
      break;
    default:
      break;
  }
  return answer;
}

std::uint32_t report(calkit_status_v1* status, const Answer& answer) noexcept {
  if (status != nullptr) {
    status->scope = answer.scope;
    status->kind = answer.kind;
    status->retry = answer.retry;
    status->state_lost = answer.lost;
    status->raw_code = 0;
    const std::size_t length = std::min(answer.message.size(), sizeof(status->message) - 1);
    std::memcpy(status->message, answer.message.data(), length);
    status->message[length] = '\0';
  }
  return answer.kind;
}

}  // namespace calkit::emulator
