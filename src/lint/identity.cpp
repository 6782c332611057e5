#include "identity.h"

#include <fmt/format.h>

#include <map>

#include "calkit/base/hash.h"
#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"

namespace calkit::lint {

namespace {

/// A scalar as a name: a text as it stands, a number as JSON; empty for anything else.
std::string scalar_name(const Value* value) {
  if (value == nullptr || value->is_object() || value->is_array() || value->is_null()) return {};
  return value->if_string() != nullptr ? *value->if_string() : to_json(*value, {true, -1});
}

bool has_twin(const Value::Array& items, std::size_t index, const std::string& name) {
  for (std::size_t i = 0; i < items.size(); ++i)
    if (i != index && scalar_name(items[i].find("name")) == name) return true;
  return false;
}

/// How an item of a list is called: by its id; else by its name (with its chip where shards share it); else by what
/// sets it apart; else by its place.
std::string item_name(const Value::Array& items, std::size_t index) {
  const Value& item = items[index];
  if (auto id = scalar_name(item.find("id")); !id.empty()) return id;
  std::string out = scalar_name(item.find("name"));
  if (!out.empty() && !has_twin(items, index, out)) return out;
  const auto add = [&](const char* key) {
    const auto part = scalar_name(item.find(key));
    if (!part.empty()) out += out.empty() ? part : "@" + part;
  };
  if (out.empty())
    for (const char* key : {"kind", "submodel"}) add(key);
  if (!out.empty()) add("chip");
  return out.empty() ? std::to_string(index) : out;
}

struct Place {
  std::string symbol;
  const Value* value = nullptr;  ///< nullptr: nothing stands there
};

Place find_place(const Value* root, std::string_view pointer) {
  Place out{{}, root};
  if (pointer.empty()) return out;
  for (const auto& step : split(pointer.substr(1), '/')) {
    const std::string key = pointer_key(step);
    std::string name = key;
    if (const auto* items = out.value == nullptr ? nullptr : out.value->if_array()) {
      const auto index = parse_decimal_u64(key);
      const bool there = index && *index < items->size();
      out.value = there ? &(*items)[*index] : nullptr;
      if (there) name = item_name(*items, *index);
    } else {
      out.value = out.value == nullptr ? nullptr : out.value->find(key);
    }
    out.symbol += "/" + pointer_step(name);
  }
  return out;
}

const OpListFacts* oplist_of(const Facts& facts, const std::string& path) {
  for (const auto& oplist : facts.oplists)
    if (!path.empty() && oplist.path == path) return &oplist;
  return nullptr;
}

/// The submodel that "/submodels/1/..." points into.
std::string submodel_at(const Facts& facts, std::string_view pointer) {
  constexpr std::string_view kList = "/submodels/";
  if (!pointer.starts_with(kList)) return {};
  pointer.remove_prefix(kList.size());
  const auto index = parse_decimal_u64(pointer.substr(0, pointer.find('/')));
  const auto& submodels = facts.description().submodels;
  return index && *index < submodels.size() ? submodels[*index].name : std::string();
}

std::string found_value(const Finding& finding, const Place& place, bool has_pointer) {
  if (!has_pointer) return finding.found;
  if (place.value == nullptr) return "nothing";
  if (place.value->is_object() || place.value->is_array()) return finding.found;
  return to_json(*place.value, {true, -1});
}

}  // namespace

void identify(const Facts& facts, std::vector<Finding>& findings) {
  std::map<std::string, int> twins;
  for (auto& finding : findings) {
    const OpListFacts* oplist = finding.canonical.empty() ? oplist_of(facts, finding.file) : nullptr;
    const std::string& pointer = finding.canonical.empty() ? finding.pointer : finding.canonical;
    const Value* root = oplist != nullptr ? &oplist->document : facts.document ? &*facts.document : nullptr;
    const Place place = find_place(root, pointer);
    finding.symbol = place.symbol;
    if (oplist == nullptr)
      finding.submodel = submodel_at(facts, pointer);
    else if (oplist->submodel < facts.description().submodels.size())
      finding.submodel = facts.description().submodels[oplist->submodel].name;
    std::string text = finding.rule + '\0' + finding.file + '\0' + finding.symbol + '\0' +
                       found_value(finding, place, !pointer.empty());
    if (const int before = twins[text]++; before > 0) text += '\0' + std::to_string(before);
    finding.fingerprint = "sha256:" + sha256_hex(text);
  }
}

}  // namespace calkit::lint
