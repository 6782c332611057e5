#pragma once
/// The bundle for the vendor: package, baseline, graphs, service manifest and evidence in one deterministic
/// NAME.bundle.tar.zst.
///   bundle.json   schema calkit.bundle/1: every file with role, sha256 and bytes; what was proven about the package
///   SHA256SUMS    every file but itself, as `sha256sum --strict -c` reads it
///   README.txt    how to verify and replay
///   package/ baseline/ onnx/ evidence/ service.yaml
/// The byte layout is in docs/formats/bundle.md. No clock and no path of the making machine goes in, except inside the
/// records.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/archive.h"
#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "calkit/manifest/evidence.h"

namespace calkit::bundle {

struct Parts {
  std::filesystem::path package, baseline, onnx, service;
  std::vector<manifest::Evidence> records;  ///< as read_evidence_dir gives them; those of another artefact stay out
  bool allow_unproven = false;  ///< write it although lint or runner did not pass for this package; recorded inside
  std::filesystem::path records_dir;  ///< where they were read from; empty: nowhere
};

struct BundleFile {
  std::string path, role, sha256;  ///< role: package, baseline, onnx, service, evidence, licence, readme
  std::uint64_t bytes = 0;
};
/// bundle.json as structs.
struct Contents {
  std::string package_sha256, baseline_sha256, onnx_sha256;  ///< tree digests, as evidence records state them
  std::map<std::string, std::string> proven;  ///< calbin-lint, runner, bench, soak -> state of the ledger
  bool unproven_allowed = false;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< record -> why
  std::optional<std::string> licence;                         ///< path of the model's licence text in the bundle
  std::vector<BundleFile> files;                              ///< sorted by path; not bundle.json and SHA256SUMS
};
/// Strict both ways. kInput names pointer, found, allowed.
Result<Contents> parse_contents(std::string_view bundle_json, std::string_view file);
Value to_value(const Contents& contents);

struct WriteReport {
  Contents contents;
  FileDigest bundle;
  std::uint64_t unpacked_bytes = 0;
};
/// kInput, and nothing is written: a part is missing or holds links; the package's files are not what calbin.json says;
/// the baseline is not what its SHA256SUMS says; package, baseline and graphs do not belong together; calbin-lint and
/// runner have not passed for this very package and service manifest (unless allow_unproven). kUsage: `out` has another
/// ending, or lies inside one of the parts or the records' folder.
Result<WriteReport> write_bundle(const Parts& parts, const std::filesystem::path& out);

struct VerifyReport {
  std::uint64_t files = 0, bytes = 0;
  std::string bundle_sha256;
  std::optional<Contents> contents;   ///< nullopt if bundle.json is missing or unreadable
  std::vector<std::string> findings;  ///< empty: the bundle is what it says
};
/// Streams the archive once; extracts nothing. Files that are missing, changed, unlisted or of another size, lists that
/// disagree, parts that do not belong together, and bytes after the archive are findings. kInput: not a readable
/// tar.zst, an unsafe or repeated path, a link, a bomb.
Result<VerifyReport> verify_bundle(const std::filesystem::path& bundle, const ArchiveLimits& limits = {});

/// What the command prints, and what goes into its record (details: schema calkit.export/1 and calkit.export-verify/1).
std::string to_text(const WriteReport& report);
std::string to_text(const VerifyReport& report);
void record(const WriteReport& report, manifest::Evidence& evidence);
void record(const VerifyReport& report, manifest::Evidence& evidence);

/// "<64 hex>  <path>" lines with LF. kInput names the line; CR LF is named as such.
Result<std::map<std::string, std::string>> parse_sums(std::string_view text, std::string_view file);

}  // namespace calkit::bundle
