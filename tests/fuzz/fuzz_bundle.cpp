// What `export verify` reads: a whole archive (zstd magic), bundle.json (a brace) or a list of sums (anything else).
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/bundle/bundle.h"
#include "scratch_file.h"

namespace {

constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

void verify_archive(const std::uint8_t* data, std::size_t size) {
  const auto report =
      calkit::bundle::verify_bundle(calkit::fuzz::as_file(data, size), {.max_entries = 100, .max_bytes = 1 << 20});
  // A bundle without its lists must never be called good.
  if (report.ok() && report->findings.empty() && !report->contents) std::abort();
}

void read_contents(std::string_view text) {
  const auto contents = calkit::bundle::parse_contents(text, "bundle.json");
  if (!contents.ok()) return;
  const std::string written = calkit::to_json(calkit::bundle::to_value(*contents));
  const auto again = calkit::bundle::parse_contents(written, "bundle.json");
  if (!again.ok() || calkit::to_json(calkit::bundle::to_value(*again)) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with(kZstdMagic))
    verify_archive(data, size);
  else if (text.starts_with('{'))
    read_contents(text);
  else
    static_cast<void>(calkit::bundle::parse_sums(text, "SHA256SUMS").ok());
  return 0;
}
