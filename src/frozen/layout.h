#pragma once
/// Names inside a frozen baseline and a folder of a peer's goldens, and small helpers shared by readers and writers.
#include <string>
#include <string_view>

#include "calkit/base/document.h"

namespace calkit::frozen {

inline constexpr std::string_view kSums = "SHA256SUMS";
inline constexpr std::string_view kSourceDir = "model-source";
inline constexpr std::string_view kReferenceDir = "reference";
inline constexpr std::string_view kTokenizerDir = "tokenizer";
inline constexpr std::string_view kManifest = "manifest.json";
inline constexpr std::string_view kWeightSums = "weights.sha256";
inline constexpr std::string_view kPrompts = "prompts.jsonl";
inline constexpr std::string_view kTokenIds = "token_ids.npz";
inline constexpr std::string_view kPeerTokenIds = "token_ids.jsonl";
inline constexpr std::string_view kGreedy = "greedy_tokens.jsonl";
inline constexpr std::string_view kProbes = "probes.npz";
inline constexpr std::string_view kCoverage = "coverage.json";
inline constexpr std::string_view kShard = "shard.json";
inline constexpr std::string_view kNoise = "noise.json";
inline constexpr std::string_view kProduct = "product.json";
inline constexpr std::string_view kProductSchema = "calkit.product-baseline/1";
inline constexpr std::string_view kSourceFile = "source.json";  ///< of a reference: who answered
inline constexpr std::string_view kNoiseSchema = "calkit.noise/1";
inline constexpr std::string_view kSourceSchema = "calkit.model-source/1";
inline constexpr std::string_view kCoverageSchema = "calkit.coverage/1";

inline std::string logits_name(std::string_view dtype) {
  return "logits_" + std::string(dtype) + ".npz";
}
inline std::string peer_greedy_name(std::string_view dtype) {
  return "greedy_" + std::string(dtype) + ".jsonl";
}

/// Documents write digests as "sha256:<hex>"; structs hold the bare hex.
inline std::string digest_text(std::string_view hex) {
  return "sha256:" + std::string(hex);
}
Result<std::string> read_digest(const Cursor& at);

/// True for the files of a checkpoint that say how text becomes ids; they are copied to model-source/tokenizer.
bool is_tokenizer_file(std::string_view name);
bool is_weight_file(std::string_view name);

}  // namespace calkit::frozen
