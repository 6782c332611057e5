#include <algorithm>
#include <array>
#include <cctype>

#include "calkit/base/text.h"
#include "calkit/model/contract_check.h"

namespace calkit::model {
namespace {

// TensorProto.DataType
constexpr onnx::ElementType kInt32 = 6, kInt64 = 7;
constexpr std::array<onnx::ElementType, 4> kFloats = {1, 10, 11, 16};
constexpr std::array<onnx::ElementType, 8> kCacheTypes = {1, 2, 3, 10, 11, 16, 17, 19};

bool is_integer(const onnx::ValueInfo& value) {
  return value.type == kInt32 || value.type == kInt64;
}
template <std::size_t N>
bool among(const std::array<onnx::ElementType, N>& types, const onnx::ValueInfo& value) {
  return std::find(types.begin(), types.end(), value.type) != types.end();
}
std::size_t rank(const onnx::ValueInfo& value) {
  return value.shape ? value.shape->size() : 0;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}
bool has(const std::string& name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// The words of a name: "past_key_values.0.key" -> past, key, values, 0, key.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> out(1);
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      if (!out.back().empty()) out.emplace_back();
      continue;
    }
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!out.back().empty() && digit != (std::isdigit(static_cast<unsigned char>(out.back().back())) != 0))
      out.emplace_back();
    out.back() += c;
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

enum class Half { kNone, kKey, kValue };

/// Which half of a cache a name tells of: its last word that says so, for "past_key_values.0.key" has both.
Half half_of(const std::vector<std::string>& words) {
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (*word == "key" || *word == "keys" || *word == "k") return Half::kKey;
    if (*word == "value" || *word == "values" || *word == "v") return Half::kValue;
  }
  return Half::kNone;
}

std::optional<std::int64_t> layer_of(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 && word.size() <= 6) return std::stoll(word);
  return {};
}

/// @param key, value the roles of the two halves on this side of the graph.
bool cache_port(Port& port, PortRole key, PortRole value) {
  const auto words = words_of(lower_case(port.value.name));
  const Half half = half_of(words);
  if (half == Half::kNone || !among(kCacheTypes, port.value) || (port.value.shape && rank(port.value) != 4))
    return false;
  port.role = half == Half::kKey ? key : value;
  port.layer = layer_of(words);
  return true;
}

PortRole input_role(const onnx::ValueInfo& value) {
  const std::string name = lower_case(value.name);
  if (has(name, {"mask"})) return PortRole::kMask;
  if (!is_integer(value))
    return has(name, {"embed"}) && among(kFloats, value) && rank(value) == 3 ? PortRole::kEmbeddings : PortRole::kOther;
  if (has(name, {"pos"})) return PortRole::kPositions;
  if (has(name, {"seq_len", "seqlen", "sequence_length", "length", "last_index", "last_token", "num_tokens"}))
    return PortRole::kLength;
  if (has(name, {"token", "input_id", "ids"})) return PortRole::kTokens;
  return PortRole::kOther;
}

}  // namespace

std::string_view role_name(PortRole role) {
  static constexpr std::array<std::string_view, 11> kNames = {
      "tokens",      "embeddings",    "positions",          "mask", "length", "past key", "past value", "logits",
      "present key", "present value", "not in the contract"};
  return kNames.at(static_cast<std::size_t>(role));
}

std::vector<Port> input_ports(const std::vector<onnx::ValueInfo>& inputs) {
  std::vector<Port> out;
  for (const auto& value : inputs) {
    Port port{value, PortRole::kOther, {}};
    if (!cache_port(port, PortRole::kPastKey, PortRole::kPastValue)) port.role = input_role(value);
    out.push_back(std::move(port));
  }
  return out;
}

std::vector<Port> output_ports(const std::vector<onnx::ValueInfo>& outputs) {
  std::vector<Port> out;
  for (const auto& value : outputs) {
    Port port{value, PortRole::kOther, {}};
    if (!cache_port(port, PortRole::kPresentKey, PortRole::kPresentValue) && among(kFloats, value) &&
        has(lower_case(value.name), {"logit", "scores", "lm_head"}))
      port.role = PortRole::kLogits;
    out.push_back(std::move(port));
  }
  return out;
}

}  // namespace calkit::model
