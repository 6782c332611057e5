#include "shard.h"

#include <fmt/format.h>

#include <charconv>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "work.h"

namespace calkit::baseline {
namespace {

constexpr std::string_view kSchema = "calkit.baseline-shard/1";
constexpr std::uint64_t kMaxShards = 4096;

std::optional<std::size_t> whole(std::string_view text) {
  std::size_t out = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::string digest_of(const Value& value) {
  return sha256_hex(to_json(value, {.sorted = true, .indent = -1}));
}

}  // namespace

Result<Shard> parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto index = whole(std::string_view(text).substr(0, slash));
  const auto count = slash == std::string::npos ? std::nullopt : whole(std::string_view(text).substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count || *count > kMaxShards)
    return Error{ErrorKind::kUsage,
                 fmt::format("--shard: found '{}'; allowed: I/N with I from 1 to N and N up to {}", text, kMaxShards),
                 "the first of four shards is 1/4"};
  return Shard{*index, *count};
}

FreezeKeys freeze_keys(const FreezeOptions& options, const frozen::ModelSource& source,
                       const frozen::Reference& reference) {
  Value answers = Value::object({{"version", calkit_version()},
                                 {"commit", calkit_commit()},
                                 {"model_sha256", source.model_sha256},
                                 {"dtype", options.dtype},
                                 {"greedy_steps", options.greedy_steps},
                                 {"threads", options.threads}});
  Value freeze = answers;
  answers.set("cpu", host_facts().cpu);
  Value prompts(Value::Array{});
  for (const auto& item : reference.items) prompts.push(prompt_digest(item));
  freeze.set("prompts", std::move(prompts));
  freeze.set("coverage", frozen::coverage(reference));
  freeze.set("noise_prompts", options.noise_prompts);
  freeze.set("manifest", source.manifest);
  return {digest_of(answers), digest_of(freeze)};
}

Value to_value(const ShardRecord& record) {
  return Value::object({{"schema", kSchema},
                        {"shard", static_cast<std::uint64_t>(record.shard.index)},
                        {"of", static_cast<std::uint64_t>(record.shard.count)},
                        {"freeze", record.freeze},
                        {"prompts", record.prompts},
                        {"probes", record.probes}});
}

Result<ShardRecord> read_shard(const std::filesystem::path& dir) {
  const auto file = dir / kShardFile;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return input_error(dir.string(), {}, fmt::format("no {}", kShardFile), "a shard of a freeze",
                       "make one with `calkit freeze-baseline model --shard I/N`");
  CALKIT_TRY(const auto document, read_json(file), "reading the shard");
  const Cursor at(document, file.string());
  CALKIT_CHECK_OK(at.only({"schema", "shard", "of", "freeze", "prompts", "probes"}));
  CALKIT_TRY(const auto schema, at.at("schema"));
  CALKIT_TRY(const auto known, schema.as_word({kSchema}));
  ShardRecord out;
  CALKIT_TRY(const auto of, at.at("of"));
  CALKIT_TRY(out.shard.count, of.as_uint(1, kMaxShards));
  CALKIT_TRY(const auto index, at.at("shard"));
  CALKIT_TRY(out.shard.index, index.as_uint(1, out.shard.count));
  CALKIT_TRY(out.freeze, at.string("freeze"));
  CALKIT_TRY(out.prompts, at.uinteger("prompts"));
  CALKIT_TRY(out.probes, at.boolean("probes"));
  return out;
}

}  // namespace calkit::baseline
