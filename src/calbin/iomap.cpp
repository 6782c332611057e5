#include "calkit/calbin/iomap.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "calkit/base/text.h"
#include "reader.h"

namespace calkit::calbin {

namespace {

using Key = std::pair<std::string, std::string>;  // kind, name

std::string key_text(const Key& key) {
  return fmt::format("{} '{}'", key.first, printable(key.second));
}

std::string place_text(std::uint64_t base, std::uint64_t size) {
  return fmt::format("{} + {} B", hex_u64(base), size);
}

struct Due {
  std::uint64_t base = 0, size = 0;
  bool needed = true;
};

std::map<Key, Due> rows_due(const Submodel& submodel, std::int64_t chip) {
  std::map<Key, Due> out;
  for (const auto& [kind, list] : {std::pair{"input", &submodel.inputs}, {"output", &submodel.outputs}})
    for (const auto& tensor : *list)
      if (tensor.chip == chip) out[{kind, tensor.name}] = {tensor.base, tensor.size};
  const bool first = !submodel.iomap.empty() && submodel.iomap.begin()->first == chip;
  for (const auto& csr : submodel.csr)
    out[{"csr", csr.name}] = {
        csr.base, static_cast<std::uint64_t>(csr.count) * static_cast<std::uint64_t>(csr.width_bits / 8), first};
  return out;
}

}  // namespace

Result<IoMap> parse_iomap(const Cursor& cursor) {
  std::vector<Problem> problems;
  Reader in(problems);
  const std::string prefix = cursor.pointer();
  const Node root{&cursor.value(), nullptr, prefix};
  IoMap out;
  if (!cursor.value().is_object()) return cursor.error(cursor.value().describe(), "an object");
  if (in.word(root, "schema", {"calkit.iomap/1"}).empty()) return error_of(problems.front(), cursor.file());
  in.only(root, {"schema", "submodel", "chip", "rows"});
  out.submodel = in.text(root, "submodel");
  out.chip = in.integer(root, "chip", 0, 63);
  in.objects(root, "rows", [&](const Node& at) {
    in.only(at, {"kind", "name", "base", "size"});
    IoMapRow row;
    row.kind = in.word(at, "kind", {"input", "output", "csr"});
    row.name = in.text(at, "name");
    row.base = in.hex(at, "base");
    row.size = in.size(at, "size");
    out.rows.push_back(std::move(row));
  });
  if (!problems.empty()) return error_of(problems.front(), cursor.file());
  return out;
}

std::vector<IoMapFault> compare_iomap(const Submodel& submodel, std::int64_t chip, const IoMap& map) {
  if (map.submodel != submodel.name || map.chip != chip)
    return {{"/submodel", "belongs to another submodel or chip",
             fmt::format("'{}' on chip {}", printable(map.submodel), map.chip),
             fmt::format("'{}' on chip {}, for which it is listed", submodel.name, chip)}};
  std::vector<IoMapFault> out;
  const auto due = rows_due(submodel, chip);
  std::set<Key> seen;
  for (std::size_t i = 0; i < map.rows.size(); ++i) {
    const auto& row = map.rows[i];
    const Key key{row.kind, row.name};
    const auto pointer = fmt::format("/rows/{}", i);
    const auto at = due.find(key);
    if (!seen.insert(key).second)
      out.push_back({pointer, "has two rows of one name", key_text(key) + " a second time", "one row each"});
    else if (at == due.end())
      out.push_back({pointer, "has a row that the description does not know", key_text(key),
                     fmt::format("the tensors of '{}' on chip {}, and its registers", submodel.name, chip)});
    else if (row.base != at->second.base || row.size != at->second.size)
      out.push_back({pointer, fmt::format("puts {} elsewhere than the description", key_text(key)),
                     place_text(row.base, row.size),
                     fmt::format("{}, as calbin.json says", place_text(at->second.base, at->second.size))});
  }
  for (const auto& [key, place] : due)
    if (place.needed && !seen.contains(key))
      out.push_back({"/rows", "leaves a row out", fmt::format("no row for {}", key_text(key)),
                     fmt::format("{} at {}", key_text(key), place_text(place.base, place.size))});
  return out;
}

}  // namespace calkit::calbin
