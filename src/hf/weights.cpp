#include "weights.h"

#include <fmt/format.h>

#include "calkit/base/document.h"
#include "calkit/base/log.h"

namespace calkit::hf {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

struct Index {
  std::map<std::string, std::string> shard_of;     ///< tensor -> shard
  std::map<std::string, std::string> a_tensor_of;  ///< shard -> its first tensor, for messages
  std::optional<std::uint64_t> total_bytes;
};

Error no_weights(const ModelDir& dir) {
  std::string others;
  for (const std::string& name : dir.names())
    for (const std::string_view ending : {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".incomplete"})
      if (name.ends_with(ending)) others += (others.empty() ? "" : ", ") + name;
  return input_error(dir.shown(kSingle), {}, others.empty() ? "no weight file" : "only " + others.substr(0, 200),
                     fmt::format("{}, or shards named by {}", kSingle, kIndex),
                     "pickle files are never loaded; save the model with safe_serialization");
}

Result<Index> parse_index(const Cursor& root) {
  CALKIT_CHECK_OK(root.only({"metadata", "weight_map"}));
  Index out;
  if (const auto metadata = root.find("metadata"))
    if (const auto total = metadata->find("total_size"); total && total->value().is_integer()) {
      CALKIT_TRY(out.total_bytes, total->as_uint());
    }
  CALKIT_TRY(const Cursor map_at, root.at("weight_map"));
  CALKIT_TRY(const auto members, map_at.members());
  if (members.empty()) return map_at.error("no tensor", "at least one");
  for (const auto& [tensor, at] : members) {
    CALKIT_TRY(const std::string shard, at.as_string());
    std::string reason = unsafe_path_reason(shard);
    if (reason.empty() && shard.find('/') != std::string::npos) reason = "lies in a sub-folder";
    if (reason.empty() && !shard.ends_with(".safetensors")) reason = "is no .safetensors file";
    if (!reason.empty())
      return at.error(fmt::format("{} ({})", at.value().describe(), reason),
                      "the plain name of a shard in the model folder",
                      "no file was opened; get the index from where the model was published");
    out.shard_of.emplace(tensor, shard);
    out.a_tensor_of.emplace(shard, tensor);
  }
  return out;
}

Result<WeightFile> open_file(const ModelDir& dir, const std::string& name) {
  WeightFile out{name, nullptr, {}};
  CALKIT_TRY(out.map, dir.map(name), "mapping the weights");
  CALKIT_TRY(out.header, parse_raw_header(out.map->bytes(), dir.shown(name)));
  return out;
}

/// Every tensor stands in the shard that the index names, in no other, and nowhere unlisted.
Status check_placement(const ModelDir& dir, const Index& index, const std::vector<WeightFile>& files) {
  std::size_t placed = 0;
  std::uint64_t bytes = 0;
  for (const WeightFile& file : files)
    for (const RawTensor& tensor : file.header.tensors) {
      const auto listed = index.shard_of.find(tensor.name);
      if (listed == index.shard_of.end())
        return input_error(dir.shown(file.name), fmt::format("tensor '{}'", tensor.name),
                           "a tensor that the index does not list", fmt::format("tensors listed in {}", kIndex),
                           "shards and index come from different saves");
      if (listed->second != file.name)
        return input_error(dir.shown(file.name), fmt::format("tensor '{}'", tensor.name), "stored in this shard",
                           fmt::format("only {}, as the index says", listed->second),
                           "shards and index come from different saves");
      ++placed;
      bytes += tensor.end - tensor.begin;
    }
  if (placed < index.shard_of.size())
    for (const auto& [tensor, shard] : index.shard_of)
      for (const WeightFile& file : files)
        if (file.name == shard && std::none_of(file.header.tensors.begin(), file.header.tensors.end(),
                                               [&](const RawTensor& t) { return t.name == tensor; }))
          return input_error(dir.shown(shard), fmt::format("tensor '{}'", tensor), "absent",
                             "present, as the index says", "the shard is from another save; download it again");
  if (index.total_bytes && *index.total_bytes != bytes)
    log::warning(fmt::format("{}: /metadata/total_size is {}, the tensors have {} bytes; going on with the tensors",
                             dir.shown(kIndex), *index.total_bytes, bytes));
  return {};
}

Result<std::vector<WeightFile>> open_shards(const ModelDir& dir) {
  CALKIT_TRY(const std::string text, dir.read(kIndex, 64ull << 20), "reading the shard index");
  CALKIT_TRY(const Value document, parse_json(text, dir.shown(kIndex)), "reading the shard index");
  CALKIT_TRY(const Index index, parse_index(Cursor(document, dir.shown(kIndex))), "reading the shard index");
  for (const auto& [shard, tensor] : index.a_tensor_of)
    if (!dir.has(shard))
      return input_error(dir.shown(shard), {}, fmt::format("no such file, which the index names for '{}'", tensor),
                         "every shard of the index", "the download is not complete; fetch this shard");
  std::vector<WeightFile> files;
  for (const auto& [shard, tensor] : index.a_tensor_of) {
    CALKIT_TRY(WeightFile file, open_file(dir, shard));
    files.push_back(std::move(file));
  }
  CALKIT_CHECK_OK(check_placement(dir, index, files));
  return files;
}

}  // namespace

Result<std::vector<WeightFile>> open_weights(const ModelDir& dir) {
  const bool single = dir.has(kSingle), sharded = dir.has(kIndex);
  if (single && sharded)
    return input_error(dir.shown(kIndex), {}, fmt::format("{} and this index, both", kSingle), "one of the two",
                       "which weights are meant is not stated: remove the one that is not");
  if (sharded) return open_shards(dir);
  if (!single) return no_weights(dir);
  std::vector<WeightFile> files;
  CALKIT_TRY(WeightFile file, open_file(dir, kSingle));
  files.push_back(std::move(file));
  return files;
}

}  // namespace calkit::hf
