// Every precondition of every fusion, broken alone: that place is not fused and the refusal names the precondition, all
// other places are fused, and the graph answers as before.
#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "fusion_graphs.h"
#include "passes/feeds.h"
#include "passes/prove.h"

namespace calkit::passes {
namespace {

using onnx::Graph;
using onnx::Node;

constexpr const char* kDense = "qwen3-qknorm";
constexpr const char* kBiased = "qwen2-bias-tied-v4";
constexpr const char* kSparse = "qwen3moe-e8k2";

struct Mutation {
  std::string fusion, precondition, name;
  const char* model = kDense;
  bool decode = false, w8a8 = false;
  std::string kernel;  ///< that there is one less of
  std::function<void(Graph&)> mutate;
  bool runs = true;
  std::int64_t top_k = 0;
};
void PrintTo(const Mutation& mutation, std::ostream* out) {
  *out << mutation.fusion << " " << mutation.name;
}

/// The node that makes a value.
Node& maker(Graph& graph, const std::string& value) {
  for (Node& node : graph.nodes)
    for (const auto& output : node.outputs)
      if (output == value) return node;
  ADD_FAILURE() << "nothing makes " << value;
  return graph.nodes.front();
}
void set(Node& node, onnx::Attribute attribute) {
  std::erase_if(node.attributes, [&](const auto& known) { return known.name == attribute.name; });
  node.attributes.push_back(std::move(attribute));
}
/// The value under another name.
std::string copied(Graph& graph, const std::string& value) {
  graph.nodes.insert(graph.nodes.begin(), onnx::make_node("Identity", {value}, {value + "/copy"}));
  return value + "/copy";
}
std::string constant(Graph& graph, const std::string& name, Tensor value) {
  graph.initializers.push_back(onnx::make_initializer(name, std::move(value)));
  return name;
}
std::string ints(Graph& graph, const std::string& name, std::vector<std::int64_t> values) {
  return constant(graph, name, Tensor::of({static_cast<std::int64_t>(values.size())}, values));
}
void expose(Graph& graph, const std::string& value) {
  for (const auto& info : graph.value_info)
    if (info.name == value) return graph.outputs.push_back(info);
  ADD_FAILURE() << "no shape of " << value;
}
onnx::Initializer& weight(Graph& graph, const std::string& name) {
  for (auto& tensor : graph.initializers)
    if (tensor.name == name) return tensor;
  ADD_FAILURE() << "no initialiser " << name;
  return graph.initializers.front();
}

std::vector<Mutation> attention_mutations() {
  const std::string id = "flash-attention", kernel = "FlashAttention";
  return {
      {id, "attributes", "soft cap", kDense, false, false, kernel,
       [](Graph& g) { set(maker(g, "layer.0.attention"), onnx::attr("softcap", 5.0f)); }},
      {id, "readers", "heads are an output", kDense, false, false, kernel,
       [](Graph& g) { expose(g, "layer.0.attention"); }},
      {id, "readers", "turned heads are read elsewhere", kDense, false, false, kernel,
       [](Graph& g) { expose(g, "layer.0.attention_turned"); }},
      {id, "merged-heads", "the reshape counts tokens itself", kDense, false, false, kernel,
       [](Graph& g) {
         Node& reshape = maker(g, "layer.0.attention_merged");
         const auto width = weight(g, "shape.merged").data->data<std::int64_t>()[2];
         reshape.inputs[1] = ints(g, "other", {0, -1, width});
       }},
      {id, "mask", "a causal mask over a past", kDense, true, false, kernel,
       [](Graph& g) { set(maker(g, "layer.0.attention"), onnx::attr("is_causal", std::int64_t{1})); }},
  };
}

std::vector<Mutation> rope_mutations() {
  const std::string id = "qkv-rope-kv-scatter", kernel = "RopeScatter";
  return {
      {id, "attributes", "interleaved pairs", kDense, false, false, kernel,
       [](Graph& g) { set(maker(g, "layer.0.q_rope"), onnx::attr("interleaved", std::int64_t{1})); }},
      {id, "operands", "two tables of cosines", kDense, false, false, kernel,
       [](Graph& g) { maker(g, "layer.0.q_rope").inputs[1] = copied(g, "rope.cos"); }},
      {id, "readers", "the query before its rotation is an output", kDense, false, false, kernel,
       [](Graph& g) { expose(g, "layer.0.q_turned"); }},
      {id, "readers", "with a past: the new key is an output", kDense, true, false, "RopeScatterPast",
       [](Graph& g) { expose(g, "layer.0.k_rope"); }},
  };
}

std::vector<Mutation> expert_mutations() {
  const std::string id = "moe-experts", kernel = "CombineAdd";
  return {
      {id, "attributes", "the smallest are chosen", kSparse, false, false, kernel,
       [](Graph& g) { set(maker(g, "layer.0.router_experts"), onnx::attr("largest", std::int64_t{0})); }},
      {id, "attributes", "probabilities over tokens", kSparse, false, false, kernel,
       [](Graph& g) { set(maker(g, "layer.0.router_probabilities"), onnx::attr("axis", std::int64_t{0})); }},
      {id, "constants", "choices summed by another spelling of their axis", kSparse, false, false, kernel,
       [](Graph& g) { maker(g, "layer.0.combined").inputs[1] = ints(g, "other", {-2}); }},
      {id, "operands", "down takes the choice of another router", kSparse, false, false, kernel,
       [](Graph& g) {
         Node again = maker(g, "layer.0.router_experts");
         again.name = "again";
         again.outputs = {"again.values", "again"};
         maker(g, "layer.0.experts_down_weights").inputs[1] = "again";
         g.nodes.push_back(std::move(again));
       }},
      {id, "readers", "the sum is an output", kSparse, false, false, kernel,
       [](Graph& g) { expose(g, "layer.0.combined"); }},
      {id, "tokens", "rows that are half a token", kSparse, false, false, kernel,
       [](Graph& g) {
         const auto width = weight(g, "model.norm.weight").dims[0];
         maker(g, "layer.0.tokens").inputs[1] = ints(g, "other", {-1, width / 2});
       },
       false},
      {id, "choice", "more choices than experts", kSparse, false, false, kernel,
       [](Graph& g) { maker(g, "layer.0.router_experts").inputs[1] = ints(g, "other", {99}); }, false},
      {id, "stacks", "a stack that is computed", kSparse, false, false, kernel,
       [](Graph& g) {
         Node& gather = maker(g, "layer.0.experts_up_weights");
         const std::string computed = copied(g, gather.inputs[0]);
         maker(g, "layer.0.experts_up_weights").inputs[0] = computed;
       }},
      {id, "residual", "a residual for each channel only", kSparse, false, false, kernel,
       [](Graph& g) {
         Node& add = maker(g, "layer.0.out");
         const auto width = weight(g, "model.norm.weight").dims[0];
         const std::string vector = constant(
             g, "other", Tensor::of<float>({width}, std::vector<float>(static_cast<std::size_t>(width), 0.5f)));
         for (std::string& input : add.inputs)
           if (input != "layer.0.mlp_out") input = vector;
       }},
  };
}

std::vector<Mutation> projection_mutations() {
  const std::string id = "rmsnorm-quantise-gemm";
  const auto quantised = [](Graph& g, const std::string& op) -> Node& {
    for (Node& node : g.nodes)
      if (node.op_type == op && node.outputs[0].find("w8a8") != std::string::npos) return node;
    ADD_FAILURE() << "no " << op;
    return g.nodes.front();
  };
  return {
      {id, "attributes", "a norm over two axes' names for one", kDense, false, false, "RmsNorm",
       [](Graph& g) { set(maker(g, "layer.0.input_norm"), onnx::attr("axis", std::int64_t{2})); }},
      {id, "attributes", "another type in the norm", kDense, false, false, "RmsNorm",
       [](Graph& g) { set(maker(g, "layer.0.input_norm"), onnx::attr("stash_type", std::int64_t{16})); }, false},
      {id, "constants", "tokens quantised to 63 levels", kDense, false, true, "RmsNormQuantize",
       [quantised](Graph& g) {
         Node& divide = quantised(g, "Div");
         divide.inputs[1] = constant(g, "other", Tensor::of<float>({}, {63.0f}));
       }},
      {id, "operands", "one value measured, another quantised", kDense, false, true, "RmsNormQuantize",
       [quantised](Graph& g) {
         const std::string x = quantised(g, "Abs").inputs[0];
         const std::string other = copied(g, x);
         quantised(g, "Abs").inputs[0] = other;
       }},
      {id, "readers", "the product is an output before its residual is added", kDense, false, false, "LinearAdd",
       [](Graph& g) { expose(g, "layer.0.attn_out"); }},
      {id, "readers", "the norm is read before it is quantised", kDense, false, true, "RmsNormQuantize",
       [](Graph& g) { expose(g, "layer.0.input_norm"); }},
      {id, "norm-weight", "a norm whose weight is computed", kDense, false, false, "RmsNorm",
       [](Graph& g) {
         const std::string computed = copied(g, maker(g, "layer.0.input_norm").inputs[1]);
         maker(g, "layer.0.input_norm").inputs[1] = computed;
       }},
      {id, "weight", "a weight that is computed", kDense, false, false, "Linear",
       [](Graph& g) {
         const std::string turned = maker(g, "layer.0.gate").inputs[1];
         const std::string computed = copied(g, maker(g, turned).inputs[0]);
         maker(g, turned).inputs[0] = computed;
       }},
      {id, "scales", "scales that are computed", kDense, false, true, "QuantizedLinear",
       [](Graph& g) {
         Node& scaled = maker(g, "layer.0.gate");
         const std::string name = scaled.inputs[1];
         maker(g, "layer.0.gate").inputs[1] = copied(g, name);
       }},
      {id, "sums-fit", "sums that 32 bits cannot hold", kDense, false, true, "QuantizedLinear",
       [](Graph& g) {
         for (auto& tensor : g.initializers)
           if (tensor.name == "model.layers.0.mlp.gate_proj.weight.int8") tensor.dims[1] = 133153;
       },
       false},
      {id, "addend", "a bias with an axis too many", kBiased, false, false, "LinearAdd",
       [](Graph& g) {
         for (auto& tensor : g.initializers)
           if (tensor.name == "model.layers.0.self_attn.k_proj.bias") {
             tensor.dims.insert(tensor.dims.begin(), 1);
             tensor.data = tensor.data->reshaped(tensor.dims);
           }
       }},
  };
}

std::vector<Mutation> other_mutations() {
  return {
      {"swiglu-down-residual", "operands", "the gate of another value", kDense, false, false, "SwiGlu",
       [](Graph& g) { maker(g, "layer.0.gate_sigmoid").inputs[0] = copied(g, "layer.0.gate"); }},
      {"swiglu-down-residual", "readers", "the gated value is an output", kDense, false, false, "SwiGlu",
       [](Graph& g) { expose(g, "layer.0.gate_silu"); }},
      {"head-topk", "readers", "the logits are read by another node", kDense, false, false, "LinearTopK",
       [](Graph& g) {
         onnx::ValueInfo more = g.outputs.front();
         g.nodes.push_back(onnx::make_node("Identity", {more.name}, {"more"}));
         more.name = "more";
         g.outputs.push_back(more);
       },
       true, 5},
      {"head-topk", "vocabulary", "more tokens than there are", kDense, false, false, "LinearTopK", [](Graph&) {}, true,
       100'000},
  };
}

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> out;
  for (const auto& part :
       {attention_mutations(), rope_mutations(), expert_mutations(), projection_mutations(), other_mutations()})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

struct Fused {
  onnx::Model model;
  std::vector<fusion::Refusal> refused;  ///< of the one fusion
};
/// The catalogue up to and with one fusion.
Fused fused_up_to(const std::string& id, onnx::Model model, std::int64_t top_k) {
  Fused out;
  for (const auto& entry : fusion::catalogue()) {
    auto applied = fusion::apply(entry.id, std::move(model), top_k > 0 ? std::optional(top_k) : std::nullopt);
    EXPECT_TRUE(applied.ok()) << applied.error().message;
    out.model = std::move(applied->model);
    out.refused = std::move(applied->refused);
    if (entry.id == id) break;
    model = ready(std::move(out.model));
  }
  return out;
}

class Mutations : public testing::TestWithParam<Mutation> {};

TEST_P(Mutations, IsNotFusedAndAnswersTheSame) {
  const Mutation& mutation = GetParam();
  const auto phase = mutation.decode ? model::Phase::kDecode : model::Phase::kPrefill;
  onnx::Model good = ready(graph_of(mutation.model, phase));
  if (mutation.w8a8) good = quantized(std::move(good));
  onnx::Model bad = good;
  mutation.mutate(bad.graph);
  bad.graph.nodes = put_in_order(bad).model.graph.nodes;
  const std::string op = "calkit.fused:" + mutation.kernel;

  const std::int64_t fair = mutation.top_k > 0 ? 5 : 0;
  const Fused clean = fused_up_to(mutation.fusion, good, fair),
              broken = fused_up_to(mutation.fusion, bad, mutation.top_k);
  EXPECT_TRUE(clean.refused.empty()) << clean.refused.front().precondition << " at " << clean.refused.front().node;
  EXPECT_EQ(counts(broken.model)[op], counts(clean.model)[op] - 1);
  std::set<std::string> reasons;
  for (const auto& refusal : broken.refused) reasons.insert(std::string(refusal.precondition));
  EXPECT_THAT(reasons, testing::Contains(mutation.precondition));
  if (!mutation.runs) return;

  const auto prompts = drawn_prompts(2, vocabulary(bad));
  std::vector<Feed> feeds;
  for (const auto& prompt : prompts) {
    auto feed = feed_for(bad, prompt);
    ASSERT_TRUE(feed.ok()) << feed.error().message;
    feeds.push_back(std::move(*feed));
  }
  const auto before = answers_of(bad, feeds, 1), after = answers_of(ready(broken.model), feeds, 1);
  ASSERT_TRUE(before.ok()) << before.error().message;
  ASSERT_TRUE(after.ok()) << after.error().message;
  const auto proof = prove(bad, feeds, *before, *after);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_LE(proof->worst_nmse(), 1e-12);
}

std::string test_name(const testing::TestParamInfo<Mutation>& test) {
  std::string out = test.param.fusion + "_" + test.param.name;
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return out;
}
INSTANTIATE_TEST_SUITE_P(Each, Mutations, testing::ValuesIn(all_mutations()), test_name);

TEST(Catalogue, EveryPreconditionHasAMutation) {
  std::set<std::pair<std::string, std::string>> covered;
  for (const Mutation& mutation : all_mutations()) covered.emplace(mutation.fusion, mutation.precondition);
  for (const auto& entry : fusion::catalogue())
    for (const auto& precondition : entry.preconditions)
      EXPECT_TRUE(covered.contains({std::string(entry.id), std::string(precondition.id)}))
          << entry.id << " " << precondition.id;
}

TEST(Catalogue, EveryOperatorBelongsToAFusionAndHasAFunction) {
  std::set<std::string> listed;
  for (const auto& entry : fusion::catalogue())
    for (const auto kernel : entry.kernels) {
      listed.emplace(kernel);
      EXPECT_NE(fusion::kernel_function(kernel), nullptr) << kernel;
    }
  for (const auto& function : fusion::kernel_functions()) EXPECT_TRUE(listed.contains(function.name)) << function.name;
}

}  // namespace
}  // namespace calkit::passes
