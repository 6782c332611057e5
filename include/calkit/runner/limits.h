#pragma once
/// How far a device may be from the baseline: manifests/thresholds/runner.yaml, schema calkit.thresholds/1.
#include <filesystem>
#include <string>

#include "calkit/base/result.h"
#include "calkit/base/value.h"

namespace calkit::runner {

struct Limits {
  std::string dtype;          ///< the baseline's: "fp32" or "bf16"
  double nmse = 0;            ///< of the prefill's logits, and of the stored top logits of each step
  double margin = 0;          ///< a greedy flip where the reference's top1-top2 margin is not above this is excused
  double excused_share = 0;   ///< of all compared steps, how many may be excused
  std::string reason;         ///< why these numbers
  std::string owner, status;  ///< who answers for them; C0..C4
  std::string source;         ///< "built in" or the file
};
/// The limits of one dtype. kInput: unknown key, another schema or command, a dtype without limits, a number out of
/// range.
Result<Limits> read_limits(const std::filesystem::path& thresholds, const std::string& dtype);
/// Those that are built into the library.
Result<Limits> default_limits(const std::string& dtype);
Value to_value(const Limits& limits);

}  // namespace calkit::runner
