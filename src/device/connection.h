#pragma once
/// One opened backend: the function table, the device handle and, for a plug-in, the library that holds them.
#include <cstdint>
#include <memory>
#include <string>

#include "calkit/abi/device_v1.h"
#include "calkit/base/result.h"

namespace calkit::device {

/// A status of the boundary as an Error: scope, kind and the vendor's raw code are in the message.
Error to_error(const calkit_status_v1& status, const std::string& call);

class Connection {
 public:
  static Result<std::shared_ptr<Connection>> open(const std::string& spec, calkit_device_entry_v1 builtin);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const calkit_device_api_v1& api() const { return *api_; }
  calkit_device_v1* device() const { return device_; }

  /// Calls `function(arguments..., status)` and turns a failure into an Error.
  /// `CALKIT_CHECK_OK(c.call("kv_free", c.api().kv_free, kv));`
  template <class Function, class... Arguments>
  Status call(const char* name, Function function, Arguments... arguments) const {
    calkit_status_v1 status{};
    status.size = sizeof status;
    const std::uint32_t kind = function(arguments..., &status);
    if (kind == CALKIT_KIND_OK) return {};
    status.kind = kind;
    return to_error(status, name);
  }

  calkit_package_v1* package = nullptr;  ///< loaded, or nullptr
  bool session_alive = false;

 private:
  Connection() = default;
  const calkit_device_api_v1* api_ = nullptr;
  calkit_device_v1* device_ = nullptr;
  void* library_ = nullptr;
};

}  // namespace calkit::device
