#include "connection.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "calkit/base/log.h"
#include "calkit/base/text.h"

namespace calkit::device {
namespace {

constexpr std::string_view kPlugin = "plugin:";

const char* scope_name(std::uint32_t scope) {
  constexpr const char* kNames[] = {"none", "request", "model", "device", "host"};
  return scope < std::size(kNames) ? kNames[scope] : "unknown";
}

const char* kind_name(std::uint32_t kind) {
  constexpr const char* kNames[] = {"ok",      "abi",          "invalid argument", "not found",   "bad state",
                                    "busy",    "KV exhausted", "bad package",      "unsupported", "out of memory",
                                    "timeout", "device lost",  "internal"};
  return kind < std::size(kNames) ? kNames[kind] : "unknown";
}

ErrorKind error_kind(std::uint32_t kind) {
  switch (kind) {
    case CALKIT_KIND_INVALID_ARGUMENT:
    case CALKIT_KIND_NOT_FOUND:
    case CALKIT_KIND_BAD_STATE:
    case CALKIT_KIND_BUSY:
    case CALKIT_KIND_KV_EXHAUSTED:
    case CALKIT_KIND_BAD_PACKAGE:
    case CALKIT_KIND_UNSUPPORTED:
      return ErrorKind::kInput;
    case CALKIT_KIND_TIMEOUT:
      return ErrorKind::kTimeout;
    default:
      return ErrorKind::kDevice;
  }
}

const char* retry_hint(std::uint32_t retry) {
  switch (retry) {
    case CALKIT_RETRY_AFTER_BACKOFF:
      return "try again later";
    case CALKIT_RETRY_AFTER_RELOAD:
      return "unload the package and load it again";
    case CALKIT_RETRY_AFTER_RESET:
      return "close and reset the device";
    default:
      return "";
  }
}

}  // namespace

Error to_error(const calkit_status_v1& status, const std::string& call) {
  // A foreign backend may forget the terminator.
  const std::string text(status.message, strnlen(status.message, sizeof status.message));
  std::string message =
      fmt::format("device: {}: {} ({} scope): {}", call, kind_name(status.kind), scope_name(status.scope), text);
  if (status.raw_code != 0) message += fmt::format(" [raw code {}]", status.raw_code);
  return Error{error_kind(status.kind), std::move(message), retry_hint(status.retry)};
}

Result<std::shared_ptr<Connection>> Connection::open(const std::string& spec, calkit_device_entry_v1 builtin) {
  std::shared_ptr<Connection> out(new Connection());
  calkit_device_entry_v1 entry = builtin;
  if (spec.starts_with(kPlugin) && spec.size() > kPlugin.size()) {
    // With a slash dlopen takes the path as it is and does not search the system's library folders.
    std::error_code ignored;
    const std::string path = std::filesystem::absolute(spec.substr(kPlugin.size()), ignored).string();
    // dlopen would wait for a writer of a pipe, for ever.
    if (!std::filesystem::is_regular_file(path, ignored))
      return input_error("--device", path, "no regular file", "a shared object with a device backend");
    out->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (out->library_ == nullptr) {
      const char* reason = dlerror();
      return input_error("--device", path, reason != nullptr ? reason : "cannot be loaded",
                         "a shared object with a device backend");
    }
    void* symbol = dlsym(out->library_, CALKIT_DEVICE_ENTRY_SYMBOL);
    if (symbol == nullptr)
      return input_error("--device", path, "no symbol " CALKIT_DEVICE_ENTRY_SYMBOL, "a shared object that exports it",
                         "calkit/abi/device_v1.h says what a backend exports");
    std::memcpy(&entry, &symbol, sizeof entry);
  } else if (spec != "emu") {
    return Error(ErrorKind::kUsage, fmt::format("--device is '{}'; allowed: emu or plugin:PATH", printable(spec)));
  }
  if (entry == nullptr) return Error{ErrorKind::kInternal, "no emulated backend was passed in"};
  out->api_ = entry(CALKIT_DEVICE_ABI_V1);
  if (out->api_ == nullptr || out->api_->abi_version != CALKIT_DEVICE_ABI_V1 ||
      out->api_->size < sizeof(calkit_device_api_v1)) {
    out->api_ = nullptr;
    return input_error(
        "--device", spec, "a backend of another ABI version or size",
        fmt::format("ABI version {} with a table of at least {} B", CALKIT_DEVICE_ABI_V1, sizeof(calkit_device_api_v1)),
        "build the backend against this calkit's calkit/abi/device_v1.h");
  }
  CALKIT_CHECK_OK(out->call("open", out->api_->open, &out->device_));
  return out;
}

Connection::~Connection() {
  if (device_ != nullptr) {
    if (package != nullptr) {
      if (const Status status = call("unload", api_->unload, package); !status.ok())
        log::warning(status.error().message);
    }
    if (const Status status = call("close", api_->close, device_); !status.ok()) log::warning(status.error().message);
  }
  if (library_ != nullptr) dlclose(library_);
}

}  // namespace calkit::device
