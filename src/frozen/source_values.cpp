// Parts of manifest.json that are derived the same way when a baseline is frozen and when it is verified.
#include <set>

#include "calkit/base/hash.h"
#include "facts.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

Value special_value(const TokenizerFacts& facts) {
  Value out(Value::Object{});
  for (const char* kind : {"bos", "eos", "pad"}) {
    Value list(Value::Array{});
    if (const auto found = facts.special.find(kind); found != facts.special.end())
      for (const SpecialFact& fact : found->second)
        list.push(Value::object({{"id", fact.id}, {"token", fact.token}, {"source", fact.source}}));
    out.set(kind, std::move(list));
  }
  return out;
}

Value chat_value(const TokenizerFacts& facts) {
  Value out = facts.chat_template ? Value::object({{"sha256", digest_text(sha256_hex(*facts.chat_template))},
                                                   {"source", facts.template_source}})
                                  : Value::object({{"sha256", nullptr}, {"null_reason", facts.template_source}});
  if (facts.named_templates.empty()) return out;
  Value named(Value::Array{});
  for (const auto& [name, found] : facts.named_templates)
    named.push(
        Value::object({{"name", name}, {"sha256", digest_text(sha256_hex(found.text))}, {"source", found.source}}));
  out.set("named", std::move(named));
  return out;
}

}  // namespace

Value tokenizer_value(const hf::Tokenizer& tokenizer, const hf::ModelSpec& spec, const std::string& sha256,
                      const TokenizerFacts& facts) {
  const auto [before, after] = tokenizer.special_frame();
  std::vector<int> missing;
  for (const std::uint8_t byte : tokenizer.missing_bytes()) missing.push_back(byte);
  return Value::object(
      {{"sha256", digest_text(sha256)},
       {"size", static_cast<std::uint64_t>(tokenizer.size())},
       {"max_id", tokenizer.max_id()},
       {"padded_rows", spec.vocab - (tokenizer.max_id() + std::int64_t{1})},
       {"special_tokens", special_value(facts)},
       {"add_special_tokens", Value::object({{"before", Value::list(before)}, {"after", Value::list(after)}})},
       {"rendered_templates", "encoded without added special tokens"},
       {"chat_template", chat_value(facts)},
       {"bytes_without_token", Value::list(missing)},
       {"tokenizer_config", facts.settings}});
}

std::vector<std::int64_t> stop_ids(const hf::ModelSpec& spec, const TokenizerFacts& facts) {
  std::set<std::int64_t> ids(spec.eos_ids.begin(), spec.eos_ids.end());
  if (const auto eos = facts.special.find("eos"); eos != facts.special.end())
    for (const SpecialFact& fact : eos->second) ids.insert(fact.id);
  return {ids.begin(), ids.end()};
}

Value kv_value(const hf::ModelSpec& spec) {
  return Value::object(
      {{"bf16", hf::kv_bytes_per_token(spec, DType::kBF16)}, {"f32", hf::kv_bytes_per_token(spec, DType::kF32)}});
}

Value weights_value(std::span<const hf::TensorInfo> tensors, const std::vector<std::string>& files) {
  std::uint64_t bytes = 0, parameters = 0;
  for (const hf::TensorInfo& info : tensors) {
    bytes += info.bytes;
    parameters += info.bytes / dtype_bytes(info.dtype);
  }
  return Value::object({{"bytes", bytes},
                        {"tensors", static_cast<std::uint64_t>(tensors.size())},
                        {"parameters", parameters},
                        {"files", Value::list(files)}});
}

}  // namespace calkit::frozen
