#include "fuse_cost.h"

#include <algorithm>

namespace calkit::passes {
namespace {

using inventory::Formula;

constexpr std::int64_t kTokens = 16, kColumns = 64, kKeys = 64;
constexpr std::int64_t kWide = 4;  // sums and scales are F32

class Sizes {
 public:
  void take(const onnx::Model& model) {
    for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.value_info})
      for (const onnx::ValueInfo& value : *list)
        if (value.shape && value.type != 0) known_.insert_or_assign(value.name, bytes_of(value));
    for (const auto& tensor : model.graph.initializers)
      known_.insert_or_assign(tensor.name, Formula(static_cast<std::int64_t>(tensor.bytes)));
  }
  Formula sum(const std::vector<std::string>& values) const {
    Formula out;
    for (const std::string& name : values) {
      const auto found = known_.find(name);
      out += found == known_.end() ? Formula::unknown() : found->second;
    }
    return out;
  }

 private:
  static Formula bytes_of(const onnx::ValueInfo& value) {
    Formula out(static_cast<std::int64_t>(onnx::packed_bytes(value.type, 1)));
    for (const onnx::Dim& dim : *value.shape) {
      if (const auto* number = std::get_if<std::int64_t>(&dim.value))
        out = out * Formula(*number);
      else if (const auto* symbol = std::get_if<std::string>(&dim.value))
        out = out * Formula::parse(*symbol);
      else
        return Formula::unknown();
    }
    return out;
  }
  std::map<std::string, Formula> known_;
};

}  // namespace

Traffic traffic_of(const std::vector<fusion::Site>& sites, const onnx::Model& before, const onnx::Model& after) {
  Sizes sizes;
  sizes.take(after);
  sizes.take(before);
  Traffic out;
  for (const fusion::Site& site : sites) {
    out.before += sizes.sum(site.before);
    out.after += sizes.sum(site.after);
  }
  return out;
}

std::optional<std::uint64_t> sram_bytes(const std::string& kernel, const std::map<std::string, Shape>& operands,
                                        std::size_t element_bytes, std::int64_t top_k) {
  const auto unit = static_cast<std::int64_t>(element_bytes);
  const auto extent = [&](const char* operand, std::size_t from_end) -> std::int64_t {
    const auto found = operands.find(operand);
    return found == operands.end() || found->second.size() < from_end
               ? 0
               : *(found->second.end() - static_cast<std::ptrdiff_t>(from_end));
  };
  const auto bytes = [](std::int64_t n) { return std::optional(static_cast<std::uint64_t>(n)); };
  const std::int64_t k = std::max(extent("w", 1), extent("x", 1));
  if (kernel == "RmsNorm") return bytes(2 * kTokens * k * unit + k * unit);
  if (kernel == "RmsNormQuantize") return bytes(kTokens * (k * unit + k + kWide) + k * unit);
  if (kernel == "QuantizePerToken") return bytes(kTokens * (k * unit + k + kWide));
  if (kernel.starts_with("QuantizedLinear")) {
    const std::int64_t best = kernel.ends_with("TopK") ? kTokens * top_k * (kWide + 8) : 0;
    return bytes(kTokens * (k + kWide) + kColumns * (k + kWide) + kTokens * kColumns * (kWide + unit) + best);
  }
  if (kernel.starts_with("Linear")) {
    const std::int64_t best = kernel.ends_with("TopK") ? kTokens * top_k * (kWide + 8) : 0;
    return bytes(kTokens * k * unit + kColumns * k * unit + kTokens * kColumns * (kWide + unit) + best);
  }
  if (kernel.starts_with("RopeScatter")) return bytes(kTokens * extent("query", 1) * unit * 3);
  if (kernel == "FlashAttention") {
    const std::int64_t d = extent("query", 1), v = extent("value", 1);
    return bytes(kTokens * d * unit + kKeys * (d + v) * unit + kTokens * kKeys * kWide + kTokens * (v + 2) * kWide);
  }
  if (kernel.starts_with("SwiGlu"))
    return bytes(3 * kTokens * (kernel == "SwiGlu" ? kColumns : extent("gate", 1)) * unit);
  if (kernel.starts_with("RouterTopK"))
    return bytes(kTokens * extent("logits", 1) * kWide + kTokens * top_k * (kWide + 8));
  if (kernel == "GroupedDense") {
    const std::int64_t inner = extent("stack", 1);
    return bytes(kTokens * inner * unit + kColumns * inner * unit + kTokens * kColumns * kWide);
  }
  if (kernel == "CombineAdd") return bytes(kTokens * extent("residual", 1) * (unit + kWide));
  return std::nullopt;
}

}  // namespace calkit::passes
