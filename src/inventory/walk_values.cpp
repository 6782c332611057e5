// What is summed up over values and weights, and the lists made of it at the end.
#include <fmt/format.h>

#include <algorithm>

#include "layer.h"
#include "walk.h"

namespace calkit::inventory {
namespace {

constexpr std::size_t kLargest = 10, kNamed = 5;

void remember(std::vector<std::string>& names, std::string_view name) {
  if (names.size() < kNamed) names.emplace_back(name);
}

std::string joined(const std::vector<std::string>& names, std::uint64_t total) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return total > names.size() ? out + fmt::format(" and {} more", total - names.size()) : out;
}

}  // namespace

void Walk::consume(std::string_view name, const std::string& consumer, Scope& scope) {
  Fact* known = scope.find(name);
  if (!known) return;  // the structure check has told about it
  if (consumer == "(output)")
    known->is_output = true;
  else
    ++known->consumers;
  ++out_.edges[{known->producer, consumer}];
  // A weight that three nodes of one operator read is three edges, but its bytes count once.
  if (!known->weight || consumer == "(output)" || !known->readers.insert(consumer).second) return;
  Sum& sum = out_.weights_by_consumer[consumer];
  ++sum.count;
  sum.bytes += known->weight->bytes;
}

void Walk::close(Scope& scope, const std::string& path) {
  std::vector<std::string_view> unused;
  for (const auto& [name, known] : scope.values) {
    ++out_.values;
    ++out_.value_types[known.type == 0 ? "?" : onnx::element_type_name(known.type)];
    ++out_.consumers[known.consumers];
    if (!known.dims) ++out_.values_without_shape;
    if (known.consumers == 0 && !known.is_output) unused.push_back(name);
  }
  std::sort(unused.begin(), unused.end());
  for (const std::string_view name : unused) {
    const bool is_weight = scope.values.at(name).weight != nullptr;
    if (is_weight) ++unused_weight_count_;
    if (!is_weight) ++out_.values_unused;
    remember(is_weight ? unused_weights_ : unused_values_, path == "main" ? name : fmt::format("{}: {}", path, name));
  }
}

void Walk::weight(const onnx::Initializer& tensor, const std::string& path) {
  const auto add = [&](Sum& sum) {
    ++sum.count;
    sum.bytes += tensor.bytes;
  };
  add(out_.weights);
  add(out_.weights_by_type[onnx::element_type_name(tensor.type)]);
  if (!tensor.location.empty()) add(out_.external_files[tensor.location]);
  const auto larger = [](const Weight& a, const Weight& b) { return a.bytes > b.bytes; };
  Weight made{tensor.name, onnx::element_type_name(tensor.type), path, tensor.dims, tensor.bytes, tensor.location};
  out_.weight_list.push_back(made);
  if (out_.largest.size() == kLargest && tensor.bytes <= out_.largest.back().bytes) return;
  out_.largest.insert(std::upper_bound(out_.largest.begin(), out_.largest.end(), made, larger), std::move(made));
  if (out_.largest.size() > kLargest) out_.largest.pop_back();
}

void Walk::layer(const onnx::Graph& graph, Scope& scope) {
  std::vector<const onnx::Node*> shown;  // what is left when constants are folded
  std::vector<std::uint32_t> kinds;
  std::map<std::string, std::uint32_t> numbers;
  for (const onnx::Node& node : graph.nodes) {
    if (family_of_.at(&node)->support.state == Support::State::kFolded) continue;
    shown.push_back(&node);
    kinds.push_back(numbers.try_emplace(op_key(node), static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  const Stretch stretch = find_stretch(kinds);
  const bool has_second = stretch.repeats > 1 && stretch.first + 2 * stretch.length <= shown.size();
  const std::size_t first = has_second ? stretch.first + stretch.length : stretch.first;
  out_.layer.first = first;
  out_.layer.repeats = stretch.repeats;
  std::unordered_map<std::string_view, std::size_t> made;
  for (std::size_t i = first; i < first + stretch.length; ++i) {
    const onnx::Node& node = *shown[i];
    Layer::Node row{op_key(node), node.name, "?", family_of_.at(&node)->support.state, {}, {}};
    for (const std::string& input : node.inputs) {
      const Fact* fact = input.empty() ? nullptr : scope.find(input);
      if (const auto from = made.find(input); from != made.end())
        row.from.push_back(from->second);
      else if (fact && fact->origin != Origin::kConstant)
        row.outside.push_back(input);
    }
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      const Fact* fact = scope.find(output);
      if (row.output == "?" && fact) row.output = fact->text;
      made.emplace(output, i - first);
    }
    out_.layer.nodes.push_back(std::move(row));
  }
}

OpCounts& Walk::level(const std::string& path) {
  const auto [place, added] = level_index_.try_emplace(path, out_.levels.size());
  if (added) out_.levels.push_back({path, {}});
  return out_.levels[place->second].op_counts;
}

void Walk::finish() {
  out_.operator_parameters = parameters_.take();
  if (out_.tokens_reason.empty()) {
    out_.tokens = Formula::unknown();
    out_.tokens_reason = "no table is looked up with an input, so that nothing says what a token is";
  }
  for (auto& [key, family] : families_) out_.families.push_back(std::move(family));
  std::stable_sort(out_.families.begin(), out_.families.end(),
                   [](const Family& a, const Family& b) { return a.op != b.op ? a.op < b.op : a.count > b.count; });
  const auto note = [&](std::string text) { out_.findings.push_back({Finding::Severity::kNote, std::move(text)}); };
  if (out_.values_unused > 0)
    note(fmt::format("values that nothing reads ({}): {}", out_.values_unused,
                     joined(unused_values_, out_.values_unused)));
  if (unused_weight_count_ > 0)
    note(fmt::format("initialisers that nothing reads ({}): {}", unused_weight_count_,
                     joined(unused_weights_, unused_weight_count_)));
}

}  // namespace calkit::inventory
