#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/frozen/writer.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

// The edges that layouts of 16 and 256 rows have, each with its neighbours.
struct Bucket {
  std::size_t first, last;
  const char* name;
};
constexpr Bucket kBuckets[] = {{0, 0, "0"},          {1, 1, "1"},         {2, 14, "2-14"},         {15, 15, "15"},
                               {16, 16, "16"},       {17, 17, "17"},      {18, 254, "18-254"},     {255, 255, "255"},
                               {256, 256, "256"},    {257, 257, "257"},   {258, 4094, "258-4094"}, {4095, 4095, "4095"},
                               {4096, 4096, "4096"}, {4097, 4097, "4097"}};
constexpr const char* kBeyond = "4098+";

Value unanswered_value(const std::vector<Unanswered>& prompts) {
  Value out(Value::Array{});
  for (const Unanswered& prompt : prompts) out.push(to_value(prompt));
  return out;
}

// How the logits lie in their file: NumPy has no name for BF16.
Value storage_value(const Reference& reference) {
  const bool bf16 = reference.dtype == "bf16";
  return Value::object({{"file", logits_name(reference.dtype)},
                        {"stored_as", "f32"},
                        {"values", bf16 ? "bf16, widened exactly: the lower 16 bits are zero" : "f32"}});
}

}  // namespace

std::string length_bucket(std::size_t tokens) {
  for (const Bucket& bucket : kBuckets)
    if (tokens >= bucket.first && tokens <= bucket.last) return bucket.name;
  return kBeyond;
}

Value to_value(const Unanswered& prompt) {
  return Value::object(
      {{"id", prompt.id}, {"kind", prompt.kind}, {"tokens", prompt.tokens}, {"reason", prompt.reason}});
}

Value coverage(const Reference& reference) {
  std::map<std::string, std::uint64_t> kinds, lengths;
  for (const Bucket& bucket : kBuckets) lengths[bucket.name] = 0;
  lengths[kBeyond] = 0;
  std::uint64_t tokens = 0, longest = 0, steps = 0, special = 0;
  for (const ReferenceItem& item : reference.items) {
    ++kinds[item.prompt.kind.empty() ? "unnamed" : item.prompt.kind];
    ++lengths[length_bucket(item.ids.size())];
    tokens += item.ids.size();
    longest = std::max<std::uint64_t>(longest, item.ids.size());
    steps += item.greedy.size();
    special += item.prompt.add_special_tokens ? 1 : 0;
  }
  Value by_kind(Value::Object{}), by_length(Value::Object{});
  for (const auto& [kind, count] : kinds) by_kind.set(kind, count);
  for (const auto& [length, count] : lengths) by_length.set(length, count);
  return Value::object({{"schema", kCoverageSchema},
                        {"dtype", reference.dtype},
                        {"prompts", static_cast<std::uint64_t>(reference.items.size())},
                        {"prompts_with_special_tokens", special},
                        {"tokens", tokens},
                        {"tokens_longest", longest},
                        {"greedy_steps", steps},
                        {"logits", storage_value(reference)},
                        {"refused", unanswered_value(reference.refused)},
                        {"max_tokens", reference.max_tokens},
                        {"left_out", unanswered_value(reference.left_out)},
                        {"by_kind", by_kind},
                        {"by_tokens", by_length}});
}

}  // namespace calkit::frozen
