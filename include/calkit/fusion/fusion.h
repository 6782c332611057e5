#pragma once
/// Fusions: nodes of a graph that one kernel of the device takes together. A fusion puts calls of the domain
/// `calkit.fused` in the place of what it found. Each operator of that domain comes with the graph as a model-local
/// function over standard operators: what it means, what ONNX's checker and other runtimes run, and the fallback of a
/// device without the kernel. docs/formats/fusion.md lists them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/onnx/model.h"

namespace calkit::fusion {

constexpr const char* kDomain = "calkit.fused";
constexpr std::int64_t kDomainVersion = 1;
constexpr std::int64_t kOpset =
    23;  ///< ai.onnx version that the functions are written in; graphs need it or a later one

/// Every operator of the domain.
const std::vector<onnx::Function>& kernel_functions();
const onnx::Function* kernel_function(std::string_view name);  ///< nullptr: no such operator
/// What a report counts as one thing: "flash attention" of FlashAttention. Empty: nothing of that kind.
std::string_view kernel_group(std::string_view name);

/// What has to hold before a fusion takes a place of the graph. Each has a mutation in the tests that breaks it alone.
struct Precondition {
  std::string_view id, text;
};

/// One fusion of the catalogue. Texts are whole sentences for people.
struct Fusion {
  std::string_view id, title;
  std::vector<std::string_view> kernels;  ///< operators that it can put in
  std::string_view pattern;               ///< what it looks for
  std::vector<Precondition> preconditions;
  std::string_view shapes, dtypes;
  double bound_f32 = 0, bound_bf16 = 0;  ///< NMSE of each kernel's results against its function's
  std::string_view failure;              ///< where it stops being right or useful
  std::string_view sync;                 ///< what it does to the exchange between chiplets
  std::string_view transfer;             ///< what it does to the bytes between host and device
};
/// In the order in which they are applied.
const std::vector<Fusion>& catalogue();
Status check_id(std::string_view id);  ///< kUsage: no such fusion

/// A place where a fusion looked and did not fuse.
struct Refusal {
  std::string node;               ///< where its search begins
  std::string_view precondition;  ///< the first that does not hold
};

/// A place that was fused. Values that go through memory are named once for each time they are written or read; views
/// and weights that are only turned are left out, and of a table that rows are gathered from the rows are named.
struct Site {
  std::vector<std::string> kernels;  ///< operators put in
  std::vector<std::string> before, after;
};

struct Applied {
  onnx::Model model;
  std::vector<Site> sites;
  std::vector<Refusal> refused;
};
/// @param id of the catalogue. @param top_k of head-topk, which needs it; others ignore it. Nodes of the model that
/// comes back are in the order of the file, new ones last: put them in order before they run. kUsage: no such fusion.
/// kInput: ai.onnx below kOpset.
Result<Applied> apply(std::string_view id, onnx::Model model, std::optional<std::int64_t> top_k = {});

/// Projections in W8A8: each MatMul of a value by a transposed 2-D weight [N, K] gets a weight in int8, a scale for
/// each row of it (largest magnitude at 127, halves to even), and activations quantised token by token while the graph
/// runs. Left out, and named in `refused`: routers of experts (whose choice would change), weights that are no F32,
/// BF16 or F16 initialiser. Weights without data stay without.
struct Quantized {
  onnx::Model model;
  std::uint64_t projections = 0, tokens_quantized = 0;  ///< products; values that are quantised
  std::vector<Refusal> refused;
};
Result<Quantized> quantize_projections(onnx::Model model);

}  // namespace calkit::fusion
