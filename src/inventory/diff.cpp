// What two graphs have in common and what not.
#include <fmt/format.h>

#include "calkit/base/text.h"
#include "render.h"
#include "walk.h"

namespace calkit::inventory {
namespace {

using Side = std::map<std::string, std::string>;

void compare(const std::string& kind, const Side& before, const Side& after, std::vector<Change>& out) {
  for (const auto& [what, value] : before) {
    const auto other = after.find(what);
    if (other == after.end() || other->second != value)
      out.push_back({kind, what, value, other == after.end() ? "" : other->second});
  }
  for (const auto& [what, value] : after)
    if (!before.contains(what)) out.push_back({kind, what, "", value});
}

Side opsets(const Inventory& inventory) {
  Side out;
  for (const auto& [domain, version] : inventory.opsets) out[domain] = fmt::format("{}", version);
  return out;
}

Side counts(const std::map<std::string, std::uint64_t>& from) {
  Side out;
  for (const auto& [what, count] : from) out[what] = fmt::format("{}", count);
  return out;
}

Side families(const Inventory& inventory) {
  std::map<std::string, std::uint64_t> sums;
  for (const Family& family : inventory.families) sums[family.op + signature(family)] += family.count;
  return counts(sums);
}

Side ports(const std::vector<onnx::ValueInfo>& list) {
  Side out;
  for (const onnx::ValueInfo& port : list) out[port.name] = value_text(port);
  return out;
}

Side symbols(const Inventory& inventory) {
  Side out;
  for (const auto& [symbol, places] : inventory.symbols)
    out[symbol] = fmt::format("{} place{}", places.size(), places.size() == 1 ? "" : "s");
  return out;
}

Side weights(const Inventory& inventory) {
  Side out;
  for (const Weight& weight : inventory.weight_list)
    out[weight.level == "main" ? weight.name : weight.level + ": " + weight.name] =
        weight.type + shape_text(weight.dims);
  return out;
}

}  // namespace

std::vector<Change> diff(const Inventory& before, const Inventory& after) {
  std::vector<Change> out;
  compare("opset", opsets(before), opsets(after), out);
  compare("input", ports(before.inputs), ports(after.inputs), out);
  compare("output", ports(before.outputs), ports(after.outputs), out);
  compare("symbol", symbols(before), symbols(after), out);
  compare("operator", counts(before.op_counts), counts(after.op_counts), out);
  compare("family", families(before), families(after), out);
  compare("type", counts(before.value_types), counts(after.value_types), out);
  compare("weight", weights(before), weights(after), out);
  return out;
}

Value changes_value(const std::vector<Change>& changes) {
  const auto side = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  Value out = Value::array();
  for (const Change& change : changes)
    out.push(Value::object({{"kind", change.kind},
                            {"what", change.what},
                            {"before", side(change.before)},
                            {"after", side(change.after)}}));
  return out;
}

Value diff_document(const Inventory& before, const Inventory& after, const std::vector<Change>& changes) {
  return Value::object({{"schema", "calkit.onnx-inventory-diff/1"},
                        {"before", before.file},
                        {"after", after.file},
                        {"changes", changes_value(changes)}});
}

std::string to_text(const std::vector<Change>& changes) {
  std::string out;
  for (const Change& change : changes) {
    const std::string what = printable(change.what, SIZE_MAX);
    if (change.before.empty())
      out += fmt::format("+ {} {}: {}\n", change.kind, what, change.after);
    else if (change.after.empty())
      out += fmt::format("- {} {}: {}\n", change.kind, what, change.before);
    else
      out += fmt::format("~ {} {}: {} -> {}\n", change.kind, what, change.before, change.after);
  }
  return out;
}

}  // namespace calkit::inventory
