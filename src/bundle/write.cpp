#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "calkit/base/files.h"
#include "calkit/base/paths.h"
#include "calkit/base/process.h"
#include "calkit/base/tree.h"
#include "calkit/bundle/bundle.h"
#include "calkit/gate/gate.h"
#include "calkit/manifest/service.h"
#include "index.h"

namespace calkit::bundle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReadme = R"(This bundle holds everything that is needed to judge and to replay one package.

Verify (any machine with GNU tar, zstd and coreutils):

  mkdir bundle && tar --zstd -xf NAME.bundle.tar.zst -C bundle && cd bundle
  sha256sum --strict -c SHA256SUMS

or with calkit, which also checks that the parts belong together and extracts nothing:

  calkit export verify NAME.bundle.tar.zst

Replay (from inside the unpacked folder):

  calkit freeze-baseline verify baseline
  calkit calbin-lint package --service service.yaml
  calkit runner package --service service.yaml --baseline baseline

On a board, put its plug-in behind the same commands: --device plugin:PATH.

  package/       the package: calbin.json describes it, every file by hash
  baseline/      what the model means: source documents, token ids, logits, greedy tokens
  onnx/          the graphs that the package was made from, with their weights
  service.yaml   the service manifest that the package must agree with
  evidence/      the records of every judging step, as they were written
  bundle.json    every file with role, size and SHA-256, and what was proven about the package

Records whose device is "emulated" were made without a board: they show that the road works, never how fast hardware is.
)";

std::string lower_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

bool is_licence(const std::string& path) {
  const std::string name = lower_name(path);
  return name.starts_with("license") || name.starts_with("licence") || name.starts_with("copying") ||
         name.starts_with("notice");
}

// Copies the parts into a staged folder and hashes what it copies: what is packed is what was checked.
class Stager {
 public:
  explicit Stager(fs::path dir) : dir_(std::move(dir)) {}

  Status add_folder(const fs::path& from, const std::string& folder, const std::string& role) {
    std::error_code error;
    if (!fs::is_directory(from, error))
      return Error(ErrorKind::kInput, fmt::format("{}: the {} is no folder", from.string(), role),
                   "name the folder that the step before made");
    return add_tree(from, folder, role);
  }

  /// A folder or an archive of one.
  Status add_tree(const fs::path& from, const std::string& folder, const std::string& role) {
    CALKIT_TRY(const auto tree, FileTree::open(from));
    for (const TreeEntry& entry : tree.entries()) {
      if (interrupted()) return interrupted_error();
      if (entry.kind == EntryKind::kFolder && entry.what.empty()) continue;
      if (entry.copies > 1)
        return input_error(from.string(), entry.path, fmt::format("{} members of this name", entry.copies),
                           "each path once");
      CALKIT_TRY(const auto mapped, tree.map(entry.path), fmt::format("reading the {}", role));
      CALKIT_CHECK_OK(add_mapped(*mapped, folder + "/" + entry.path, role));
    }
    return {};
  }

  Status add_single(const fs::path& from, const std::string& to, const std::string& role) {
    const fs::path parent = from.has_parent_path() ? from.parent_path() : fs::path(".");
    CALKIT_TRY(const auto root, Root::open(parent));
    return add_file(root, from.filename().string(), to, role);
  }

  Status add_text(std::string_view text, const std::string& to, const std::string& role) {
    CALKIT_CHECK_OK(write(to, std::as_bytes(std::span(text))));
    note(to, role, {sha256_hex(text), text.size()});
    return {};
  }

