#include "pattern.h"

#include "attributes.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace calkit::fusion {
namespace {

using Kind = onnx::Attribute::Kind;

bool is_commutative(const onnx::Node& node) {
  return (node.op_type == "Add" || node.op_type == "Mul" || node.op_type == "Max") && node.inputs.size() == 2;
}

/// The tensor that a Constant node of a pattern stands for, against one of the graph: the same numbers, as a list.
bool same_constant(const onnx::Attribute& wanted, const Tensor& there) {
  if (wanted.kind == Kind::kInts && there.dtype() == DType::kI64) {
    const auto values = there.data<std::int64_t>();
    return std::equal(values.begin(), values.end(), wanted.ints.begin(), wanted.ints.end());
  }
  return wanted.kind == Kind::kFloat && there.dtype() == DType::kF32 && there.elements() == 1 &&
         there.data<float>()[0] == wanted.f;
}

class Search {
 public:
  Search(const Pattern& pattern, const View& view) : pattern_(pattern), view_(view) {
    for (std::size_t i = 0; i < pattern.nodes.size(); ++i)
      for (std::size_t output = 0; output < pattern.nodes[i].outputs.size(); ++output)
        makers_[pattern.nodes[i].outputs[output]] = {i, output};
  }

  std::optional<Match> run(std::size_t node) {
    const auto& outputs = view_.graph().nodes[node].outputs;
    if (outputs.empty() || !unify(pattern_.nodes.back().outputs.front(), outputs.front())) return std::nullopt;
    collect_gone();
    check_readers();
    return std::move(found_);
  }

 private:
  struct State {
    Match match;
    std::map<std::size_t, std::size_t> placed;  // node of the pattern -> node of the graph
  };

  void fail(std::string_view precondition) {
    if (found_.failed.empty()) found_.failed = precondition;
  }

  bool unify(const std::string& wanted, const std::string& there) {
    if (wanted.empty() || there.empty()) return wanted.empty() == there.empty();
    const auto maker = makers_.find(wanted);
    if (maker == makers_.end()) return bind(wanted, there);
    const onnx::Node& node = pattern_.nodes[maker->second.first];
    if (node.op_type == "Constant") return unify_constant(node, there);
    const auto source = view_.source(there);
    const bool fits = source && source->output == maker->second.second &&
                      view_.graph().nodes[source->node].op_type == node.op_type &&
                      view_.graph().nodes[source->node].domain == node.domain;
    if (!fits) return node.op_type == "Cast" && skip_cast(node, wanted, there);
    return unify_node(maker->second.first, source->node);
  }

  bool bind(const std::string& wanted, const std::string& there) {
    if (wanted.front() == '=' && !view_.constant(there)) return false;
    const auto [known, fresh] = found_.values.emplace(wanted, there);
    if (!fresh && known->second != there) fail("operands");
    return true;
  }

  bool unify_constant(const onnx::Node& node, const std::string& there) {
    const auto tensor = view_.constant(there);
    if (!tensor) return false;
    const onnx::Attribute& value = node.attributes.front();
    if (!value.ref.empty()) {
      if (tensor->dtype() != DType::kI64) return false;
      onnx::Attribute taken = onnx::attr(value.ref, *view_.constant_ints(there));
      found_.attributes.emplace(value.ref, std::move(taken));
      return true;
    }
    if (!same_constant(value, *tensor)) fail("constants");
    return true;
  }

  /// A Cast that is not there because the value is of that type already.
  bool skip_cast(const onnx::Node& cast, const std::string& wanted, const std::string& there) {
    const onnx::ElementType type = view_.type(there);
    const onnx::Attribute& to = cast.attributes.front();
    if (type == 0 || (to.ref.empty() && to.i != type)) return false;
    if (!to.ref.empty()) found_.attributes.emplace(to.ref, onnx::attr(to.ref, std::int64_t{type}));
    found_.values.emplace(wanted, there);
    return unify(cast.inputs[0], there);
  }

