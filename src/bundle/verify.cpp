#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/process.h"
#include "calkit/bundle/bundle.h"
#include "frame.h"
#include "index.h"

namespace calkit::bundle {
namespace {

constexpr std::size_t kChunk = 256 * 1024;

Status read_entry(const std::string& path, const EntryReader& read, Index& index) {
  std::vector<std::byte> chunk(kChunk);
  Sha256 sha;
  FileDigest digest;
  const bool keep = is_document(path);
  std::string text;
  while (true) {
    if (interrupted()) return interrupted_error();
    CALKIT_TRY(const std::size_t n, read(chunk), "reading " + path);
    if (n == 0) break;
    const auto bytes = std::span<const std::byte>(chunk).first(n);
    sha.update(bytes);
    digest.bytes += n;
    if (keep && digest.bytes <= kMaxDocument) text.append(reinterpret_cast<const char*>(bytes.data()), n);
  }
  if (keep && digest.bytes > kMaxDocument)
    return Error(ErrorKind::kInput, fmt::format("{}: found {} bytes; allowed {}", path, digest.bytes, kMaxDocument));
  digest.sha256 = sha.hex();
  if (keep) index.texts[path] = std::move(text);
  index.files[path] = std::move(digest);
  return {};
}

class Verifier {
 public:
  Verifier(const Index& index, VerifyReport& report) : index_(index), report_(report) {}

  void run() {
    check_sums();
    check_contents();
    for (std::string& finding : check_parts(index_)) find(std::move(finding));
  }

 private:
  void find(std::string text) { report_.findings.push_back(std::move(text)); }

  void check_sums() {
    const auto text = index_.texts.find("SHA256SUMS");
    if (text == index_.texts.end()) return find("SHA256SUMS is missing");
    const auto sums = parse_sums(text->second, "SHA256SUMS");
    if (!sums.ok()) return find(sums.error().message);
    for (const auto& [path, sha256] : *sums) check_file(path, sha256, "SHA256SUMS");
    for (const auto& [path, digest] : index_.files)
      if (path != "SHA256SUMS" && !sums->contains(path)) find(fmt::format("{} is not listed in SHA256SUMS", path));
  }

  void check_contents() {
    const auto text = index_.texts.find("bundle.json");
    if (text == index_.texts.end()) return find("bundle.json is missing");
    auto contents = parse_contents(text->second, "bundle.json");
    if (!contents.ok()) return find(contents.error().message);
    std::size_t unlisted = index_.files.size();
    for (const BundleFile& file : contents->files) {
      check_file(file.path, file.sha256, "bundle.json");
      const auto found = index_.files.find(file.path);
      if (found == index_.files.end()) continue;
      --unlisted;
      if (found->second.bytes != file.bytes)
        find(fmt::format("{}: {} bytes; bundle.json says {}", file.path, found->second.bytes, file.bytes));
    }
    if (unlisted != 2) check_unlisted(*contents);
    check_tree("package", contents->package_sha256);
    check_tree("baseline", contents->baseline_sha256);
    check_tree("onnx", contents->onnx_sha256);
    report_.contents = std::move(contents).value();
  }

  void check_unlisted(const Contents& contents) {
    for (const auto& [path, digest] : index_.files) {
      const bool listed = std::any_of(contents.files.begin(), contents.files.end(),
                                      [&](const BundleFile& f) { return f.path == path; });
      if (!listed && path != "bundle.json" && path != "SHA256SUMS")
        find(fmt::format("{} is not listed in bundle.json", path));
    }
  }

  void check_tree(const std::string& folder, const std::string& want) {
    const std::string found = tree_digest(index_, folder);
    if (found != want) find(fmt::format("{}/: tree digest is {}; bundle.json says {}", folder, found, want));
  }

  void check_file(const std::string& path, const std::string& sha256, std::string_view listed_in) {
    const auto found = index_.files.find(path);
    if (found == index_.files.end()) return find(fmt::format("{} is missing, but {} lists it", path, listed_in));
    if (found->second.sha256 != sha256)
      find(fmt::format("{}: sha256 is {}; {} says {}", path, found->second.sha256, listed_in, sha256));
  }

  const Index& index_;
  VerifyReport& report_;
};

}  // namespace

Result<VerifyReport> verify_bundle(const std::filesystem::path& bundle, const ArchiveLimits& limits) {
  VerifyReport report;
  Index index;
  CALKIT_CHECK_OK(read_tar_zst(
                      bundle,
                      [&index](const std::string& path, std::uint64_t, const EntryReader& read) {
                        return read_entry(path, read, index);
                      },
                      limits),
                  "reading the bundle");
  CALKIT_TRY(const auto digest, hash_file(bundle));
  CALKIT_TRY(const std::uint64_t frame, first_frame_bytes(bundle), "reading the bundle");
  if (frame != digest.bytes)
    report.findings.push_back(
        fmt::format("{} bytes follow the archive: a bundle is one zstd frame, nothing after it", digest.bytes - frame));
  report.bundle_sha256 = digest.sha256;
  report.files = index.files.size();
  for (const auto& [path, file] : index.files) report.bytes += file.bytes;
  Verifier(index, report).run();
  return report;
}

}  // namespace calkit::bundle
