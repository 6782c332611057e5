#pragma once
/// What triage knows of a model: raw config.json and the tensor headers (private to hf). Nothing here needs the model
/// to be one that calkit runs.
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "calkit/base/document.h"
#include "calkit/tensor/tensor.h"

namespace calkit::hf {

/// A number and the place it was read from.
struct Fact {
  std::int64_t value = 0;
  std::string source;
};

struct Facts {
  Value config;
  std::string config_file;
  std::set<std::string> parts;  ///< all components of tensor names but layer numbers: "q_proj", "experts"
  std::map<std::string, std::uint64_t> dtypes;  ///< element type -> bytes
  std::optional<Shape> q_proj, k_proj;          ///< of the first layer that has them
  std::uint64_t files = 0, parameters = 0, weight_bytes = 0, headers_bytes = 0;
  std::string headers_sha256;
  std::string licence, licence_source;  ///< empty: not stated

  bool has(std::string_view part) const { return parts.contains(std::string(part)); }
  /// The member, or nullptr if it is absent or null.
  const Value* find(std::string_view key) const;
  bool is_true(std::string_view key) const;
  /// A whole number of at least 1, or nullopt.
  std::optional<Fact> size(std::string_view key) const;
  std::optional<Fact> head_dim() const;  ///< config, else from q_proj's rows
  std::optional<Fact> kv_heads() const;  ///< config, else from k_proj's rows
};

/// kInput if config.json is no JSON object or a weight file cannot be understood.
Result<Facts> collect_facts(const std::filesystem::path& model_dir);

}  // namespace calkit::hf
