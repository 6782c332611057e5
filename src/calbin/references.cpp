/// Ids that are given twice, references to ids that nobody has, and the lines of JSON pointers.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"
#include "reader.h"

namespace calkit::calbin {

namespace {

/// One list of things with ids, and the references to them.
class Ids {
 public:
  /// `judge`: false when the list itself could not be read; its references are then not judged.
  Ids(const Value& root, std::string list, bool judge, std::vector<Problem>& problems)
      : root_(root), list_(std::move(list)), judge_(judge), problems_(problems) {}

  void add(const std::string& id) {
    const std::size_t index = seen_++;
    if (id.empty() || ids_.insert(id).second) return;
    const std::string pointer = fmt::format("{}/{}/id", list_, index);
    problems_.push_back({ProblemKind::kDuplicateId, pointer, line_of(root_, pointer),
                         fmt::format("'{}' a second time", id), fmt::format("each id of {} once", list_),
                         "give every entry its own id", /*understood=*/true});
  }
  /// A name that several entries may have.
  void add_name(const std::string& name) { ids_.insert(name); }
  void refer(const std::string& id, std::string pointer) {
    if (!judge_ || id.empty() || ids_.contains(id)) return;
    const std::string near = nearest_word(id, std::vector<std::string>(ids_.begin(), ids_.end()));
    const std::uint32_t line = line_of(root_, pointer);
    problems_.push_back({ProblemKind::kMissing, std::move(pointer), line, fmt::format("'{}'", id),
                         near.empty() ? fmt::format("an id of {}", list_)
                                      : fmt::format("an id of {}; '{}' is the nearest", list_, near),
                         "add the entry it names, or correct the reference"});
  }

 private:
  const Value& root_;
  std::string list_;
  bool judge_;
  std::vector<Problem>& problems_;
  std::set<std::string> ids_;
  std::size_t seen_ = 0;
};

bool is_list(const Value* value) {
  return value != nullptr && value->is_array();
}

struct References {
  Ids files, regions, schemes, params;

