#include "spec_rope.h"

#include <fmt/format.h>

namespace calkit::hf {
namespace {

constexpr const char* kUnscaled = "unscaled RoPE: null, or rope_type \"default\"";

Result<double> theta_of(const Cursor& at) {
  CALKIT_TRY(const double theta, at.as_number());
  if (!(theta > 1 && theta <= 1e12)) return at.error(at.value().describe(), "a number above 1, at most 1e12");
  return theta;
}

Status whole_head(const Cursor& at) {
  CALKIT_TRY(const double factor, at.as_number());
  if (factor != 1) return at.error(at.value().describe(), "1: RoPE turns the whole head");
  return {};
}

/// One of the two blocks: type "default" and nothing that scales. Older files spell rope_type `type`.
Status unscaled(const Cursor& block) {
  bool typed = false;
  for (const char* key : {"rope_type", "type"})
    if (const auto at = block.find(key)) {
      CALKIT_TRY(const std::string type, at->as_string());
      if (type != "default")
        return at->error(at->value().describe(), kUnscaled, "scaled RoPE is not run in this version");
      typed = true;
    }
  if (!typed) return block.error("no rope_type", kUnscaled);
  CALKIT_TRY(const auto members, block.members());
  for (const auto& [key, at] : members) {
    if (key == "rope_type" || key == "type" || key == "rope_theta" || at.value().is_null()) continue;
    if (key != "partial_rotary_factor")
      return at.error(at.value().describe(), "rope_type, rope_theta and nothing else");
    CALKIT_CHECK_OK(whole_head(at));
  }
  return {};
}

}  // namespace

Status read_rope(const Cursor& config, ModelSpec& spec) {
  std::optional<double> theta;
  if (const auto scaling = config.find("rope_scaling")) CALKIT_CHECK_OK(unscaled(*scaling));
  if (const auto at = config.find("partial_rotary_factor")) CALKIT_CHECK_OK(whole_head(*at));
  if (const auto at = config.find("rope_theta")) {
    CALKIT_TRY(theta, theta_of(*at));
  }
  if (const auto parameters = config.find("rope_parameters")) {
    CALKIT_CHECK_OK(unscaled(*parameters));
    CALKIT_TRY(const Cursor at, parameters->at("rope_theta"));
    CALKIT_TRY(const double stated, theta_of(at));
    if (theta && *theta != stated)
      return at.error(at.value().describe(), fmt::format("{}, as /rope_theta says", *theta),
                      "the two dialects disagree: keep one");
    theta = stated;
  }
  if (!theta) return input_error(config.file(), "/rope_theta", "absent", "a number, or rope_parameters with one");
  spec.rope_theta = *theta;
  spec.rope.type = "default";
  return {};
}

}  // namespace calkit::hf
