#pragma once
/// freeze-baseline reference: answers that somebody else computed, in the format of a frozen reference.
#include <chrono>
#include <filesystem>
#include <string>

#include "calkit/frozen/baseline.h"
#include "calkit/frozen/texts.h"

namespace calkit::baseline {

struct ImportReport {
  std::uint64_t prompts = 0, greedy_steps = 0, refused = 0;
  std::string dtype;               ///< empty for texts
  std::string source;              ///< one line: who answered
  std::vector<std::string> notes;  ///< what the baseline lacks
};

/// Reads a folder of a peer's goldens (frozen/baseline.h; tools/peers/transformers_dump.py writes one) and writes
/// OUT/reference with source.json beside it: the dump's own meta.json and the digest of each of its files.
/// @param dtype "fp32", "bf16", or "" for the one that is there.
/// kInput: no such folder, documents that contradict each other, OUT is a folder of something else.
Result<ImportReport> import_dump(const std::filesystem::path& dump, const std::string& dtype,
                                 const std::filesystem::path& out);

struct ServerOptions {
  std::string url;    ///< of an OpenAI-compatible service: URL/v1/completions is asked
  std::string model;  ///< sent as `model`; empty: not sent
  std::filesystem::path baseline, out;
  bool as_text = false;  ///< send the prompts' texts instead of their token ids
  std::string api_key;   ///< sent as a bearer token, written nowhere
  std::chrono::milliseconds timeout = std::chrono::seconds(120);  ///< of one answer
};
/// Asks a running service for the greedy continuation of every prompt of a baseline, one at a time, and writes the
/// texts. A prompt that the service refuses (status 4xx) is kept with its reason. kDevice, kTimeout: the service
/// failed, or has no time (408, 429). kInput: the baseline does not verify, the key or the address is wrong (401, 403,
/// 404, 405), the service refused every prompt, or its answer is no completion.
Result<ImportReport> ask_server(const ServerOptions& options);

}  // namespace calkit::baseline
