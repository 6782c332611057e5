#include "download_record.h"

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/text.h"

namespace calkit::hf {
namespace {

constexpr std::size_t kMaxRecord = 64 * 1024, kGitDigits = 40, kSha256Digits = 64;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

bool is_revision(std::string_view text) {
  return text.size() == kGitDigits && is_hex(text);
}
bool is_blob_name(std::string_view text) {
  return (text.size() == kGitDigits || text.size() == kSha256Digits) && is_hex(text);
}

// Three lines: the commit, the ETag, the time.
std::optional<DownloadRecord> read_download_record(const std::filesystem::path& model_dir, std::string_view name) {
  const auto file = model_dir / kRecordFolder / (std::string(name) + std::string(kRecordEnding));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, ignored))) return std::nullopt;
  const auto text = read_file(file, kMaxRecord);
  if (!text.ok()) return std::nullopt;
  auto lines = split(*text, '\n');
  lines.resize(std::max<std::size_t>(lines.size(), 2));
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  DownloadRecord out{lines[0], std::nullopt};
  if (is_blob_name(lines[1])) out.content = lines[1];
  return out;
}

}  // namespace calkit::hf
