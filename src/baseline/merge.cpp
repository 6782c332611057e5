#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/paths.h"
#include "calkit/base/text.h"
#include "calkit/frozen/writer.h"
#include "check.h"
#include "shard.h"

namespace calkit::baseline {
namespace {

namespace fs = std::filesystem;

struct Part {
  fs::path dir;
  ShardRecord record;
};

Error foreign(const Part& part, std::string_view found, std::string_view allowed) {
  return input_error((part.dir / kShardFile).string(), {}, found, allowed,
                     "freeze all shards of one model with the same calkit, options and prompts");
}

Status check_whole(const fs::path& dir) {
  CALKIT_TRY(const auto report, frozen::verify_files(dir), "verifying the shard " + dir.string());
  if (report.findings.empty()) return {};
  return Error{ErrorKind::kInput, fmt::format("{}: the shard is damaged: {}", dir.string(), report.findings.front()),
               "freeze this shard again"};
}

// The shards in order, each once.
Result<std::vector<Part>> collect(const std::vector<fs::path>& dirs) {
  std::map<std::size_t, Part> found;
  for (const fs::path& dir : dirs) {
    CALKIT_TRY(const ShardRecord record, read_shard(dir));
    CALKIT_CHECK_OK(check_whole(dir));
    const Part part{dir, record};
    if (!found.empty()) {
      const Part& first = found.begin()->second;
      if (record.shard.count != first.record.shard.count)
        return foreign(part, fmt::format("shard {}/{}", record.shard.index, record.shard.count),
                       fmt::format("one of {}, as in {}", first.record.shard.count, first.dir.string()));
      if (record.freeze != first.record.freeze)
        return foreign(part, "a shard of freeze " + record.freeze.substr(0, 12),
                       fmt::format("{}, as in {}", first.record.freeze.substr(0, 12), first.dir.string()));
    }
    const auto [place, added] = found.emplace(record.shard.index, part);
    if (!added)
      return foreign(part, fmt::format("shard {}/{} a second time", record.shard.index, record.shard.count),
                     fmt::format("each once; {} is the same one", place->second.dir.string()));
  }
  if (found.empty()) return Error{ErrorKind::kUsage, "no shards; allowed: all shards of one freeze"};
  std::vector<std::string> missing;
  const std::size_t count = found.begin()->second.record.shard.count;
  for (std::size_t i = 1; i <= count; ++i)
    if (!found.contains(i)) missing.push_back(fmt::format("{}/{}", i, count));
  if (!missing.empty())
    return Error{ErrorKind::kInput,
                 fmt::format("shards: found {} of {}; missing: {}", found.size(), count, fmt::join(missing, ", ")),
                 "freeze the missing ones and merge again"};
  std::vector<Part> out;
  for (auto& [index, part] : found) out.push_back(std::move(part));
  return out;
}

// Shard i holds the answers i-1, i-1+n, ... of the whole.
Result<frozen::Reference> put_together(const std::vector<Part>& parts) {
  std::vector<frozen::Reference> references;
  for (const Part& part : parts) {
    CALKIT_TRY(auto reference, frozen::read_reference(part.dir), "reading the shard " + part.dir.string());
    const std::size_t first = part.record.shard.index - 1, step = part.record.shard.count;
    const std::size_t want = part.record.prompts > first ? (part.record.prompts - first + step - 1) / step : 0;
    if (reference.items.size() != want)
      return foreign(part, fmt::format("{} prompts", reference.items.size()), fmt::format("{}", want));
    references.push_back(std::move(reference));
  }
  frozen::Reference out;
  out.dtype = references.front().dtype;
  out.refused = references.front().refused;
  out.left_out = references.front().left_out;
  out.max_tokens = references.front().max_tokens;
  for (std::size_t i = 0; i < parts.front().record.prompts; ++i)
    out.items.push_back(std::move(references[i % parts.size()].items[i / parts.size()]));
  return out;
}

Status copy_over(const fs::path& from, const fs::path& to) {
  CALKIT_TRY(const auto text, read_file(from));
  std::error_code failed;
  fs::create_directories(to.parent_path(), failed);
  if (failed)
    return Error{
        ErrorKind::kIo, fmt::format("{}: cannot be made: {}", to.parent_path().string(), failed.message()), {}};
  return write_file(to, text);
}

Status copy_source(const std::vector<Part>& parts, const fs::path& stage) {
  const fs::path name = "model-source";
  CALKIT_TRY(const auto first, hash_tree(parts.front().dir / name), "hashing the model source");
  for (const Part& part : parts) {
    CALKIT_TRY(const auto other, hash_tree(part.dir / name), "hashing the model source");
    if (other.sha256 != first.sha256)
      return foreign(part, "another model-source", "the one of " + parts.front().dir.string());
  }
  CALKIT_TRY(const auto files, list_tree(parts.front().dir / name));
  for (const std::string& file : files)
    CALKIT_CHECK_OK(copy_over(parts.front().dir / name / file, stage / name / file), "copying the model source");
  return {};
}

}  // namespace

Result<FreezeReport> merge_shards(const std::vector<fs::path>& shards, const fs::path& out) {
  for (const fs::path& shard : shards)
    if (lies_inside(out, shard) || lies_inside(shard, out))
      return Error{ErrorKind::kUsage,
                   fmt::format("--out is '{}', which is or holds a shard", printable(out.string(), 200)),
                   "name another folder; the shards stay as they are"};
  CALKIT_CHECK_OK(check_target(out));
  CALKIT_TRY(const auto parts, collect(shards));
  CALKIT_TRY(const auto reference, put_together(parts));
  const auto owner = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return part.record.probes; });
  if (owner == parts.end()) return foreign(parts.front(), "no shard with the probes", "exactly one of the shards");
  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the baseline's folder");
  CALKIT_CHECK_OK(copy_source(parts, stage.path()));
  CALKIT_CHECK_OK(frozen::write_reference(stage.path(), reference, {}), "writing the reference");
  for (const char* file : {"reference/probes.npz", "reference/noise.json"})
    CALKIT_CHECK_OK(copy_over(owner->dir / file, stage.path() / file), "copying from the shard with the probes");
  CALKIT_CHECK_OK(frozen::seal(stage.path()), "sealing the baseline");
  CALKIT_TRY(const auto source, frozen::read_model_source(stage.path()), "reading what was merged");
  CALKIT_CHECK_OK(stage.commit(), "committing the baseline");
  return report_of(reference, source);
}

}  // namespace calkit::baseline
