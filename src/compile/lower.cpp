#include "lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/exec/kernel.h"

namespace calkit::compile {
namespace {

using calbin::Extent;
using onnx::Node;

std::string node_text(const Node& node) {
  return fmt::format("{} '{}'", node.op_type,
                     !node.name.empty()     ? node.name
                     : node.outputs.empty() ? ""
                                            : node.outputs[0]);
}

Error no_lowering(const Node& node, const std::string& found, const std::string& allowed) {
  return input_error("graph", node_text(node), found, allowed, "pack lowers the graphs that onnx-export writes");
}

class Lowering {
 public:
  Lowering(const onnx::Model& model, const hf::ModelSpec& spec, const LowerOptions& options)
      : graph_(model.graph), spec_(spec), options_(options) {
    for (const onnx::Initializer& initializer : graph_.initializers) initializers_[initializer.name] = &initializer;
    for (const auto* list : {&graph_.inputs, &graph_.outputs, &graph_.value_info})
      for (const onnx::ValueInfo& info : *list) infos_[info.name] = &info;
    for (const std::string& known : exec::supported_operators()) operators_.insert(known);
  }

  Result<Lowered> run() {
    CALKIT_CHECK_OK(inputs());
    for (const Node& node : graph_.nodes) CALKIT_CHECK_OK(lower_node(node));
    CALKIT_CHECK_OK(outputs());
    lifetimes();
    return std::move(out_);
  }

 private:
  Status inputs() {
    // Both submodels have both registers: the host writes them before every call, whoever reads them.
    csr_value(kCurrentCsr);
    csr_value(kPastCsr);
    for (const onnx::ValueInfo& input : graph_.inputs) {
      if (input.name == kTokenName || input.name == kPositionName) {
        CALKIT_CHECK_OK(add_value(input.name, Home::kInput));
      } else if (input.name == "last_index" && !options_.decode) {
        CALKIT_CHECK_OK(last_index());
      } else if (!(options_.decode && input.name.starts_with("past_"))) {
        return input_error("graph", "input '" + input.name + "'", "an input pack does not know",
                           "token_ids, position_ids, last_index (prefill), past_key.N and past_value.N (decode)");
      }
    }
    return {};
  }

  /// last_index = cur_seq_len - 1, computed on the device from the register.
  Status last_index() {
    const std::size_t csr = csr_value(kCurrentCsr);
    onnx::Initializer one;
    one.name = "last_index.one";
    one.type = onnx::from_dtype(DType::kI64);
    one.dims = {1};
    one.data = Tensor::of<std::int64_t>({1}, {1});
    one.bytes = 8;
    out_.extra.push_back(one);
    const std::size_t wide = make_value("cur_seq_len.i64", DType::kI64, {Extent{std::string("B")}}, Home::kWorkspace);
    const std::size_t index = make_value("last_index", DType::kI64, {Extent{std::string("B")}}, Home::kWorkspace);
    const std::size_t constant = make_value(one.name, DType::kI64, {Extent{std::int64_t{1}}}, Home::kParam);
    out_.ops.push_back({"Cast",
                        "",
                        "last_index.cast",
                        {{"to", std::int64_t{onnx::from_dtype(DType::kI64)}}},
                        {signed_of(csr)},
                        {wide}});
    out_.ops.push_back({"Sub", "", "last_index", {}, {signed_of(wide), signed_of(constant)}, {index}});
    return {};
  }

  Status lower_node(const Node& node) {
    if (node.outputs.empty()) return no_lowering(node, "no outputs", "at least one");
    if (node.domain.empty()) {
      if (node.op_type == "Transpose" && turn_weight(node)) return {};
      if (node.op_type == "MatMul") return lower_matmul(node);
      if (node.op_type == "Attention") return lower_attention(node);
      if (node.op_type == "Reshape" || node.op_type == "Unsqueeze" || node.op_type == "Squeeze" ||
          node.op_type == "Identity")
        return lower_view(node);
    }
    return lower_plain(node);
  }

