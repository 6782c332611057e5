#pragma once
/// Stage 0: is this checkpoint fit for a first adaptation? Reads config.json and tensor headers only.
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/manifest/targets.h"

namespace calkit::hf {

enum class Verdict { kPass, kFail, kNote };  ///< a note is advice and never fails

struct TriageRule {
  std::string id;    ///< "dense-decoder", "norm", "kv-fits", ...
  std::string text;  ///< what the rule asks
  std::string found;
  std::string allowed;
  std::string source;  ///< "config.json /num_key_value_heads", "tensor headers", "--context"
  Verdict verdict = Verdict::kFail;
  std::string status;  ///< C0..C4 when the rule holds as found
};

struct TriageReport {
  std::string model_type;
  std::uint64_t parameters = 0, weight_bytes = 0, kv_bytes = 0, chiplet_usable_bytes = 0;
  std::vector<TriageRule> rules;
  bool passed() const;
};

/// A model that fails rules is a report, not an error; errors are files that cannot be read or understood at all.
/// A rule whose facts cannot be read (unknown architecture) fails with found = "not stated".
Result<TriageReport> triage(const std::filesystem::path& model_dir, const manifest::ProductTargets& targets,
                            const manifest::DeviceProfile& device);

}  // namespace calkit::hf
