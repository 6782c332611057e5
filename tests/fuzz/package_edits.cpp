#include "package_edits.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "calkit/base/text.h"
#include "calkit/calbin/reading.h"

namespace calkit::fuzz {
namespace {

struct Node {
  Value* value;
  Value* parent;  ///< an array or an object
  std::size_t index;
};

void collect(Value& value, std::vector<Node>& out) {
  if (auto* items = value.if_array())
    for (std::size_t i = 0; i < items->size(); ++i) {
      out.push_back({&(*items)[i], &value, i});
      collect((*items)[i], out);
    }
  if (auto* members = value.if_object())
    for (std::size_t i = 0; i < members->size(); ++i) {
      out.push_back({&(*members)[i].second, &value, i});
      collect((*members)[i].second, out);
    }
}

Value edge_value(std::uint8_t which) {
  static const Value kValues[] = {Value(),
                                  Value(true),
                                  Value(0),
                                  Value(1),
                                  Value(-1),
                                  Value(4096),
                                  Value(INT64_C(9007199254740992)),
                                  Value(INT64_MAX),
                                  Value(UINT64_MAX),
                                  Value(1.5),
                                  Value(""),
                                  Value("0x0"),
                                  Value("0x1000"),
                                  Value("0xffffffffffffffff"),
                                  Value("0xfffffffffffff000"),
                                  Value("../a"),
                                  Value("16777216 MB"),
                                  Value("decode"),
                                  Value("prefill"),
                                  Value("f32"),
                                  Value("sha256:" + std::string(64, '0')),
                                  Value::array(),
                                  Value::object()};
  return kValues[which % std::size(kValues)];
}

std::int64_t delta_of(std::uint8_t argument) {
  static constexpr std::int64_t kSteps[] = {1, 4, 64, 4096};
  const std::int64_t step = kSteps[argument % 4] * (1 + argument / 8);
  return argument & 4 ? -step : step;
}

void nudge(Value& value, std::int64_t delta) {
  if (const auto number = value.if_int()) {
    value = Value(static_cast<std::int64_t>(static_cast<std::uint64_t>(*number) + static_cast<std::uint64_t>(delta)));
  } else if (const auto* text = value.if_string()) {
    if (const auto address = parse_hex_u64(*text))
      value = Value(hex_u64(*address + static_cast<std::uint64_t>(delta)));
    else if (!text->empty())
      value = Value(text->substr(0, text->size() - 1));
  }
}

void remove(const Node& node) {
  if (auto* items = node.parent->if_array()) items->erase(items->begin() + static_cast<std::ptrdiff_t>(node.index));
  if (auto* members = node.parent->if_object())
    members->erase(members->begin() + static_cast<std::ptrdiff_t>(node.index));
}

void repeat(const Node& node) {
  auto* items = node.parent->if_array();
  if (items && items->size() < 256) items->push_back(Value(*node.value));
}

void rename(const Node& node, std::uint8_t argument) {
  auto* members = node.parent->if_object();
  if (!members) return;
  std::string& key = (*members)[node.index].first;
  const std::string wanted = argument % 3 == 0 ? "x-" + key : argument % 3 == 1 ? key + "s" : "id";
  if (node.parent->find(wanted) == nullptr) key = wanted;  // a Value has no repeated keys; text edits make those
}

class Editor {
 public:
  Editor(EditedPackage& package) : package_(package) {}

  void apply(std::uint8_t kind, std::uint16_t place, std::uint8_t argument) {
    if (kind % 16 >= 10) return edit_file(kind % 16, place, argument);
    std::vector<Node> nodes;
    collect(package_.document, nodes);
    if (nodes.empty()) return;
    const Node& node = nodes[place % nodes.size()];
    const Node& other = nodes[(place / 7u + argument * 31u) % nodes.size()];
    switch (kind % 16) {
      case 0:
      case 1:
        *node.value = edge_value(argument);
        return;
      case 2:
      case 3:
      case 4:
        return nudge(*node.value, delta_of(argument));
      case 5:
        return remove(node);
      case 6:
        return repeat(node);
      case 7:
        *node.value = Value(Value(*other.value));
        return;
      case 8:
        return rename(node, argument);
      default:
        if (auto* items = node.parent->if_array()) std::swap((*items)[node.index], (*items)[argument % items->size()]);
    }
  }

 private:
  void edit_file(std::uint8_t kind, std::uint16_t place, std::uint8_t argument) {
    if (package_.files.empty()) return;
    const auto file = std::next(package_.files.begin(), argument % static_cast<int>(package_.files.size()));
    std::string& bytes = file->second;
    if (kind == 15)
      package_.files.erase(file);
    else if (kind == 14)
      package_.files.emplace("extra/" + std::to_string(place), std::string(argument, 'x'));
    else if (kind == 13)
      bytes.resize(bytes.size() - (bytes.empty() ? 0 : place % bytes.size()));
    else if (kind == 12)
      bytes.append(static_cast<std::size_t>(1 + place % 64), '\0');
    else if (!bytes.empty())
      bytes[place % bytes.size()] = static_cast<char>(bytes[place % bytes.size()] ^ (1 << argument % 8));
  }

  EditedPackage& package_;
};

/// Sizes and digests of the listed files that are there.
void rehash(Value& document, const std::map<std::string, std::string>& files) {
  Value* list = document.find("files");
  if (!list || !list->if_array()) return;
  for (Value& item : *list->if_array()) {
    const Value* path = item.is_object() ? item.find("path") : nullptr;
    const auto file = path && path->if_string() ? files.find(*path->if_string()) : files.end();
    if (file == files.end()) continue;
    item.set("size", Value(file->second.size()));
    item.set("digest", Value("sha256:" + sha256_hex(file->second)));
  }
}

}  // namespace

EditedPackage edit_package(const Value& document, const std::map<std::string, std::string>& files,
                           std::span<const std::uint8_t> program) {
  EditedPackage out{document, files, {}, false, false, false};
  const std::uint8_t flags = program.empty() ? 0 : program[0];
  Editor editor(out);
  std::vector<std::span<const std::uint8_t>> text_edits;
  for (std::size_t at = 1; at + 4 <= program.size(); at += 4) {
    const auto edit = program.subspan(at, 4);
    if (edit[0] >= 240)
      text_edits.push_back(edit);
    else
      editor.apply(edit[0], static_cast<std::uint16_t>(edit[1] | edit[2] << 8), edit[3]);
  }
  out.rehashed = flags & 1;
  out.resealed = (flags & 2) && out.document.is_object();
  if (out.rehashed) rehash(out.document, out.files);
  if (out.resealed) out.document.set("seal", calbin::seal_of(out.document));
  out.text = to_json(out.document, {true, -1}) + "\n";  // the good package itself is indented
  for (const auto& edit : text_edits) {
    const std::size_t place = static_cast<std::size_t>(edit[1] | edit[2] << 8) % out.text.size();
    out.text[place] = static_cast<char>(edit[3]);
    out.text_edited = true;
  }
  return out;
}

}  // namespace calkit::fuzz