  /// A Transpose of a whole weight is not an op: MatMulNT reads the weight as it is stored.
  bool turn_weight(const Node& node) {
    const auto found = initializers_.find(node.inputs.empty() ? std::string() : node.inputs[0]);
    const onnx::Attribute* perm = node.attribute("perm");
    if (found == initializers_.end() || found->second->dims.size() != 2) return false;
    if (perm != nullptr && perm->ints != std::vector<std::int64_t>{1, 0}) return false;
    turned_[node.outputs[0]] = node.inputs[0];
    return true;
  }

  Status lower_matmul(const Node& node) {
    const auto turned = node.inputs.size() == 2 ? turned_.find(node.inputs[1]) : turned_.end();
    if (turned == turned_.end()) return lower_plain(node);
    CALKIT_TRY(const std::size_t x, value_of(node.inputs[0]));
    CALKIT_TRY(const std::size_t weight, value_of(turned->second));
    CALKIT_TRY(const std::size_t y, output_value(node.outputs[0]));
    out_.ops.push_back({"MatMulNT", "calkit", node_name(node), {}, {signed_of(x), signed_of(weight)}, {y}});
    return {};
  }

  Status lower_view(const Node& node) {
    if (graph_output(node.outputs[0]))
      return no_lowering(node, "a view as graph output", "an output that an operator computes");
    CALKIT_TRY(const std::size_t from, value_of(node.inputs[0]));
    CALKIT_TRY(LoweredValue view, described(node.outputs[0]));
    CALKIT_TRY(const std::uint64_t before, value_bytes(out_.values[from], options_.batch, options_.max_tokens));
    CALKIT_TRY(const std::uint64_t after, value_bytes(view, options_.batch, options_.max_tokens));
    if (before != after || view.dtype != out_.values[from].dtype)
      return no_lowering(node, fmt::format("{} B seen as {} B", before, after), "a view of all bytes");
    view.storage = out_.values[from].storage;
    values_[view.name] = out_.values.size();
    out_.values.push_back(std::move(view));
    return {};
  }

  Status check_attention(const Node& node) const {
    const std::string layer = std::to_string(layer_);
    for (const onnx::Attribute& attribute : node.attributes)
      if (attribute.name != "scale" && attribute.name != "is_causal")
        return no_lowering(node, "attribute " + attribute.name, "scale and is_causal");
    if (options_.decode) {
      if (node.inputs.size() != 6 || !node.inputs[3].empty() || node.inputs[4] != "past_key." + layer ||
          node.inputs[5] != "past_value." + layer)
        return no_lowering(node, fmt::format("{} inputs", node.inputs.size()),
                           fmt::format("q, k, v, no mask, past_key.{0}, past_value.{0}", layer));
    } else if (node.inputs.size() != 3 || node.int_or("is_causal", 0) != 1 ||
               node.inputs[1] != "present_key." + layer) {
      return no_lowering(node, fmt::format("{} inputs", node.inputs.size()),
                         fmt::format("causal q, present_key.{0}, present_value.{0}", layer));
    }
    return {};
  }

