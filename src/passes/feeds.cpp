#include "feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "calkit/base/checked.h"
#include "calkit/frozen/baseline.h"
#include "calkit/model/contract_check.h"
#include "calkit/tensor/dtype.h"

namespace calkit::passes {
namespace {

constexpr std::size_t kLongest = 512;
constexpr std::uint64_t kMostElements = 1ull << 28;  // of one drawn input

using model::Port;
using model::PortRole;

/// The same numbers on every machine: std::normal_distribution is not told by the standard.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  float unit() { return static_cast<float>(static_cast<double>(engine_() >> 11) / 4503599627370496.0 - 1.0); }

 private:
  std::mt19937_64 engine_;
};

Result<Tensor> filled(const onnx::ValueInfo& input, const Shape& shape, const std::function<double()>& next) {
  const auto dtype = onnx::to_dtype(input.type);
  const auto count = checked_product(shape);
  if (!dtype || !count || *count > kMostElements)
    return input_error("graph", "input '" + input.name + "'",
                       fmt::format("{} {}", onnx::element_type_name(input.type), shape_text(shape)),
                       fmt::format("an element type that can be computed, at most {} elements", kMostElements));
  std::vector<float> values(static_cast<std::size_t>(*count));
  for (float& value : values) value = static_cast<float>(next());
  if (*dtype == DType::kF64) return Tensor::of<double>(shape, {values.begin(), values.end()});
  if (*dtype == DType::kF32 || *dtype == DType::kF16 || *dtype == DType::kBF16)
    return convert(Tensor::of<float>(shape, values), *dtype);
  CALKIT_TRY(Tensor out, Tensor::zeros(*dtype, shape));
  const std::size_t unit = dtype_bytes(*dtype);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto whole = static_cast<std::int64_t>(values[i]);
    std::copy_n(reinterpret_cast<const std::byte*>(&whole), unit, out.mutable_raw() + i * unit);  // little-endian
  }
  return out;
}

class Feeder {
 public:
  Feeder(const onnx::Model& model, const PromptTokens& prompt)
      : model_(model), prompt_(prompt), draw_(prompt.ids.size()) {
    std::vector<onnx::ValueInfo> fed;
    for (const auto& input : model.graph.inputs)
      if (model.graph.initializer(input.name) == nullptr) fed.push_back(input);
    ports_ = model::input_ports(fed);
  }

  Result<Feed> run() {
    set_axes();
    Feed out{prompt_.id, {}};
    for (const Port& port : ports_) {
      CALKIT_TRY(Tensor value, value_of(port), fmt::format("making inputs from '{}'", prompt_.id));
      out.inputs.emplace(port.value.name, std::move(value));
    }
    return out;
  }

 private:
  const Port* first(PortRole role) const {
    for (const Port& port : ports_)
      if (port.role == role) return &port;
    return nullptr;
  }
  static const onnx::Dim* axis(const Port* port, std::size_t at) {
    return port && port->value.shape && at < port->value.shape->size() ? &(*port->value.shape)[at] : nullptr;
  }
  static std::optional<std::int64_t> number(const onnx::Dim* dim) {
    const auto* found = dim ? std::get_if<std::int64_t>(&dim->value) : nullptr;
    return found ? std::optional(*found) : std::nullopt;
  }
  void name_axis(const onnx::Dim* dim, std::int64_t extent) {
    if (dim && std::holds_alternative<std::string>(dim->value)) symbols_[dim->text()] = extent;
  }

  /// Batch 1; a decode graph has the prompt but its last token as past, any other graph no past.
  void set_axes() {
    const Port *tokens = first(PortRole::kTokens), *past = first(PortRole::kPastKey);
    const auto length = static_cast<std::int64_t>(prompt_.ids.size());
    const auto fixed = number(axis(tokens, 1));
    new_tokens_ = fixed.value_or(past ? 1 : length);
    past_ = past ? number(axis(past, 2)).value_or(std::max<std::int64_t>(1, length - new_tokens_)) : 0;
    batch_ = number(axis(tokens, 0)).value_or(1);
    name_axis(axis(tokens, 0), batch_);
    name_axis(axis(past, 0), batch_);
    name_axis(axis(tokens, 1), new_tokens_);
    name_axis(axis(past, 2), past_);
  }

  Result<Shape> shape_of(const Port& port) {
    if (!port.value.shape)
      return input_error("graph", "input '" + port.value.name + "'", "a shape of unknown rank", "a stated shape");
    Shape out;
    for (const onnx::Dim& dim : *port.value.shape) {
      if (const auto extent = number(&dim))
        out.push_back(*extent);
      else if (const auto known = symbols_.find(dim.text()); known != symbols_.end())
        out.push_back(known->second);
      else
        out.push_back(port.role == PortRole::kMask && out.size() + 1 == port.value.shape->size() ? past_ + new_tokens_
                      : out.empty() && first(PortRole::kTokens)                                  ? batch_
                                                                                                 : 2);
    }
    return out;
  }

