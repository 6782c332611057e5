#include "calkit/frozen/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/paths.h"
#include "calkit/base/process.h"
#include "calkit/frozen/writer.h"
#include "layout.h"
#include "sums.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kBlobs = "blobs/sha256";
constexpr std::string_view kLists = "baselines";
constexpr std::size_t kShortest = 8, kDigits = 64;

Status make_folder(const fs::path& dir) {
  std::error_code failed;
  fs::create_directories(dir, failed);
  if (failed) return Error{ErrorKind::kIo, fmt::format("{}: cannot be made: {}", dir.string(), failed.message()), {}};
  return {};
}

// Copies in pieces; the bytes that arrive must be the ones that were asked for. Returns their count.
Result<std::uint64_t> copy_checked(const Root& from, const std::string& name, const fs::path& to,
                                   const std::string& want) {
  CALKIT_CHECK_OK(make_folder(to.parent_path()));
  CALKIT_TRY(StagedFile out, StagedFile::create(to));
  Sha256 digest;
  CALKIT_CHECK_OK(from.read_chunks(name, [&](std::span<const std::byte> bytes) -> Status {
    if (interrupted()) return interrupted_error();
    digest.update(bytes);
    return out.write(bytes);
  }));
  if (const std::string found = digest.hex(); found != want)
    return input_error((from.path() / name).string(), {}, "sha256 " + found, want + ", as its list says",
                       "the file was changed or damaged");
  const std::uint64_t bytes = out.size();
  CALKIT_CHECK_OK(out.commit());
  return bytes;
}

Result<std::vector<SumLine>> read_list(const fs::path& file) {
  CALKIT_TRY(const auto text, read_file(file), "reading the list");
  Sums sums = parse_sums(text, file.string());
  if (!sums.faults.empty()) return Error{ErrorKind::kInput, sums.faults.front(), "the list was changed or damaged"};
  return std::move(sums.lines);
}

// The one list whose name starts so.
Result<std::string> find_list(const fs::path& store, const std::string& digest) {
  CALKIT_TRY(const auto names, list_tree(store / kLists), "opening the store");
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (digest.size() >= kShortest && name.starts_with(digest)) found.push_back(name);
  if (found.size() == 1) return found.front();
  return input_error((store / kLists).string(), {}, fmt::format("{} baselines named {}...", found.size(), digest),
                     fmt::format("one; give at least {} digits", kShortest), "`ls STORE/baselines` shows what is kept");
}

}  // namespace

bool is_store(const fs::path& dir) {
  std::error_code ignored;
  return fs::is_directory(dir / kBlobs, ignored) && fs::is_directory(dir / kLists, ignored);
}

Result<KeepReport> keep(const fs::path& baseline, const fs::path& store) {
  if (lies_inside(store, baseline) || lies_inside(baseline, store))
    return input_error(store.string(), "--store", "the baseline's folder, one in it or one that holds it",
                       "a folder beside the baseline");
  CALKIT_TRY(const auto checked, verify_files(baseline), "verifying the baseline");
  if (!checked.findings.empty())
    return Error{ErrorKind::kInput, fmt::format("{}: {}", baseline.string(), checked.findings.front()),
                 "only a baseline whose files are whole is kept"};
  CALKIT_TRY(const auto sums, read_file(baseline / kSums));
  CALKIT_TRY(const auto lines, read_list(baseline / kSums));
  CALKIT_TRY(const Root root, Root::open(baseline));
  KeepReport report;
  report.digest = sha256_hex(sums);
  for (const SumLine& line : lines) {
    ++report.files;
    const fs::path blob = store / kBlobs / line.sha256;
    std::error_code ignored;
    const bool there = fs::exists(blob, ignored);
    if (there) {
      CALKIT_TRY(const auto found, hash_file(blob), "reading the store");
      if (found.sha256 == line.sha256) continue;
    }
    CALKIT_TRY(const auto bytes, copy_checked(root, line.path, blob, line.sha256), "keeping " + line.path);
    ++report.blobs_added;
    if (there) ++report.blobs_repaired;
    report.bytes_added += bytes;
  }
  // Last: a list is there only when all of its blobs are.
  CALKIT_CHECK_OK(make_folder(store / kLists));
  CALKIT_CHECK_OK(write_file(store / kLists / report.digest, sums));
  return report;
}

Result<KeepReport> restore(const fs::path& store, const std::string& digest, const fs::path& out) {
  CALKIT_CHECK_OK(check_target(out));
  if (lies_inside(out, store) || lies_inside(store, out))
    return input_error(out.string(), "--out", "a folder that is, holds or lies in the store", "a folder beside it");
  CALKIT_TRY(const std::string name, find_list(store, digest));
  CALKIT_TRY(const auto sums, read_file(store / kLists / name));
  if (const std::string found = sha256_hex(sums); found != name)
    return input_error((store / kLists / name).string(), {}, "sha256 " + found, name + ", its own name",
                       "the list was changed or damaged");
  CALKIT_TRY(const auto lines, read_list(store / kLists / name));
  CALKIT_TRY(const Root blobs, Root::open(store / kBlobs), "opening the store");
  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the baseline's folder");
  KeepReport report;
  report.digest = name;
  for (const SumLine& line : lines) {
    CALKIT_TRY(const auto bytes, copy_checked(blobs, line.sha256, stage.path() / line.path, line.sha256),
               "restoring " + line.path);
    ++report.files;
    report.bytes_added += bytes;
  }
  CALKIT_CHECK_OK(write_file(stage.path() / kSums, sums));
  CALKIT_CHECK_OK(stage.commit(), "committing the baseline");
  return report;
}

Result<VerifyReport> verify_store(const fs::path& store) {
  VerifyReport report;
  const auto fault = [&](std::string_view file, std::string_view found, std::string_view wanted) {
    report.findings.push_back(fmt::format("{}: found {}; wanted {}", file, found, wanted));
  };
  CALKIT_TRY(const auto blobs, list_tree(store / kBlobs), "listing the store");
  CALKIT_TRY(const auto lists, list_tree(store / kLists), "listing the store");
  std::set<std::string> there(blobs.begin(), blobs.end()), named;
  for (const std::string& blob : blobs) {
    CALKIT_TRY(const auto digest, hash_file(store / kBlobs / blob), "hashing the store");
    ++report.files;
    if (digest.sha256 != blob) fault(fmt::format("{}/{}", kBlobs, blob), "sha256 " + digest.sha256, "its own name");
  }
  for (const std::string& list : lists) {
    ++report.prompts;
    const std::string shown = fmt::format("{}/{}", kLists, list);
    CALKIT_TRY(const auto text, read_file(store / kLists / list), "reading the store");
    if (const std::string found = sha256_hex(text); found != list) fault(shown, "sha256 " + found, "its own name");
    for (const SumLine& line : parse_sums(text, shown).lines) {
      named.insert(line.sha256);
      if (!there.contains(line.sha256)) fault(shown, "no blob " + line.sha256, "the blob of " + line.path);
    }
  }
  for (const std::string& blob : blobs)
    if (!named.contains(blob))
      fault(fmt::format("{}/{}", kBlobs, blob), "a blob that no list names", "only blobs in use");
  return report;
}

}  // namespace calkit::frozen