  bool unify_node(std::size_t wanted, std::size_t there) {
    const onnx::Node &pattern = pattern_.nodes[wanted], &node = view_.graph().nodes[there];
    const auto [known, fresh] = placed_.emplace(wanted, there);
    if (!fresh) {
      if (known->second != there) fail("operands");
      return true;
    }
    if (node.op_type != pattern.op_type || node.domain != pattern.domain) return false;
    if (node.inputs.size() != pattern.inputs.size()) return false;
    found_.nodes.insert(there);
    check_attributes(pattern, node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (i < pattern.outputs.size())
        found_.values[pattern.outputs[i]] = node.outputs[i];
      else if (!node.outputs[i].empty())
        fail("readers");
    }
    return unify_inputs(pattern, node);
  }

  bool unify_inputs(const onnx::Node& pattern, const onnx::Node& node) {
    if (!is_commutative(pattern)) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (!unify(pattern.inputs[i], node.inputs[i])) return false;
      return true;
    }
    // Both orders, the one that breaks no precondition first.
    const State before{found_, placed_};
    std::optional<State> flawed;
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      found_ = before.match;
      placed_ = before.placed;
      if (!unify(pattern.inputs[0], node.inputs[first]) || !unify(pattern.inputs[1], node.inputs[1 - first])) continue;
      if (found_.failed == before.match.failed) return true;
      if (!flawed) flawed = State{found_, placed_};
    }
    if (!flawed) return false;
    found_ = std::move(flawed->match);
    placed_ = std::move(flawed->placed);
    return true;
  }

  void check_attributes(const onnx::Node& pattern, const onnx::Node& node) {
    for (const onnx::Attribute& wanted : pattern.attributes) {
      if (wanted.ref.empty()) {
        if (!same_attribute(node, wanted)) fail("attributes");
        continue;
      }
      const onnx::Attribute* there = node.attribute(wanted.name);
      onnx::Attribute taken;
      if (there != nullptr) {
        taken = *there;
      } else {
        const auto otherwise = default_of(node, wanted.name);
        if (!otherwise) {
          fail("attributes");
          continue;
        }
        taken.kind = wanted.kind;
        taken.i = static_cast<std::int64_t>(*otherwise);
        taken.f = static_cast<float>(*otherwise);
      }
      taken.name = wanted.ref;
      found_.attributes.emplace(wanted.ref, std::move(taken));
    }
    // What the pattern does not name has to be as if it were not there.
    for (const onnx::Attribute& there : node.attributes)
      if (pattern.attribute(there.name) == nullptr &&
          (!number_of(there) || default_of(node, there.name) != number_of(there)))
        fail("attributes");
  }

  void collect_gone() {
    for (const auto& [wanted, there] : placed_)
      if (!pattern_.kept.contains(pattern_.nodes[wanted].outputs.front())) found_.gone.insert(there);
  }

  /// What goes away may only be read by what goes away with it, unless the fused operator makes it, too.
  void check_readers() {
    std::set<std::string> free;
    for (const std::string& name : pattern_.outputs)
      if (const auto value = found_.values.find(name); value != found_.values.end()) free.insert(value->second);
    for (const auto& [wanted, there] : placed_) {
      if (!found_.gone.contains(there)) continue;
      const onnx::Node& pattern = pattern_.nodes[wanted];
      for (const std::string& name : pattern.outputs) {
        const auto value = found_.values.find(name);
        if (value == found_.values.end() || free.contains(value->second)) continue;
        const auto& readers = view_.readers(value->second);
        if (view_.is_output(value->second) || !std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
              return found_.gone.contains(reader);
            }))
          fail("readers");
      }
    }
  }

  const Pattern& pattern_;
  const View& view_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> makers_;
  Match found_;
  std::map<std::size_t, std::size_t> placed_;
};

}  // namespace

Pattern pattern_of(const onnx::Function& function) {
  return {function.nodes, {function.outputs.begin(), function.outputs.end()}, {}};
}

std::optional<Match> match(const Pattern& pattern, const View& view, std::size_t node) {
  return Search(pattern, view).run(node);
}

}  // namespace calkit::fusion
