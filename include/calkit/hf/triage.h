#pragma once
/// Stage 0: is this checkpoint fit for a first adaptation? Reads config.json and tensor headers only.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/manifest/targets.h"

namespace calkit::hf {

enum class Verdict { kPass, kFail, kNote };      ///< a note is advice and never fails
std::string_view verdict_name(Verdict verdict);  ///< "pass", "fail", "note"

struct TriageRule {
  std::string id;    ///< "dense-decoder", "gqa", "chiplet-fit", ...
  std::string text;  ///< what the rule asks
  std::string found;
  std::string allowed;
  std::string source;  ///< "config.json /num_key_value_heads", "tensor headers", "--context"
  Verdict verdict = Verdict::kFail;
  std::string status;  ///< C0..C4 of what was found: C2 ours to engineer, C3 the vendor's to confirm, C4 not supported
};

struct TriageReport {
  std::string model_type;
  std::uint64_t parameters = 0, weight_bytes = 0, chiplet_usable_bytes = 0;
  std::optional<std::uint64_t>
      kv_bytes;  ///< at the targets; nullopt when the model does not state what it follows from
  /// What was read of the weight files: SHA-256 over sorted lines "<sha256 of the file's header>  <file>\n", and its
  /// bytes.
  std::string headers_sha256;
  std::uint64_t headers_bytes = 0;
  std::vector<TriageRule> rules;
  bool passed() const;
};

/// A model that fails rules is a report, not an error; errors are files that cannot be read or understood at all.
/// A rule whose facts cannot be read (unknown architecture) fails with found = "not stated".
Result<TriageReport> triage(const std::filesystem::path& model_dir, const manifest::ProductTargets& targets,
                            const manifest::DeviceProfile& device);

/// The report as a document (schema calkit.triage/1, docs/formats/triage.md) and as an aligned table for people.
Value to_value(const TriageReport& report, const manifest::ProductTargets& targets,
               const manifest::DeviceProfile& device);
std::string to_text(const TriageReport& report);

}  // namespace calkit::hf
