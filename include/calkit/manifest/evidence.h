#pragma once
/// Evidence records, schema calkit.evidence/1 (manifests/schemas/evidence.schema.json, docs/formats/evidence.md).
/// Every command that judges something writes one; `gate` reads them and `export` packs them.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/document.h"

namespace calkit::manifest {

enum class EvidenceVerdict { kPass, kFail, kIncomplete };
std::string_view verdict_name(EvidenceVerdict verdict);  ///< "pass", "fail", "incomplete"

/// A file or folder that went in or came out. sha256: of the file, or hash_tree of the folder.
struct EvidenceFile {
  std::string role;  ///< "model", "baseline", "onnx", "calbin", "service", "peer", "bundle", ...
  std::string path;
  std::string sha256;
  std::uint64_t bytes = 0;
};
/// Hashes the file or folder now.
Result<EvidenceFile> evidence_file(std::string role, const std::filesystem::path& path);

/// A figure that was measured, or null with the reason why it was not.
struct Figure {
  std::string name;  ///< carries its unit: "logits_nmse_max", "ttft_p50_ns"
  std::optional<double> value;
  std::string unit;
  std::optional<std::uint64_t> n;
  std::string how;  ///< how it was measured; or, when value is null, why there is none
};

/// A figure that was counted, once.
Figure counted(std::string name, std::uint64_t value, std::string unit, std::string how);

struct EvidenceDevice {
  std::string kind = "none";  ///< "none", "emulated", "plugin"
  std::string name;
  std::optional<std::string> runtime_version, driver_version, firmware_version;  ///< null: the device has none to tell
};

struct Evidence {
  std::string command;  ///< "triage", "freeze-baseline", ...
  std::vector<std::string> argv;
  EvidenceDevice device;
  std::vector<EvidenceFile> inputs, outputs;
  std::vector<Figure> figures;
  EvidenceVerdict verdict = EvidenceVerdict::kIncomplete;
  std::vector<std::string> findings;  ///< one sentence each; empty when all is well
  std::string summary;                ///< one line for people, "192 prompts, logits NMSE 2.1e-13"
  Value targets;                      ///< product targets, or null
  Value details;                      ///< the command's own report document, rendered by the HTML page

  // Filled by start_evidence() and write_evidence():
  std::string started_utc, finished_utc;
  double duration_s = 0;
  std::chrono::steady_clock::time_point started_at{};
  std::string file;  ///< where it was read from or written to
};

/// Fills command, argv and the start of the clock.
Evidence start_evidence(std::string command, std::vector<std::string> argv);
/// Writes DIR/<command>-<time>-<8 hex of its content>.json and returns the path. `env` holds host, version, commit and
/// times.
Result<std::filesystem::path> write_evidence(const std::filesystem::path& dir, Evidence& evidence);
Result<Evidence> read_evidence(const std::filesystem::path& path);
/// All records of a folder, oldest first; other files are ignored, a damaged record is an error.
Result<std::vector<Evidence>> read_evidence_dir(const std::filesystem::path& dir);

}  // namespace calkit::manifest
