#include "fused_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "calkit/base/hash.h"

namespace calkit::exec {
namespace {

// The first digits of the digest of each body, which fusion/kernels.cpp writes. unit.passes holds them against it.
constexpr std::pair<std::string_view, std::string_view> kBodies[] = {
    {"CombineAdd", "1fb882c6a27d3310"},
    {"Dispatch", "369caf7597065cad"},
    {"FlashAttention", "4c4defdcbd7fe13b"},
    {"GroupedDense", "5c3bb86f0d46729b"},
    {"Linear", "b10c545b06dd6db2"},
    {"LinearAdd", "e8a471eac873c0df"},
    {"LinearAddAdd", "e75c0635ff8d187c"},
    {"LinearTopK", "949d1a7958e191df"},
    {"QuantizePerToken", "27e8a4efa5210a38"},
    {"QuantizedLinear", "0ad93f4c5b7a250e"},
    {"QuantizedLinearAdd", "766d9b48c1f93d96"},
    {"QuantizedLinearAddAdd", "c625b0ba7c35fe6b"},
    {"QuantizedLinearTopK", "7dfe17bd3d860c70"},
    {"RmsNorm", "62de94f22ff9f26a"},
    {"RmsNormQuantize", "685936fe7d953b37"},
    {"RopeScatter", "1c9c5fc565df6d55"},
    {"RopeScatterPast", "1919b923c827265a"},
    {"RouterTopK", "7a8575aec36f5b8b"},
    {"RouterTopKScaled", "b1cd213c4e8df5c5"},
    {"SwiGlu", "579bc010c43a430b"},
    {"SwiGluQuantize", "ee8c1abc3a1751ff"},
};

std::string attribute_text(const onnx::Attribute& a) {
  std::string floats;
  for (const float f : a.floats) floats += fmt::format("{:x},", std::bit_cast<std::uint32_t>(f));
  // A tensor or a graph among the attributes is in no body of the domain: it makes the text another one.
  return fmt::format("{}={}:{:x}:{}:{}:{}:{}:{}:{}:{}", a.name, static_cast<int>(a.kind),
                     std::bit_cast<std::uint32_t>(a.f), a.i, a.s, floats, fmt::join(a.ints, ","),
                     fmt::join(a.strings, ","), a.ref,
                     a.tensor           ? "tensor"
                     : a.graphs.empty() ? ""
                                        : "graph");
}

std::string attributes_text(const std::vector<onnx::Attribute>& attributes) {
  std::vector<std::string> out;
  for (const auto& attribute : attributes) out.push_back(attribute_text(attribute));
  std::sort(out.begin(), out.end());
  return fmt::format("{}", fmt::join(out, ";"));
}

}  // namespace

std::string fused_digest(const onnx::Function& function) {
  std::vector<std::string> required = function.attribute_names;
  std::sort(required.begin(), required.end());
  std::string text =
      fmt::format("{}({})->({})<{}>{}\n", function.name, fmt::join(function.inputs, ","),
                  fmt::join(function.outputs, ","), fmt::join(required, ","), attributes_text(function.attributes));
  for (const auto& [domain, version] : function.opsets)
    text += fmt::format("{} {}\n", domain == "ai.onnx" ? "" : domain, version);
  for (const auto& node : function.nodes)
    text += fmt::format("{}:{}({})->({}){}\n", node.domain == "ai.onnx" ? "" : node.domain, node.op_type,
                        fmt::join(node.inputs, ","), fmt::join(node.outputs, ","), attributes_text(node.attributes));
  return sha256_hex(text).substr(0, 16);
}

bool has_fused_kernel(const onnx::Function& function) {
  if (function.domain != "calkit.fused") return false;
  for (const auto& [name, digest] : kBodies)
    if (name == function.name) return fused_digest(function) == digest;
  return false;
}

}  // namespace calkit::exec