  const Index& index() const { return index_; }
  std::vector<BundleFile>& files() { return files_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Status add_file(const Root& root, const std::string& name, const std::string& to, const std::string& role) {
    CALKIT_TRY(const auto mapped, root.map(name), fmt::format("reading the {}", role));
    return add_mapped(*mapped, to, role);
  }

  Status add_mapped(const MappedFile& mapped, const std::string& to, const std::string& role) {
    CALKIT_CHECK_OK(write(to, mapped.bytes()));
    const FileDigest digest{sha256_hex(mapped.bytes()), mapped.size()};
    if (is_document(to)) {
      if (mapped.size() > kMaxDocument)
        return Error(ErrorKind::kInput, fmt::format("{}: found {} bytes; allowed {}", to, mapped.size(), kMaxDocument));
      index_.texts[to] = std::string(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.size());
    }
    mapped.release(0, mapped.size());
    note(to, role == "baseline" && is_licence(to) ? "licence" : role, digest);
    return {};
  }

  Status write(const std::string& to, std::span<const std::byte> bytes) {
    std::error_code error;
    fs::create_directories((dir_ / to).parent_path(), error);
    std::ofstream out(dir_ / to, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out.good())
      return Error(ErrorKind::kIo, fmt::format("{}: cannot be written whole", (dir_ / to).string()),
                   "is the disk full?");
    return {};
  }

  void note(const std::string& to, const std::string& role, FileDigest digest) {
    bytes_ += digest.bytes;
    files_.push_back({to, role, digest.sha256, digest.bytes});
    index_.files[to] = std::move(digest);
  }

  fs::path dir_;
  Index index_;
  std::vector<BundleFile> files_;
  std::uint64_t bytes_ = 0;
};

// The records of this package go in; gate's and export's own would make each bundle differ from the last.
Status add_records(const Parts& parts, const gate::Chain& known, Stager& stager, Contents& contents) {
  const gate::Chain chain = gate::find_chain(parts.records, known);
  for (const manifest::Evidence& record : parts.records) {
    if (record.command == "gate" || record.command.starts_with("export")) continue;
    const std::string name = fs::path(record.file).filename().string();
    const std::string reason = gate::off_chain_reason(record, chain);
    if (!reason.empty()) {
      contents.left_out.emplace_back(name, reason);
      continue;
    }
    CALKIT_CHECK_OK(stager.add_single(record.file, "evidence/" + name, "evidence"));
  }
  return {};
}

// Evidence belongs to the bytes it was made with: another build of the package, or a run under another service
// manifest, has proven nothing.
Status check_proven(const Parts& parts, const gate::Chain& known, Contents& contents) {
  const gate::Report ledger = gate::judge(parts.records, gate::Require::kC2, known);
  std::string unproven;
  for (const gate::Row& row : ledger.rows) {
    const std::string command = row.gate->command;
    if (!row.gate->on_road ||
        (command != "calbin-lint" && command != "runner" && command != "bench" && command != "soak"))
      continue;
    contents.proven[command] = std::string(gate::state_name(row.state));
    const bool must = command == "calbin-lint" || command == "runner";
    if (must && row.state != gate::State::kSatisfied)
      unproven +=
          fmt::format("{}{} is {} ({})", unproven.empty() ? "" : "; ", command, gate::state_name(row.state), row.note);
  }
  contents.unproven_allowed = parts.allow_unproven && !unproven.empty();
  if (unproven.empty() || parts.allow_unproven) return {};
  return Error(ErrorKind::kInput, fmt::format("{}: this package is not proven: {}", parts.package.string(), unproven),
               "run those steps on this very package with the same records folder, or pass --allow-unproven, which the "
               "bundle records");
}

std::string sums_of(const std::map<std::string, FileDigest>& files) {
  std::string out;
  for (const auto& [path, digest] : files) out += fmt::format("{}  {}\n", digest.sha256, path);
  return out;
}

Status stage(const Parts& parts, Stager& stager, Contents& contents) {
  CALKIT_CHECK_OK(manifest::read_service(parts.service), "reading --service");
  CALKIT_CHECK_OK(stager.add_tree(parts.package, "package", "package"), "collecting --package");
  CALKIT_CHECK_OK(stager.add_folder(parts.baseline, "baseline", "baseline"), "collecting --baseline");
  CALKIT_CHECK_OK(stager.add_folder(parts.onnx, "onnx", "onnx"), "collecting --onnx");
  CALKIT_CHECK_OK(stager.add_single(parts.service, "service.yaml", "service"), "collecting --service");
  const auto faults = check_parts(stager.index());
  if (!faults.empty())
    return Error(ErrorKind::kInput,
                 fmt::format("the parts do not make a bundle: {}{}", faults.front(),
                             faults.size() > 1 ? fmt::format(" (and {} more)", faults.size() - 1) : ""),
                 "name the package, the baseline it was packed with and the graphs it was packed from");
  contents.package_sha256 = tree_digest(stager.index(), "package");
  contents.baseline_sha256 = tree_digest(stager.index(), "baseline");
  contents.onnx_sha256 = tree_digest(stager.index(), "onnx");
  const gate::Chain known = {{"calbin", contents.package_sha256},
                             {"baseline", contents.baseline_sha256},
                             {"onnx", contents.onnx_sha256},
                             {"service", stager.index().files.at("service.yaml").sha256}};
  CALKIT_CHECK_OK(check_proven(parts, known, contents));
  CALKIT_CHECK_OK(add_records(parts, known, stager, contents), "collecting --records");
  CALKIT_CHECK_OK(stager.add_text(kReadme, "README.txt", "readme"));
  contents.files = stager.files();
  std::sort(contents.files.begin(), contents.files.end(),
            [](const BundleFile& a, const BundleFile& b) { return a.path < b.path; });
  for (const BundleFile& file : contents.files)
    if (file.role == "licence" && !contents.licence) contents.licence = file.path;
  CALKIT_CHECK_OK(stager.add_text(to_json(to_value(contents)) + "\n", "bundle.json", "readme"));
  return stager.add_text(sums_of(stager.index().files), "SHA256SUMS", "readme");
}

// A bundle inside a part would be packed into the next one, and would change what that part's digest says.
Status check_place(const Parts& parts, const fs::path& out) {
  const std::pair<const char*, const fs::path*> folders[] = {{"--package", &parts.package},
                                                             {"--baseline", &parts.baseline},
                                                             {"--onnx", &parts.onnx},
                                                             {"the records' folder", &parts.records_dir}};
  for (const auto& [name, folder] : folders)
    if (!folder->empty() && lies_inside(out, *folder))
      return Error(ErrorKind::kUsage,
                   fmt::format("--out is '{}': it lies inside {} ({})", out.string(), name, folder->string()),
                   "write the bundle beside the folders that it packs");
  return {};
}

}  // namespace

Result<WriteReport> write_bundle(const Parts& parts, const fs::path& out) {
  constexpr std::string_view kEnding = ".bundle.tar.zst";
  if (!out.string().ends_with(kEnding))
    return Error(ErrorKind::kUsage, fmt::format("--out is '{}'; it must end in {}", out.string(), kEnding));
  CALKIT_CHECK_OK(check_place(parts, out));
  WriteReport report;
  // The staged folder is never committed: it goes away with this function, and that of a killed run with the next one.
  CALKIT_TRY(const auto staged, StagedDir::create(out.string() + ".parts"), "preparing the bundle");
  Stager stager(staged.path());
  CALKIT_CHECK_OK(stage(parts, stager, report.contents));
  std::vector<std::string> names;
  for (const auto& [path, digest] : stager.index().files) names.push_back(path);
  report.unpacked_bytes = stager.bytes();
  CALKIT_CHECK_OK(write_tar_zst(out, staged.path(), std::move(names)), "writing the bundle");
  CALKIT_TRY(report.bundle, hash_file(out));
  return report;
}

}  // namespace calkit::bundle
