#include "triage_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/hash.h"
#include "calkit/base/text.h"
#include "weights.h"

namespace calkit::hf {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void add_tensor(const RawTensor& tensor, Facts& facts) {
  facts.parameters += tensor.elements;
  facts.weight_bytes += tensor.end - tensor.begin;
  facts.dtypes[tensor.dtype] += tensor.end - tensor.begin;
  for (std::string& part : split(tensor.name, '.'))
    if (!is_number(part)) facts.parts.insert(std::move(part));
  if (!facts.q_proj && tensor.name.ends_with(".self_attn.q_proj.weight")) facts.q_proj = tensor.shape;
  if (!facts.k_proj && tensor.name.ends_with(".self_attn.k_proj.weight")) facts.k_proj = tensor.shape;
}

/// `license:` of the model card's front matter, else a LICENSE file.
void find_licence(const ModelDir& dir, Facts& facts) {
  if (const auto card = dir.read("README.md", 4ull << 20); card.ok() && card->starts_with("---\n")) {
    for (const std::string& line : split(*card, '\n')) {
      if (line == "---" && facts.licence_source == "README.md") return;
      facts.licence_source = "README.md";  // the first "---" opens the front matter
      if (!line.starts_with("license:")) continue;
      const std::size_t begin = line.find_first_not_of(" \t\"'", 8);
      if (begin == std::string::npos) continue;
      facts.licence = printable(line.substr(begin, line.find_last_not_of(" \t\r\"'") + 1 - begin));
      return;
    }
  }
  for (const char* name : {"LICENSE", "LICENSE.txt", "LICENSE.md"})
    if (dir.has(name)) {
      facts.licence = fmt::format("a {} file", name);
      facts.licence_source = name;
      return;
    }
  facts.licence_source = "README.md";
}

}  // namespace

const Value* Facts::find(std::string_view key) const {
  const Value* value = config.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

bool Facts::is_true(std::string_view key) const {
  const Value* value = find(key);
  return value != nullptr && value->if_bool() != nullptr && *value->if_bool();
}

std::optional<Fact> Facts::size(std::string_view key) const {
  const Value* value = find(key);
  const auto number = value != nullptr ? value->if_int() : std::nullopt;
  if (!number || *number < 1) return std::nullopt;
  return Fact{*number, fmt::format("config.json /{}", key)};
}

std::optional<Fact> Facts::head_dim() const {
  if (const auto stated = size("head_dim")) return stated;
  const auto heads = size("num_attention_heads");
  if (!heads || !q_proj || q_proj->size() != 2 || (*q_proj)[0] % heads->value != 0 || (*q_proj)[0] == 0)
    return std::nullopt;
  return Fact{(*q_proj)[0] / heads->value, "tensor headers: q_proj rows / num_attention_heads"};
}

std::optional<Fact> Facts::kv_heads() const {
  if (const auto stated = size("num_key_value_heads")) return stated;
  const auto width = head_dim();
  if (!width || !k_proj || k_proj->size() != 2 || (*k_proj)[0] % width->value != 0 || (*k_proj)[0] == 0)
    return std::nullopt;
  return Fact{(*k_proj)[0] / width->value, "tensor headers: k_proj rows / head_dim"};
}

Result<Facts> collect_facts(const std::filesystem::path& model_dir) {
  CALKIT_TRY(const ModelDir dir, ModelDir::open(model_dir));
  Facts facts;
  facts.config_file = dir.shown("config.json");
  CALKIT_TRY(const std::string text, dir.read("config.json", 4ull << 20), "reading the model's configuration");
  CALKIT_TRY(facts.config, parse_json(text, facts.config_file), "reading the model's configuration");
  if (!facts.config.is_object()) return input_error(facts.config_file, {}, facts.config.describe(), "a JSON object");
  CALKIT_TRY(const Weights weights, open_weights(dir), "reading the tensor headers");
  std::string digests;
  for (const WeightFile& file : weights.files) {
    for (const RawTensor& tensor : file.header.tensors) add_tensor(tensor, facts);
    facts.headers_bytes += file.header.bytes;
    digests += fmt::format("{}  {}\n", sha256_hex(file.map->bytes().first(file.header.bytes)), file.name);
  }
  facts.files = weights.files.size();
  facts.headers_sha256 = sha256_hex(digests);
  find_licence(dir, facts);
  return facts;
}

}  // namespace calkit::hf
