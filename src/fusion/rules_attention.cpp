// Attention with the turning of its heads, and what comes before it: RoPE and the joining with the cache.
#include "rules.h"

namespace calkit::fusion {
namespace {

using onnx::attr;
using onnx::make_node;

onnx::Attribute taken(const char* name, onnx::Attribute::Kind kind) {
  onnx::Attribute out;
  out.name = out.ref = name;
  out.kind = kind;
  return out;
}
onnx::Node heads_first(const char* from, const char* to) {
  return make_node("Transpose", {from}, {to}, {attr("perm", std::vector<std::int64_t>{0, 2, 1, 3})});
}

std::optional<std::int64_t> extent(const View& view, const std::string& value, std::size_t axis) {
  const auto shape = view.shape(value);
  if (!shape || axis >= shape->size()) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&(*shape)[axis].value);
  return number ? std::optional(*number) : std::nullopt;
}

/// [0, 0, H * D]: tokens stay, heads become one axis.
bool merges_heads(const Match& match, const View& view) {
  const auto shape = view.constant_ints(match.value("=merged"));
  if (!shape || shape->size() != 3 || (*shape)[0] != 0 || (*shape)[1] != 0) return false;
  if ((*shape)[2] == -1) return true;
  const auto heads = extent(view, match.value("query"), 1), width = extent(view, match.value("value"), 3);
  return heads && width && *heads * *width == (*shape)[2];
}

std::string_view check_attention(const Match& match, const View& view, bool past) {
  if (!merges_heads(match, view)) return "merged-heads";
  if (past && match.attributes.at("is_causal").i != 0) return "mask";
  return "";
}

Rule attention_rule(bool past) {
  Rule out;
  std::vector<std::string> inputs = {"query", "key", "value"}, outputs = {"mixed"};
  if (past) {
    inputs.insert(inputs.end(), {"", "past_key", "past_value"});
    outputs.insert(outputs.end(), {"present_key", "present_value"});
  }
  using Kind = onnx::Attribute::Kind;
  out.pattern.nodes = {
      make_node("Attention", inputs, outputs, {taken("scale", Kind::kFloat), taken("is_causal", Kind::kInt)}),
      heads_first("mixed", "tokens_first"), make_node("Reshape", {"tokens_first", "=merged"}, {"y"})};
  out.pattern.outputs = {"y", "present_key", "present_value"};
  out.check = [past](const Match& match, const View& view) { return check_attention(match, view, past); };
  out.make = [past](const Match& match, const View&, Names& names) {
    if (!past) return std::vector{call(match, "FlashAttention")};
    std::map<std::string, std::string> joined;
    std::vector<onnx::Node> made;
    for (const std::string part : {"key", "value"}) {
      const auto there = match.values.find("present_" + part);
      joined[part] = there != match.values.end() && !there->second.empty() ? there->second
                                                                           : names.fresh(match.value("y") + "_" + part);
      made.push_back(make_node("Concat", {match.value("past_" + part), match.value(part)}, {joined[part]},
                               {attr("axis", std::int64_t{2})}));
    }
    made.push_back(call(match, "FlashAttention", joined));
    return made;
  };
  return out;
}

Rule rope_rule(bool past) {
  Rule out;
  auto& nodes = out.pattern.nodes;
  nodes = {heads_first("query", "query_heads"),
           make_node("RotaryEmbedding", {"query_heads", "cos", "sin"}, {"rotated"}), heads_first("key", "key_heads"),
           make_node("RotaryEmbedding", {"key_heads", "cos", "sin"}, {past ? "new_key" : "present_key"}),
           heads_first("value", past ? "new_value" : "present_value")};
  if (past) {
    nodes.push_back(make_node("Concat", {"past_key", "new_key"}, {"present_key"}, {attr("axis", std::int64_t{2})}));
    nodes.push_back(
        make_node("Concat", {"past_value", "new_value"}, {"present_value"}, {attr("axis", std::int64_t{2})}));
  }
  using Kind = onnx::Attribute::Kind;
  nodes.push_back(make_node("FlashAttention", {"rotated", "present_key", "present_value"}, {"mixed"},
                            {taken("scale", Kind::kFloat), taken("is_causal", Kind::kInt)}, kDomain));
  out.pattern.outputs = {"rotated", "present_key", "present_value", "mixed"};
  out.pattern.kept = {"mixed"};
  out.make = [past](const Match& match, const View&, Names&) {
    return std::vector{call(match, past ? "RopeScatterPast" : "RopeScatter")};
  };
  return out;
}

}  // namespace

std::vector<Rule> attention_rules() {
  return {attention_rule(true), attention_rule(false)};
}

std::vector<Rule> rope_rules() {
  return {rope_rule(true), rope_rule(false)};
}

}  // namespace calkit::fusion
