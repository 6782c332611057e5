#pragma once
/// The frozen baseline on disk: its format, reader, verifier, and the comparison with a peer's goldens.
///   model-source/  manifest.json  config.json  generation_config.json  tokenizer/  weights.sha256
///   reference/     prompts.jsonl  token_ids.npz  logits_fp32.npz|logits_bf16.npz  probes.npz  greedy_tokens.jsonl
///                  coverage.json  noise.json
///   SHA256SUMS     every file above, in sha256sum's format
/// A peer's goldens (Transformers) lie in one folder: prompts.jsonl token_ids.jsonl logits_*.npz greedy_*.jsonl.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/chat_template.h"
#include "calkit/hf/spec.h"
#include "calkit/manifest/targets.h"

namespace calkit::frozen {

/// How a freeze builds the text of a prompt, with the tokenizer of the model at hand. One of the three is set.
struct Recipe {
  std::optional<std::int64_t> tokens;         ///< a text of exactly so many ids
  std::optional<std::int64_t> context_limit;  ///< the same, counted from the model's positions: -1, 0 or 1
  std::string special_tokens;                 ///< the tokenizer's special tokens: "joined", "spaced" or "quoted"
};

struct Prompt {
  std::string id;
  std::string kind;  ///< "english", "code", "len_17", ...; may be empty
  std::string text;
  bool add_special_tokens = false;
  std::optional<Recipe> recipe = std::nullopt;       ///< instead of a text; never in a frozen baseline
  std::optional<hf::ChatInput> chat = std::nullopt;  ///< a freeze renders it to `text`; no special tokens are added
};
/// JSON lines {id, kind?, text, add_special_tokens?}, or a recipe or messages (with tools, kwargs and
/// add_generation_prompt) instead of the text; a line without the flag asks for
/// special tokens, as the peer's encode does.
Result<std::vector<Prompt>> read_prompts(const std::filesystem::path& jsonl);
/// The suite that is built into calkit (manifests/prompts/suite.jsonl): at least 100 prompts.
Result<std::vector<Prompt>> bundled_prompts();

/// The longest list of ids and logits that a greedy step keeps.
inline constexpr std::size_t kTopLogits = 20;

struct GreedyStep {
  std::int32_t token = 0;
  double margin = 0;                  ///< top-1 minus top-2 logit
  std::vector<std::int32_t> top_ids;  ///< 20, largest first, equal logits by smaller id
  std::vector<float> top_logits;
  /// How close the choice of experts was at this position: the smallest distance, over the layers with experts, between
  /// the last chosen and the first left out router logit, as a share of the larger one. Set for BF16 runs of a model
  /// with experts.
  std::optional<double> router_margin = std::nullopt;
};

/// What a model answers to one prompt.
struct ReferenceItem {
  Prompt prompt;
  std::vector<std::int32_t> ids;
  std::vector<float> logits;       ///< [vocab] of the last position; empty when there are no ids
  std::vector<GreedyStep> greedy;  ///< step 0 belongs to the prefill's last position; EOS does not stop
};

/// A prompt of the suite without an answer.
struct Unanswered {
  std::string id, kind;
  std::optional<std::int64_t> tokens;  ///< nullopt: not known, no text was built
  std::string reason;
};

struct Reference {
  std::string dtype;  ///< "fp32" or "bf16"
  std::vector<ReferenceItem> items;
  std::vector<Unanswered> refused = {};   ///< cannot be answered: does not fit the positions, no such text
  std::vector<Unanswered> left_out = {};  ///< longer than max_tokens
  std::optional<std::int64_t> max_tokens = std::nullopt;  ///< what was asked for; nullopt: no limit
  const ReferenceItem* find(std::string_view id) const;
};

/// Reads DIR/reference of a frozen baseline, or a folder of a peer's goldens. @param dtype "fp32", "bf16", or "" for
/// the one that is there.
Result<Reference> read_reference(const std::filesystem::path& dir, const std::string& dtype = {});

struct ModelSource {
  hf::ModelSpec spec;
  manifest::ProductTargets targets;
  std::string model_sha256;  ///< digest over all source files
  std::string tokenizer_sha256;
  std::string config_sha256;
  std::optional<std::string> chat_template_sha256;
  std::optional<std::string> repository, revision, licence;
  std::map<std::string, std::string> null_reasons;  ///< why a field is null
  std::vector<std::int64_t> stop_ids;               ///< union of the EOS ids of all files
  Value manifest;                                   ///< the whole manifest.json
};
Result<ModelSource> read_model_source(const std::filesystem::path& baseline_dir);

/// Re-checks a baseline: SHA256SUMS (missing, changed, extra files), documents, and that prompts, ids, logits and
/// greedy agree with each other and with the tokenizer that was frozen. Each fault is one finding that names file,
/// found and wanted.
struct VerifyReport {
  std::uint64_t files = 0, prompts = 0;
  std::vector<std::string> findings;
};
Result<VerifyReport> verify(const std::filesystem::path& baseline_dir);
/// For those who build on a baseline: kInput with its first finding if it does not verify.
Status require_verified(const std::filesystem::path& baseline_dir);
/// Only the first part of it: every file against SHA256SUMS, whatever the folder holds.
Result<VerifyReport> verify_files(const std::filesystem::path& dir);

/// Compares two references prompt by prompt over the ids they share. Greedy steps are compared along the reference's
/// tokens: both sequences ran freely, so after the first step that differs the rest of that prompt is not compared.
struct CompareLimits {
  double nmse = 1e-9;
  double margin = 1e-3;  ///< below it a greedy flip is excused and counted
  double excused_share = 0.01;
  double router_margin = 0;  ///< up to it a flip is excused by the choice of experts, counted and told
};
struct CompareReport {
  std::uint64_t prompts = 0, ids_different = 0, steps = 0, steps_equal = 0, steps_excused = 0, steps_different = 0;
  double nmse_max = 0, max_abs_max = 0;
  std::uint64_t steps_not_compared = 0;  ///< behind a flip the two runs follow different texts
  std::uint64_t excused_by_router = 0;   ///< of steps_excused: beyond the margin, explained by a router's
  std::string worst_prompt;
  std::vector<std::string> told;      ///< each step that a router's margin excuses, a sentence
  std::vector<std::string> findings;  ///< empty: passed
};
/// The smaller router margin of the two steps, if one of them has one.
std::optional<double> router_margin(const GreedyStep& a, const GreedyStep& b);
/// kInput if they share no prompt.
Result<CompareReport> compare_references(const Reference& got, const Reference& want, const CompareLimits& limits);

}  // namespace calkit::frozen