  Result<Tensor> value_of(const Port& port) {
    CALKIT_TRY(const Shape shape, shape_of(port));
    std::size_t at = 0;
    const auto column = [&] { return static_cast<std::int64_t>(at++) % std::max<std::int64_t>(1, new_tokens_); };
    switch (port.role) {
      case PortRole::kTokens:
        return filled(port.value, shape, [&] {
          const auto i = static_cast<std::size_t>(past_ + column());
          return static_cast<double>(prompt_.ids[std::min(i, prompt_.ids.size() - 1)]);
        });
      case PortRole::kPositions:
        return filled(port.value, shape, [&] { return static_cast<double>(past_ + column()); });
      case PortRole::kMask:
        return filled(port.value, shape, [] { return 1.0; });
      case PortRole::kLength:
        return filled(port.value, shape, [&] {
          return static_cast<double>(port.value.name.find("last") == std::string::npos ? past_ + new_tokens_
                                                                                       : new_tokens_ - 1);
        });
      default:
        break;
    }
    const bool floats = onnx::to_dtype(port.value.type) && !is_integer(port.value.type);
    return filled(port.value, shape,
                  [&] { return floats ? static_cast<double>(draw_.unit()) : static_cast<double>(draw_.below(2)); });
  }
  static bool is_integer(onnx::ElementType type) { return type != 1 && type != 10 && type != 11 && type != 16; }

  const onnx::Model& model_;
  const PromptTokens& prompt_;
  Draw draw_;
  std::vector<Port> ports_;
  std::map<std::string, std::int64_t> symbols_;
  std::int64_t batch_ = 1, new_tokens_ = 1, past_ = 0;
};

}  // namespace

Result<std::vector<PromptTokens>> prompts_of(const std::filesystem::path& baseline, std::size_t count) {
  CALKIT_CHECK_OK(frozen::require_verified(baseline), "reading --baseline");
  CALKIT_TRY(const frozen::Reference reference, frozen::read_reference(baseline), "reading --baseline");
  std::vector<PromptTokens> all;
  for (const auto& item : reference.items)
    if (!item.ids.empty() && item.ids.size() <= kLongest)
      all.push_back({item.prompt.id, {item.ids.begin(), item.ids.end()}});
  if (all.empty())
    return input_error(baseline.string(), "reference", "no prompt of 1 to 512 tokens", "at least one",
                       "freeze the baseline with more prompts");
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ids.size() < b.ids.size(); });
  if (all.size() <= count) return all;
  std::vector<PromptTokens> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(all[count == 1 ? 0 : i * (all.size() - 1) / (count - 1)]);
  return out;
}

std::vector<PromptTokens> drawn_prompts(std::size_t count, std::int64_t vocab) {
  std::vector<PromptTokens> out;
  for (std::size_t i = 0; i < count; ++i) {
    Draw draw(i + 1);
    PromptTokens made{fmt::format("seed {}", i + 1), {}};
    const std::size_t length = count == 1 ? 17 : 1 + i * 32 / (count - 1);
    for (std::size_t j = 0; j < length; ++j) made.ids.push_back(draw.below(vocab));
    out.push_back(std::move(made));
  }
  return out;
}

std::int64_t vocabulary(const onnx::Model& model) {
  const auto ports = model::input_ports(model.graph.inputs);
  for (const Port& port : ports) {
    if (port.role != PortRole::kTokens) continue;
    for (const onnx::Node& node : model.graph.nodes) {
      if (node.op_type != "Gather" || node.inputs.size() != 2 || node.inputs[1] != port.value.name) continue;
      const onnx::Initializer* table = model.graph.initializer(node.inputs[0]);
      if (table != nullptr && !table->dims.empty() && table->dims[0] > 0) return table->dims[0];
    }
  }
  for (const Port& port : model::output_ports(model.graph.outputs)) {
    if (port.role != PortRole::kLogits || !port.value.shape || port.value.shape->empty()) continue;
    if (const auto* extent = std::get_if<std::int64_t>(&port.value.shape->back().value); extent && *extent > 0)
      return *extent;
  }
  return 2;
}

Result<Feed> feed_for(const onnx::Model& model, const PromptTokens& prompt) {
  return Feeder(model, prompt).run();
}

Result<Prompts> choose_prompts(const std::optional<std::filesystem::path>& baseline, std::size_t count,
                               const onnx::Model& model) {
  if (!baseline) return Prompts{drawn_prompts(count, vocabulary(model)), "seed"};
  Prompts out;
  CALKIT_TRY(out.prompts, prompts_of(*baseline, count));
  out.from = baseline->string();
  return out;
}

}  // namespace calkit::passes