  Status lower_attention(const Node& node) {
    CALKIT_CHECK_OK(check_attention(node));
    LoweredOp op{"CacheAttention", "calkit", node_name(node), {}, {}, {}};
    const float usual = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.head_dim)));
    op.attributes.push_back({"scale", node.float_or("scale", usual)});
    for (std::size_t i = 0; i < 3; ++i) {
      CALKIT_TRY(const std::size_t input, value_of(node.inputs[i]));
      op.reads.push_back(signed_of(input));
    }
    const DType kv_dtype = out_.values[static_cast<std::size_t>(op.reads[1])].dtype;
    for (const Home home : {Home::kKey, Home::kValue}) op.reads.push_back(signed_of(cache_value(home, kv_dtype)));
    op.reads.push_back(signed_of(csr_value(kPastCsr)));
    CALKIT_TRY(const std::size_t y, output_value(node.outputs[0]));
    op.writes.push_back(y);
    out_.ops.push_back(std::move(op));
    ++layer_;
    return {};
  }

  Status lower_plain(const Node& node) {
    const std::string key = node.domain + ":" + node.op_type;
    if (!operators_.contains(key) && !(node.domain.empty() && operators_.contains("ai.onnx" + key)))
      return no_lowering(node, "operator " + node.op_type, "an operator of the emulated device");
    LoweredOp op{node.op_type, node.domain, node_name(node), {}, {}, {}};
    for (const onnx::Attribute& attribute : node.attributes) {
      CALKIT_TRY(calbin::OpAttribute lowered, lower_attribute(node, attribute));
      op.attributes.push_back(std::move(lowered));
    }
    for (const std::string& name : node.inputs) {
      if (name.empty()) {
        op.reads.push_back(-1);
        continue;
      }
      CALKIT_TRY(const std::size_t input, value_of(name));
      op.reads.push_back(signed_of(input));
    }
    for (const std::string& name : node.outputs) {
      CALKIT_TRY(const std::size_t output, output_value(name));
      op.writes.push_back(output);
    }
    out_.ops.push_back(std::move(op));
    return {};
  }

  Result<calbin::OpAttribute> lower_attribute(const Node& node, const onnx::Attribute& attribute) const {
    using Kind = onnx::Attribute::Kind;
    if (attribute.kind == Kind::kInt) return calbin::OpAttribute{attribute.name, attribute.i};
    if (attribute.kind == Kind::kFloat) return calbin::OpAttribute{attribute.name, attribute.f};
    if (attribute.kind == Kind::kString) return calbin::OpAttribute{attribute.name, attribute.s};
    if (attribute.kind == Kind::kInts) return calbin::OpAttribute{attribute.name, attribute.ints};
    return no_lowering(node, "attribute " + attribute.name, "an integer, float, string or list of integers");
  }

  Status outputs() {
    const auto logits = values_.find(kLogitsName);
    if (logits == values_.end() || out_.storages[out_.values[logits->second].storage].home != Home::kOutput)
      return input_error("graph", "output 'logits'", "nothing", "an output that an operator computes");
    if (layer_ != spec_.layers)
      return input_error("graph", "Attention", fmt::format("{} nodes", layer_),
                         fmt::format("{}, one a layer", spec_.layers));
    return {};
  }

  /// First write and last read of every storage; what nobody reads lives for its own op only.
  void lifetimes() {
    for (std::size_t i = 0; i < out_.ops.size(); ++i) {
      for (const std::size_t write : out_.ops[i].writes) {
        Storage& storage = out_.storages[out_.values[write].storage];
        storage.first = storage.last = i;
      }
      for (const std::int64_t read : out_.ops[i].reads)
        if (read >= 0) out_.storages[out_.values[static_cast<std::size_t>(read)].storage].last = i;
    }
  }

  static std::int64_t signed_of(std::size_t value) { return static_cast<std::int64_t>(value); }
  static std::string node_name(const Node& node) { return node.name.empty() ? node.outputs[0] : node.name; }

  bool graph_output(const std::string& name) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                       [&](const onnx::ValueInfo& output) { return output.name == name; });
  }

  std::size_t make_value(const std::string& name, DType dtype, std::vector<Extent> shape, Home home,
                         std::int64_t layer = 0) {
    out_.storages.push_back({name, home, 0, layer, 0, 0});
    out_.values.push_back({name, dtype, std::move(shape), out_.storages.size() - 1});
    values_[name] = out_.values.size() - 1;
    const auto bytes = value_bytes(out_.values.back(), options_.batch, options_.max_tokens);
    out_.storages.back().bytes = bytes.ok() ? *bytes : 0;
    return out_.values.size() - 1;
  }

  /// Type and shape of a value as inference found them.
  Result<LoweredValue> described(const std::string& name) const {
    const auto info = infos_.find(name);
    if (info == infos_.end() || !info->second->shape)
      return input_error("graph", "value '" + name + "'", "no inferred shape", "a shape");
    const auto dtype = onnx::to_dtype(info->second->type);
    if (!dtype)
      return input_error("graph", "value '" + name + "'", onnx::element_type_name(info->second->type),
                         "an element type calkit computes");
    LoweredValue out{name, *dtype, {}, 0};
    for (const onnx::Dim& dim : *info->second->shape) {
      const auto* number = std::get_if<std::int64_t>(&dim.value);
      if (number == nullptr && dim.text() != "B" && dim.text() != "S")
        return input_error("graph", "value '" + name + "'", "extent " + dim.text(), "a number, B or S");
      out.shape.push_back(number != nullptr ? Extent{*number} : Extent{dim.text()});
    }
    CALKIT_TRY(const std::uint64_t bytes, value_bytes(out, options_.batch, options_.max_tokens));
    if (bytes == 0) return input_error("graph", "value '" + name + "'", "no elements", "at least one");
    return out;
  }

  Status add_value(const std::string& name, Home home) {
    CALKIT_TRY(LoweredValue value, described(name));
    make_value(value.name, value.dtype, std::move(value.shape), home);
    return {};
  }

  Result<std::size_t> output_value(const std::string& name) {
    CALKIT_CHECK_OK(add_value(name, name == kLogitsName ? Home::kOutput : Home::kWorkspace));
    return values_.at(name);
  }

  /// A value that is known already, or an initialiser that is used for the first time.
  Result<std::size_t> value_of(const std::string& name) {
    if (const auto known = values_.find(name); known != values_.end()) return known->second;
    const auto found = initializers_.find(name);
    if (found == initializers_.end())
      return input_error("graph", "value '" + name + "'", "a use before anything computes it",
                         "an earlier node, input or initialiser");
    const auto dtype = onnx::to_dtype(found->second->type);
    if (!dtype)
      return input_error("graph", "initialiser '" + name + "'", onnx::element_type_name(found->second->type),
                         "an element type calkit computes");
    std::vector<Extent> shape;
    for (const std::int64_t extent : found->second->dims) shape.push_back({extent});
    return make_value(name, *dtype, std::move(shape), Home::kParam);
  }

  std::size_t csr_value(const std::string& csr) {
    const auto known = values_.find(csr);
    return known != values_.end() ? known->second
                                  : make_value(csr, DType::kI32, {Extent{std::string("B")}}, Home::kCsr);
  }

  /// One layer's keys or values in the first slot; the device adds the slot.
  std::size_t cache_value(Home home, DType dtype) {
    return make_value(
        fmt::format("{}_cache.{}", home == Home::kKey ? "key" : "value", layer_), dtype,
        {Extent{std::int64_t{1}}, Extent{spec_.kv_heads}, Extent{options_.context}, Extent{spec_.head_dim}}, home,
        layer_);
  }

  const onnx::Graph& graph_;
  const hf::ModelSpec& spec_;
  const LowerOptions& options_;
  std::map<std::string, const onnx::Initializer*> initializers_;
  std::map<std::string, const onnx::ValueInfo*> infos_;
  std::set<std::string> operators_;
  std::map<std::string, std::size_t> values_;
  std::map<std::string, std::string> turned_;  ///< transposed weight -> the weight
  std::int64_t layer_ = 0;
  Lowered out_;
};

}  // namespace

Result<std::uint64_t> value_bytes(const LoweredValue& value, std::int64_t batch, std::int64_t tokens) {
  Shape shape;
  for (const Extent& extent : value.shape) {
    const auto* number = std::get_if<std::int64_t>(&extent.value);
    shape.push_back(number != nullptr ? *number : std::get<std::string>(extent.value) == "B" ? batch : tokens);
  }
  const auto bytes = checked_product(shape, dtype_bytes(value.dtype));
  if (!bytes) return input_error("graph", "value '" + value.name + "'", shape_text(shape), "fewer than 2^64 bytes");
  return *bytes;
}

Result<Lowered> lower(const onnx::Model& model, const hf::ModelSpec& spec, const LowerOptions& options) {
  return Lowering(model, spec, options).run();
}

}  // namespace calkit::compile
