#pragma once
/// What lies between two references, prompt by prompt, and what changed between two frozen baselines, field by field.
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calkit/frozen/baseline.h"

namespace calkit::frozen {

/// One prompt of two references. Figures of logits belong to the last position of the prompt; they are left out where
/// the token ids differ or there are no tokens.
struct PromptComparison {
  std::string id;
  std::uint64_t tokens = 0;             ///< of the reference
  std::optional<std::size_t> first_id;  ///< first position whose token ids differ
  std::optional<double> nmse, cosine;
  std::optional<double> kl;  ///< sum p ln(p/q) of the two distributions, p being the reference's
  std::optional<double> max_abs;
  std::size_t max_abs_index = 0;               ///< the vocabulary id
  std::optional<double> top_1, top_5, top_20;  ///< share of the reference's largest logits that are in both
  std::size_t steps_equal = 0;                 ///< greedy steps before the first divergent one
  std::optional<std::size_t> divergent_step;   ///< first step whose tokens differ
  std::int32_t got_token = 0, want_token = 0;  ///< at that step
  double margin = 0;                           ///< of the reference at that step
  std::optional<double> got_margin;            ///< of the other one
  std::optional<double> router_margin;         ///< of the two the smaller one, where experts are recorded
  bool by_router = false;                      ///< excused by it, not by the margin
  enum class Verdict { kSame, kWithin, kExcused, kDifferent } verdict = Verdict::kSame;
};
std::string_view verdict_name(PromptComparison::Verdict verdict);  ///< "same", "within limits", "excused", "different"

struct ReferenceComparison {
  CompareReport totals;  ///< as compare_references() gives it
  std::vector<PromptComparison> prompts;
  std::vector<std::string> only_got, only_want;  ///< prompt ids
};
/// kInput as compare_references().
Result<ReferenceComparison> compare_in_detail(const Reference& got, const Reference& want, const CompareLimits& limits);
/// The document calkit.baseline-compare/1.
Value to_value(const ReferenceComparison& comparison, const CompareLimits& limits);

struct FieldChange {
  std::string file, pointer;  ///< the place: JSON pointer, entries of lists by their name
  std::optional<Value> a, b;  ///< nullopt: not there
};
struct BaselineDiff {
  std::vector<std::string> only_a, only_b, changed;  ///< files
  std::vector<FieldChange> fields;
  std::vector<std::string> prompts_only_a, prompts_only_b;
  std::vector<std::pair<std::string, std::vector<std::string>>> prompts;  ///< id -> what changed, a sentence each
  std::uint64_t fields_left_out = 0;                                      ///< beyond 200 a file
  bool env_differs = false;                                               ///< told, and no difference
  bool equal() const { return only_a.empty() && only_b.empty() && changed.empty(); }
};
/// Hashes every file of both folders. kInput: a folder is no baseline, a document of it cannot be read.
Result<BaselineDiff> diff_baselines(const std::filesystem::path& a, const std::filesystem::path& b);
/// The document calkit.baseline-diff/1.
Value to_value(const BaselineDiff& diff);

}  // namespace calkit::frozen
