#include "calkit/net/http.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "calkit/base/process.h"
#include "calkit/base/text.h"

namespace calkit::net {
namespace {

struct Easy {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct List {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Exchange {
  HttpResponse response;
  std::uint64_t max_bytes = 0;
  bool too_long = false;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::size_t bytes = size * count;
  if (exchange.response.body.size() + bytes > exchange.max_bytes) {
    exchange.too_long = true;
    return 0;  // ends the transfer
  }
  exchange.response.body.append(data, bytes);
  return bytes;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) {
  const std::string_view line(data, size * count);
  const std::size_t colon = line.find(':');
  if (colon == 6 && (line.starts_with("Server") || line.starts_with("server"))) {
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with('\r') || value.ends_with('\n')) value.remove_suffix(1);
    static_cast<Exchange*>(user)->response.server = printable(value, 200);
  }
  return line.size();
}

int stop_when_interrupted(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupted() ? 1 : 0;
}

Status check_url(const std::string& url) {
  const bool known = url.starts_with("http://") || url.starts_with("https://");
  const std::string_view authority = std::string_view(url).substr(0, url.find('/', 8));
  if (known && authority.find('@') == std::string_view::npos && authority.size() > 8) return {};
  return Error(ErrorKind::kUsage, fmt::format("the URL is '{}'", printable(known ? "(with a password)" : url, 200)),
               "give http://HOST:PORT or https://HOST, without a user name or password");
}

// A line break in a header would begin another one.
Status check_headers(const std::vector<std::string>& headers) {
  for (const std::string& header : headers)
    if (std::any_of(header.begin(), header.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      return Error(ErrorKind::kUsage, fmt::format("the header {}: found a control character; allowed: none",
                                                  printable(header.substr(0, header.find(':')))));
  return {};
}

Error failed(CURLcode code, const HttpRequest& request, const Exchange& exchange) {
  if (interrupted()) return interrupted_error();
  if (exchange.too_long)
    return Error(ErrorKind::kDevice,
                 fmt::format("{}: the answer is longer than {} bytes", request.url, request.max_bytes));
  if (code == CURLE_OPERATION_TIMEDOUT)
    return Error(ErrorKind::kTimeout, fmt::format("{}: no whole answer within {} ms", request.url,
                                                  static_cast<long long>(request.timeout.count())));
  return Error(ErrorKind::kDevice, fmt::format("{}: {}", request.url, curl_easy_strerror(code)),
               "is the service running, and is this its address?");
}

}  // namespace

Result<HttpResponse> http_exchange(const HttpRequest& request) {
  CALKIT_CHECK_OK(check_url(request.url));
  CALKIT_CHECK_OK(check_headers(request.headers));
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, Easy> handle(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (!handle) return Error(ErrorKind::kIo, "the HTTP client cannot be set up");
  Exchange exchange;
  exchange.max_bytes = request.max_bytes;
  CURL* curl = handle.get();
  curl_slist* raw = curl_slist_append(nullptr, "Content-Type: application/json");
  for (const std::string& header : request.headers) raw = curl_slist_append(raw, header.c_str());
  const std::unique_ptr<curl_slist, List> headers(curl_slist_append(raw, "Expect:"));
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &stop_when_interrupted);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (!request.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK) return failed(code, request, exchange);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &exchange.response.status);
  return std::move(exchange.response);
}

}  // namespace calkit::net
