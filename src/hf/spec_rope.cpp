#include "spec_rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "spec_family.h"

namespace calkit::hf {
namespace {

constexpr std::int64_t kMaxPositions = 1 << 26;
constexpr const char* kTypes = "default, linear, dynamic, llama3, yarn";

Result<double> number_in(const Cursor& at, double least, double most) {
  CALKIT_TRY(const double value, at.as_number());
  if (!(value >= least && value <= most))
    return at.error(at.value().describe(), fmt::format("a number from {} to {}", least, most));
  return value;
}

Result<double> required(const Cursor& block, std::string_view key, double least, double most) {
  CALKIT_TRY(const Cursor at, block.at(key));
  return number_in(at, least, most);
}

Status optional_into(const Cursor& block, std::string_view key, double least, double most,
                     std::optional<double>& into) {
  if (const auto at = block.find(key)) {
    CALKIT_TRY(into, number_in(*at, least, most));
  }
  return {};
}

Result<double> theta_of(const Cursor& at) {
  CALKIT_TRY(const double theta, at.as_number());
  if (!(theta > 1 && theta <= 1e12)) return at.error(at.value().describe(), "a number above 1, at most 1e12");
  return theta;
}

/// `rope_type`, which older files spell `type`; where both are there they must agree.
Result<std::string> type_of(const Cursor& block) {
  std::optional<std::string> type;
  for (const char* key : {"rope_type", "type"})
    if (const auto at = block.find(key)) {
      CALKIT_TRY(const std::string word, at->as_string());
      if (type && word != *type)
        return at->error(at->value().describe(), fmt::format("\"{}\", as rope_type says", *type));
      type = word;
      constexpr std::string_view kKnown[] = {"default", "linear", "dynamic", "llama3", "yarn"};
      if (std::find(std::begin(kKnown), std::end(kKnown), word) == std::end(kKnown))
        return at->error(at->value().describe(), kTypes,
                         fmt::format("to take rope type '{}', calkit needs its frequencies and a peer's numbers to "
                                     "check them against",
                                     word));
    }
  if (!type) return block.error("no rope_type", fmt::format("a rope_type: {}", kTypes));
  return *type;
}

/// Transformers 5 ignores the factor for unscaled RoPE in these families, version 4 fails on it.
Status read_partial(const Cursor& at, const std::string& type, ModelSpec& spec) {
  CALKIT_TRY(const double factor, at.as_number());
  if (factor == 1) return {};
  if (type != "default")
    return at.error(at.value().describe(), "1: RoPE turns the whole head",
                    "to turn a part of the head, calkit needs a family that defines it");
  spec.notes.push_back(
      fmt::format("config.json {} is {}; {} has no partial RoPE and Transformers turns the whole head, as calkit does",
                  at.pointer(), at.value().describe(), spec.model_type));
  return {};
}

Status only_keys_of(const Cursor& block, const std::string& type) {
  std::set<std::string_view> known = {"rope_type", "type", "rope_theta", "partial_rotary_factor"};
  if (type != "default") known.insert("factor");
  if (type == "llama3" || type == "yarn") known.insert("original_max_position_embeddings");
  if (type == "llama3") known.insert({"low_freq_factor", "high_freq_factor"});
  if (type == "yarn")
    known.insert({"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"});
  CALKIT_TRY(const auto members, block.members());
  for (const auto& [key, at] : members)
    if (!known.contains(key) && !at.value().is_null())
      return at.error(at.value().describe(), fmt::format("the keys of rope type '{}'", type),
                      fmt::format("what '{}' does to the angles is unknown here", key));
  return {};
}

Status read_llama3(const Cursor& block, RopeScaling& out) {
  CALKIT_TRY(out.low_freq_factor, required(block, "low_freq_factor", 1e-3, 1e6));
  CALKIT_TRY(out.high_freq_factor, required(block, "high_freq_factor", 1e-3, 1e6));
  if (out.high_freq_factor <= out.low_freq_factor) {
    CALKIT_TRY(const Cursor at, block.at("high_freq_factor"));
    return at.error(at.value().describe(), fmt::format("above low_freq_factor = {}", out.low_freq_factor));
  }
  CALKIT_TRY(out.original_max_positions, block.integer("original_max_position_embeddings", 1, kMaxPositions));
  return {};
}

Status read_yarn(const Cursor& block, const ModelSpec& spec, RopeScaling& out) {
  out.original_max_positions = spec.max_positions;
  if (const auto at = block.find("original_max_position_embeddings")) {
    CALKIT_TRY(out.original_max_positions, at->as_int(1, kMaxPositions));
  }
  std::optional<double> fast, slow;
  CALKIT_CHECK_OK(optional_into(block, "beta_fast", 1e-3, 1e6, fast));
  CALKIT_CHECK_OK(optional_into(block, "beta_slow", 1e-3, 1e6, slow));
  out.beta_fast = fast.value_or(out.beta_fast);
  out.beta_slow = slow.value_or(out.beta_slow);
  if (out.beta_fast < out.beta_slow)
    return block.error(fmt::format("beta_fast {} and beta_slow {}", out.beta_fast, out.beta_slow),
                       "beta_fast at least beta_slow");
  CALKIT_CHECK_OK(optional_into(block, "attention_factor", 1e-6, 1e6, out.attention_factor));
  CALKIT_CHECK_OK(optional_into(block, "mscale", 0, 1e6, out.mscale));
  CALKIT_CHECK_OK(optional_into(block, "mscale_all_dim", 0, 1e6, out.mscale_all_dim));
  if (const auto at = block.find("truncate")) {
    CALKIT_TRY(out.truncate, at->as_bool());
  }
  return {};
}

Result<RopeScaling> read_block(const Cursor& block, ModelSpec& spec) {
  RopeScaling out;
  CALKIT_TRY(out.type, type_of(block));
  CALKIT_CHECK_OK(only_keys_of(block, out.type));
  if (const auto at = block.find("partial_rotary_factor")) CALKIT_CHECK_OK(read_partial(*at, out.type, spec));
  if (out.type == "default") return out;
  CALKIT_TRY(out.factor, required(block, "factor", 1, 1e6));
  if (out.type == "llama3") CALKIT_CHECK_OK(read_llama3(block, out));
  if (out.type == "yarn") CALKIT_CHECK_OK(read_yarn(block, spec, out));
  return out;
}

/// Both blocks, which must agree where both are there.
Status read_scaling(const Cursor& config, ModelSpec& spec) {
  std::optional<RopeScaling> stated;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto block = config.find(key);
    if (!block) continue;
    CALKIT_TRY(const RopeScaling scaling, read_block(*block, spec));
    if (stated && !(*stated == scaling))
      return block->error(fmt::format("rope type '{}' and its numbers", scaling.type),
                          fmt::format("the same as rope_parameters, whose type is '{}'", stated->type),
                          "the two dialects disagree: keep one");
    stated = scaling;
  }
  if (stated) spec.rope = *stated;
  return {};
}

Status read_theta(const Cursor& config, ModelSpec& spec) {
  std::optional<double> theta;
  std::string before;
  std::vector<Cursor> places;
  if (const auto at = config.find("rope_theta")) places.push_back(*at);
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const auto block = config.find(key))
      if (const auto at = block->find("rope_theta")) places.push_back(*at);
  for (const Cursor& at : places) {
    CALKIT_TRY(const double stated, theta_of(at));
    if (theta && *theta != stated)
      return at.error(at.value().describe(), fmt::format("{}, as {} says", *theta, before),
                      "the two dialects disagree: keep one");
    theta = stated;
    before = at.pointer();
  }
  spec.rope_theta = theta.value_or(kDefaultTheta);
  if (!theta) note_default(config, "rope_theta", fmt::format("{}", kDefaultTheta), spec);
  return {};
}

/// What the types leave open between readers.
void note_reach(ModelSpec& spec) {
  if (spec.rope.type == "dynamic")
    spec.notes.push_back(fmt::format(
        "rope type dynamic changes nothing up to the {} positions of max_position_embeddings, and calkit goes "
        "no further",
        spec.max_positions));
  if (spec.rope.type != "yarn") return;
  const double implied =
      static_cast<double>(spec.max_positions) / static_cast<double>(spec.rope.original_max_positions);
  if (implied != spec.rope.factor && spec.rope.original_max_positions != spec.max_positions)
    spec.notes.push_back(
        fmt::format("the yarn factor is {}, but max_position_embeddings / original_max_position_embeddings is {}; the "
                    "factor counts, as in Transformers 5.24.0",
                    spec.rope.factor, implied));
}

}  // namespace

Status read_rope(const Cursor& config, ModelSpec& spec) {
  CALKIT_CHECK_OK(read_scaling(config, spec));
  if (const auto at = config.find("partial_rotary_factor")) CALKIT_CHECK_OK(read_partial(*at, spec.rope.type, spec));
  CALKIT_CHECK_OK(read_theta(config, spec));
  note_reach(spec);
  return {};
}

}  // namespace calkit::hf
