/// Ids that are given twice, references to ids that nobody has, and the lines of JSON pointers.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/text.h"
#include "reader.h"

namespace calkit::calbin {

namespace {

/// Ids that are given twice, and references to ids that nobody has.
class References {
 public:
  References(const Value& root, const Description& description, std::vector<Problem>& problems)
      : root_(root), problems_(problems) {
    for (const auto& file : description.files) add(files_, file.id, "/files", files_seen_++);
    for (const auto& region : description.memory.regions) add(regions_, region.id, "/memory/regions", regions_seen_++);
    const Value* files = root.find("files");
    const Value* memory = root.find("memory");
    const Value* regions = memory != nullptr ? memory->find("regions") : nullptr;
    have_files_ = files != nullptr && files->is_array();
    have_regions_ = regions != nullptr && regions->is_array();
  }
  void file(const std::string& id, std::string pointer) {
    check(have_files_, files_, id, "/files", std::move(pointer));
  }
  void region(const std::string& id, std::string pointer) {
    check(have_regions_, regions_, id, "/memory/regions", std::move(pointer));
  }

 private:
  void add(std::set<std::string>& ids, const std::string& id, std::string_view list, std::size_t index) {
    if (id.empty() || ids.insert(id).second) return;
    const std::string pointer = fmt::format("{}/{}/id", list, index);
    problems_.push_back({ProblemKind::kDuplicateId, pointer, line_of(root_, pointer),
                         fmt::format("'{}' a second time", id), fmt::format("each id of {} once", list),
                         "give every entry its own id", /*understood=*/true});
  }
  void check(bool have_list, const std::set<std::string>& ids, const std::string& id, std::string_view list,
             std::string pointer) {
    if (!have_list || id.empty() || ids.contains(id)) return;
    const std::string near = nearest_word(id, std::vector<std::string>(ids.begin(), ids.end()));
    const std::uint32_t line = line_of(root_, pointer);
    problems_.push_back(
        {ProblemKind::kMissing, std::move(pointer), line, fmt::format("'{}'", id),
         near.empty() ? fmt::format("an id of {}", list) : fmt::format("an id of {}; '{}' is the nearest", list, near),
         "add the entry it names, or correct the reference"});
  }

  const Value& root_;
  std::vector<Problem>& problems_;
  std::set<std::string> files_, regions_;
  std::size_t files_seen_ = 0, regions_seen_ = 0;
  bool have_files_ = false, have_regions_ = false;
};

}  // namespace

void check_references(const Value& root, const Description& d, std::vector<Problem>& problems) {
  References refs(root, d, problems);
  for (std::size_t i = 0; i < d.memory.regions.size(); ++i) {
    const auto& region = d.memory.regions[i];
    refs.region(region.parent, fmt::format("/memory/regions/{}/parent", i));
    for (std::size_t k = 0; k < region.shared_with.size(); ++k)
      refs.region(region.shared_with[k], fmt::format("/memory/regions/{}/shared_with/{}", i, k));
  }
  for (std::size_t i = 0; i < d.params.size(); ++i) {
    refs.file(d.params[i].file, fmt::format("/params/{}/file", i));
    refs.region(d.params[i].region, fmt::format("/params/{}/region", i));
  }
  for (std::size_t i = 0; i < d.submodels.size(); ++i) {
    const auto& submodel = d.submodels[i];
    const std::string at = fmt::format("/submodels/{}", i);
    for (std::size_t k = 0; k < submodel.files.size(); ++k)
      refs.file(submodel.files[k], fmt::format("{}/files/{}", at, k));
    for (std::size_t k = 0; k < submodel.inputs.size(); ++k)
      refs.region(submodel.inputs[k].region, fmt::format("{}/inputs/{}/region", at, k));
    for (std::size_t k = 0; k < submodel.outputs.size(); ++k)
      refs.region(submodel.outputs[k].region, fmt::format("{}/outputs/{}/region", at, k));
    refs.region(submodel.workspace_region, at + "/workspace/region");
    for (const auto& [chip, id] : submodel.oplist) refs.file(id, fmt::format("{}/oplist/{}", at, chip));
    for (const auto& [chip, id] : submodel.iomap) refs.file(id, fmt::format("{}/iomap/{}", at, chip));
    for (std::size_t k = 0; k < submodel.commands.size(); ++k) {
      refs.file(submodel.commands[k].bin, fmt::format("{}/commands/{}/bin", at, k));
      refs.file(submodel.commands[k].text, fmt::format("{}/commands/{}/text", at, k));
    }
  }
  for (std::size_t i = 0; i < d.kv.regions.size(); ++i) refs.region(d.kv.regions[i], fmt::format("/kv/region/{}", i));
  for (std::size_t i = 0; i < d.golden.size(); ++i) {
    refs.file(d.golden[i].inputs, fmt::format("/golden/{}/inputs", i));
    refs.file(d.golden[i].outputs, fmt::format("/golden/{}/outputs", i));
  }
}

std::uint32_t line_of(const Value& root, std::string_view pointer) {
  const Value* at = &root;
  std::uint32_t line = root.line;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    std::string key(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (const auto* items = at->if_array()) {
      const auto index = parse_decimal_u64(key);
      at = index && *index < items->size() ? &(*items)[*index] : nullptr;
    } else {
      for (std::size_t i = 0; (i = key.find("~1", i)) != std::string::npos;) key.replace(i, 2, "/");
      for (std::size_t i = 0; (i = key.find("~0", i)) != std::string::npos; ++i) key.replace(i, 2, "~");
      at = at->find(key);
    }
    if (at == nullptr) break;
    if (at->line != 0) line = at->line;
  }
  return line;
}

}  // namespace calkit::calbin