  References(const Value& root, const Description& d, std::vector<Problem>& problems)
      : files(root, "/files", is_list(root.find("files")), problems),
        regions(root, "/memory/regions",
                root.find("memory") != nullptr && is_list(root.find("memory")->find("regions")), problems),
        // The section is optional: without it no scheme exists.
        schemes(root, "/quant/schemes", root.find("quant") == nullptr || is_list(root.find("quant")->find("schemes")),
                problems),
        params(root, "/params", is_list(root.find("params")), problems) {
    for (const auto& file : d.files) files.add(file.id);
    for (const auto& region : d.memory.regions) regions.add(region.id);
    for (const auto& param : d.params) params.add_name(param.name);
    if (d.quant)
      for (const auto& scheme : d.quant->schemes) schemes.add(scheme.id);
  }
};

/// Names that are used like ids inside one list.
void check_names(const Value& root, const Description& d, std::vector<Problem>& problems) {
  const auto twice = [&](std::string pointer, const std::string& name, std::string allowed, const char* hint) {
    const auto line = line_of(root, pointer);
    problems.push_back({ProblemKind::kDuplicateId, std::move(pointer), line, fmt::format("'{}' a second time", name),
                        std::move(allowed), hint, /*understood=*/true});
  };
  for (std::size_t i = 0; i < d.submodels.size(); ++i) {
    const auto each = [&](const char* list, const auto& items) {
      std::set<std::string_view> seen;
      for (std::size_t k = 0; k < items.size(); ++k)
        if (!items[k].name.empty() && !seen.insert(items[k].name).second)
          twice(fmt::format("/submodels/{}/{}/{}/name", i, list, k), items[k].name,
                fmt::format("each name of a submodel's {} once", list), "give every tensor and register its own name");
    };
    each("inputs", d.submodels[i].inputs);
    each("outputs", d.submodels[i].outputs);
    each("csr", d.submodels[i].csr);
  }
  std::set<std::pair<std::string_view, std::int64_t>> whole;
  for (std::size_t i = 0; i < d.params.size(); ++i) {
    const auto& param = d.params[i];
    if (!param.name.empty() && !param.shard && !whole.emplace(param.name, param.chip).second)
      twice(fmt::format("/params/{}/name", i), param.name, "one block of a name on a chip, or a shard for each",
            "state which part each block is, or rename one of them");
  }
}

void check_submodel(References& refs, const Submodel& submodel, const std::string& at) {
  for (std::size_t k = 0; k < submodel.files.size(); ++k)
    refs.files.refer(submodel.files[k], fmt::format("{}/files/{}", at, k));
  for (std::size_t k = 0; k < submodel.inputs.size(); ++k)
    refs.regions.refer(submodel.inputs[k].region, fmt::format("{}/inputs/{}/region", at, k));
  for (std::size_t k = 0; k < submodel.outputs.size(); ++k)
    refs.regions.refer(submodel.outputs[k].region, fmt::format("{}/outputs/{}/region", at, k));
  refs.regions.refer(submodel.workspace_region, at + "/workspace/region");
  for (const auto& [chip, id] : submodel.oplist) refs.files.refer(id, fmt::format("{}/oplist/{}", at, chip));
  for (const auto& [chip, id] : submodel.iomap) refs.files.refer(id, fmt::format("{}/iomap/{}", at, chip));
  for (std::size_t k = 0; k < submodel.commands.size(); ++k) {
    refs.files.refer(submodel.commands[k].bin, fmt::format("{}/commands/{}/bin", at, k));
    refs.files.refer(submodel.commands[k].text, fmt::format("{}/commands/{}/text", at, k));
  }
}

void check_hardware(References& refs, const Description& d) {
  if (d.ccu) {
    refs.files.refer(d.ccu->elf, "/ccu/elf");
    refs.regions.refer(d.ccu->load_region, "/ccu/load_region");
  }
  if (d.d2d) refs.files.refer(d.d2d->helper, "/d2d/helper");
  if (!d.quant) return;
  for (const auto& [param, names] : d.quant->scales) {
    const std::string at = "/quant/scales/" + pointer_step(param);
    refs.params.refer(param, at);
    refs.params.refer(names.scale, at + "/scale");
    refs.params.refer(names.zero_point, at + "/zero_point");
  }
}

}  // namespace

void check_references(const Value& root, const Description& d, std::vector<Problem>& problems) {
  References refs(root, d, problems);
  check_names(root, d, problems);
  for (std::size_t i = 0; i < d.memory.regions.size(); ++i) {
    const auto& region = d.memory.regions[i];
    refs.regions.refer(region.parent, fmt::format("/memory/regions/{}/parent", i));
    for (std::size_t k = 0; k < region.shared_with.size(); ++k)
      refs.regions.refer(region.shared_with[k], fmt::format("/memory/regions/{}/shared_with/{}", i, k));
  }
  for (std::size_t i = 0; i < d.params.size(); ++i) {
    refs.files.refer(d.params[i].file, fmt::format("/params/{}/file", i));
    refs.regions.refer(d.params[i].region, fmt::format("/params/{}/region", i));
    refs.schemes.refer(d.params[i].quant_ref, fmt::format("/params/{}/quant_ref", i));
  }
  for (std::size_t i = 0; i < d.submodels.size(); ++i)
    check_submodel(refs, d.submodels[i], fmt::format("/submodels/{}", i));
  for (std::size_t i = 0; i < d.kv.regions.size(); ++i)
    refs.regions.refer(d.kv.regions[i], fmt::format("/kv/region/{}", i));
  check_hardware(refs, d);
  for (std::size_t i = 0; i < d.golden.size(); ++i) {
    refs.files.refer(d.golden[i].inputs, fmt::format("/golden/{}/inputs", i));
    refs.files.refer(d.golden[i].outputs, fmt::format("/golden/{}/outputs", i));
  }
  for (std::size_t i = 0; i < d.signatures.size(); ++i)
    refs.files.refer(d.signatures[i].file, fmt::format("/signatures/{}/file", i));
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
      at = at->find(pointer_key(key));
    }
    if (at == nullptr) break;
    if (at->line != 0) line = at->line;
  }
  return line;
}

}  // namespace calkit::calbin
