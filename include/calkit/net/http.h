#pragma once
/// A plain HTTP client for JSON services. http and https only, no redirects, no proxy of the environment, no cookies.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::net {

struct HttpRequest {
  std::string url;
  std::string body;                                              ///< JSON to POST; empty: GET
  std::vector<std::string> headers;                              ///< "Name: value"
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  ///< of the whole exchange
  std::uint64_t max_bytes = 16ull << 20;                         ///< of the answer's body
};
struct HttpResponse {
  long status = 0;
  std::string body;
  std::string server;  ///< the Server header; may be empty
};

/// Any status is an answer. kUsage: no http(s) URL, or one with a user name or password in it. kDevice: no connection,
/// or one that broke off, or a body above max_bytes. kTimeout: the time was up. kInterrupted: a signal came.
Result<HttpResponse> http_exchange(const HttpRequest& request);

}  // namespace calkit::net
