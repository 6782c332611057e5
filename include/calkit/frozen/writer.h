#pragma once
/// Writers of the frozen baseline's documents (format: frozen/baseline.h, docs/formats/model-source.md,
/// docs/formats/reference.md). Who freezes calls, inside one staged folder: describe_model_source, write_model_source,
/// write_reference, seal.
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calkit/frozen/baseline.h"
#include "calkit/tensor/tensor.h"

namespace calkit::frozen {

struct SourceOptions {
  manifest::ProductTargets targets;
  std::string reference_dtype = "fp32";  ///< "fp32" or "bf16": how the reference is computed
};
/// Everything model-source/ says about a checkpoint, manifest.json included; writes nothing. Reads each weight byte
/// twice (file digest, tensor digest) and lets the pages go as it walks. kInput: no checkpoint, no tokenizer.json, a
/// tokenizer id without a row in the model (vocab_size), a special token that the tokenizer does not know.
/// kInterrupted: a signal came. Facts that disagree between files are kept, each with its source, in `notes` (see
/// source_notes).
Result<ModelSource> describe_model_source(const std::filesystem::path& model_dir, const SourceOptions& options);

/// The notes of manifest.json: sources that disagree, and why a field is null. One sentence each.
std::vector<std::string> source_notes(const ModelSource& source);

/// Writes `staged_dir`/model-source: manifest.json, weights.sha256, and copies of config.json, generation_config.json
/// and the tokenizer's files, as far as the checkpoint has them. Copies are checked against the digests of `source`.
Status write_model_source(const std::filesystem::path& staged_dir, const std::filesystem::path& model_dir,
                          const ModelSource& source);

/// Writes `staged_dir`/reference: prompts.jsonl, token_ids.npz, logits_<dtype>.npz, greedy_tokens.jsonl, probes.npz,
/// coverage.json, noise.json.
/// @param probes named tensors in the order to write; may be empty. @param noise null: no noise.json.
Status write_reference(const std::filesystem::path& staged_dir, const Reference& reference,
                       const std::vector<std::pair<std::string, Tensor>>& probes, const Value& noise = {});

/// Names of the inner values in probes.npz beside `token_ids`, each float32 [tokens, hidden]: the embedding, parts of
/// the first layer, the last layer's output, the final norm.
std::vector<std::string> probe_names(const hf::ModelSpec& spec);

/// Whether the steps of a freeze have router margins: BF16 runs of a model with layers of experts.
bool records_router(const hf::ModelSpec& spec, std::string_view dtype);

/// Writes `staged_dir`/SHA256SUMS over every file that is there: sorted by bytes, LF, as `sha256sum --strict -c` reads
/// it.
Status seal(const std::filesystem::path& staged_dir);

/// Before a folder is written: kInput unless `out` is new, empty, or a baseline, reference or product baseline whose
/// SHA256SUMS lists exactly the files that are there. Nothing is hashed.
Status check_target(const std::filesystem::path& out);

/// One greedy step from a row of logits: arg-max, margin and the 20 largest. kInput names the count of non-finite
/// values.
Result<GreedyStep> greedy_step(std::span<const float> logits);

/// The token-length bucket of coverage.json: "0", "1", "2-14", "15", "16", "17", "18-254", "255", "256", "257",
/// "258-4094", "4095", "4096", "4097", "4098+".
std::string length_bucket(std::size_t tokens);

/// Documents, one line each where they are lines of a .jsonl.
Value to_value(const Prompt& prompt);
Value to_value(const ReferenceItem& item);  ///< a line of greedy_tokens.jsonl: id, tokens, steps
Value coverage(const Reference& reference);
Value to_value(const Unanswered& prompt);

}  // namespace calkit::frozen
