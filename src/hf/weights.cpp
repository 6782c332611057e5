#include "weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "calkit/base/document.h"

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

const RawTensor* find_tensor(const WeightFile& file, std::string_view name) {
  const auto& tensors = file.header.tensors;
  const auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                                   [](const RawTensor& tensor, std::string_view n) { return tensor.name < n; });
  return at != tensors.end() && at->name == name ? &*at : nullptr;
}

const WeightFile* find_file(const std::vector<WeightFile>& files, std::string_view name) {
  for (const WeightFile& file : files)
    if (file.name == name) return &file;
  return nullptr;
}

bool same_content(const WeightFile& a, const RawTensor& x, const WeightFile& b, const RawTensor& y) {
  const std::uint64_t bytes = x.end - x.begin;
  if (x.dtype != y.dtype || x.shape != y.shape || bytes != y.end - y.begin) return false;
  return bytes == 0 || std::memcmp(a.map->bytes().data() + x.begin, b.map->bytes().data() + y.begin, bytes) == 0;
}

/// Shards against their index: each listed tensor is in its shard. One that is also elsewhere must be equal there; one
/// that is unlisted is taken, if only one shard has it.
class Placement {
 public:
  Placement(const ModelDir& dir, const Index& index, Weights& weights) : dir_(dir), index_(index), weights_(weights) {}

  Status check() {
    for (const auto& [tensor, shard] : index_.shard_of)
      if (find_tensor(*find_file(weights_.files, shard), tensor) == nullptr)
        return input_error(dir_.shown(shard), fmt::format("tensor '{}'", tensor), "absent",
                           "present, as the index says", "the shard is from another save; download it again");
    std::vector<std::set<std::string>> copies(weights_.files.size());
    for (std::size_t i = 0; i < copies.size(); ++i)
      for (const RawTensor& tensor : weights_.files[i].header.tensors)
        CALKIT_CHECK_OK(judge(weights_.files[i], tensor, copies[i]));
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      auto& tensors = weights_.files[i].header.tensors;
      std::erase_if(tensors, [&](const RawTensor& tensor) { return copies[i].contains(tensor.name); });
      for (const RawTensor& tensor : tensors) bytes += tensor.end - tensor.begin;
    }
    if (index_.total_bytes && *index_.total_bytes != bytes)
      weights_.notes.push_back(
          fmt::format("{} /metadata/total_size is {}, the tensors have {} bytes; the tensors count", kIndex,
                      *index_.total_bytes, bytes));
    return {};
  }

 private:
  Status judge(const WeightFile& file, const RawTensor& tensor, std::set<std::string>& copies) {
    const auto listed = index_.shard_of.find(tensor.name);
    if (listed == index_.shard_of.end()) {
      const auto [first, is_new] = unlisted_.emplace(tensor.name, file.name);
      if (!is_new)
        return input_error(dir_.shown(file.name), fmt::format("tensor '{}'", tensor.name),
                           fmt::format("also in {}, and {} names neither", first->second, kIndex), "one of the two",
                           "shards and index come from different saves");
      weights_.notes.push_back(
          fmt::format("{} does not list tensor '{}', which {} holds", kIndex, tensor.name, file.name));
      return {};
    }
    if (listed->second == file.name) return {};
    const WeightFile& home = *find_file(weights_.files, listed->second);
    if (!same_content(file, tensor, home, *find_tensor(home, tensor.name)))
      return input_error(dir_.shown(file.name), fmt::format("tensor '{}'", tensor.name),
                         fmt::format("other values than in {}, where the index has it", listed->second), "one tensor",
                         "shards and index come from different saves");
    weights_.notes.push_back(fmt::format("tensor '{}' is in {}, as {} says, and with the same bytes in {}", tensor.name,
                                         listed->second, kIndex, file.name));
    copies.insert(tensor.name);
    return {};
  }

  const ModelDir& dir_;
  const Index& index_;
  Weights& weights_;
  std::map<std::string, std::string> unlisted_;
};

Result<Weights> open_shards(const ModelDir& dir) {
  CALKIT_TRY(const std::string text, dir.read(kIndex, 64ull << 20), "reading the shard index");
  CALKIT_TRY(const Value document, parse_json(text, dir.shown(kIndex)), "reading the shard index");
  CALKIT_TRY(const Index index, parse_index(Cursor(document, dir.shown(kIndex))), "reading the shard index");
  for (const auto& [shard, tensor] : index.a_tensor_of)
    if (!dir.has(shard))
      return input_error(dir.shown(shard), {}, fmt::format("no such file, which the index names for '{}'", tensor),
                         "every shard of the index", "the download is not complete; fetch this shard");
  Weights out;
  for (const auto& [shard, tensor] : index.a_tensor_of) {
    CALKIT_TRY(WeightFile file, open_file(dir, shard));
    out.files.push_back(std::move(file));
  }
  CALKIT_CHECK_OK(Placement(dir, index, out).check());
  return out;
}

}  // namespace

Result<Weights> open_weights(const ModelDir& dir) {
  const bool single = dir.has(kSingle), sharded = dir.has(kIndex);
  if (single && sharded)
    return input_error(dir.shown(kIndex), {}, fmt::format("{} and this index, both", kSingle), "one of the two",
                       "which weights are meant is not stated: remove the one that is not");
  if (sharded) return open_shards(dir);
  if (!single) return no_weights(dir);
  Weights out;
  CALKIT_TRY(WeightFile file, open_file(dir, kSingle));
  out.files.push_back(std::move(file));
  return out;
}

}  // namespace calkit::hf
