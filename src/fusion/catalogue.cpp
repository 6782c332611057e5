#include "calkit/fusion/fusion.h"

namespace calkit::fusion {
namespace {

constexpr Precondition kAttributes{"attributes", "every attribute is the one of the pattern, defaults included"};
constexpr Precondition kConstants{"constants", "every constant of the pattern has its value"};
constexpr Precondition kOperands{"operands", "where the pattern reads one value in several places, it is one value"};
constexpr Precondition kReaders{"readers",
                                "what disappears is no output of the graph and read by nothing outside the pattern"};

constexpr std::string_view kFloats = "F32, BF16";
constexpr double kExact = 0, kRounding32 = 1e-12, kRounding16 = 1e-5;

Fusion flash_attention() {
  Fusion out;
  out.id = "flash-attention";
  out.title = "Attention with its heads merged: short prefill, long prefill, decode";
  out.kernels = {"FlashAttention"};
  out.pattern =
      "Attention, Transpose to [B, S, H, D], Reshape to [B, S, H*D]; with a past, its joining becomes a Concat of its "
      "own";
  out.preconditions = {kAttributes,
                       kReaders,
                       {"merged-heads", "the Reshape keeps batch and tokens and merges exactly heads and their width"},
                       {"mask", "with a past there is no causal mask: every new token sees every key"}};
  out.shapes = "query [B, H, S, D], key and value [B, KVH, T, D], KVH divides H; any B, S, T";
  out.dtypes = kFloats;
  out.bound_f32 = kRounding32;
  out.bound_bf16 = kRounding16;
  out.failure =
      "A mask, a soft cap, a window or another softmax type is refused. In a short prefill scores of a block fit the "
      "SRAM; beyond that keys go by in blocks, and the sums of blocks round differently from one pass over all keys.";
  out.sync = "None: heads are split over the chiplets, each has its own keys.";
  out.transfer = "None to the host; scores [B, H, S, T] are never written to memory.";
  return out;
}

Fusion rope_scatter() {
  Fusion out;
  out.id = "qkv-rope-kv-scatter";
  out.title = "Heads of Q, K and V turned, RoPE on Q and K, new keys and values put into the cache";
  out.kernels = {"RopeScatter", "RopeScatterPast"};
  out.pattern =
      "Transpose and RotaryEmbedding of query and key, Transpose of value, Concat with the past where there is one, "
      "all "
      "read by one FlashAttention";
  out.preconditions = {kAttributes, kOperands, kReaders};
  out.shapes = "query [B, S, H, D], key and value [B, S, KVH, D], D even; past [B, KVH, P, D]";
  out.dtypes = kFloats;
  out.bound_f32 = kExact;
  out.bound_bf16 = kRounding16;
  out.failure =
      "Interleaved pairs or a partial rotation are refused. A cache that is full is an error of the device, not of the "
      "graph: P + S may not pass the capacity that the service manifest states.";
  out.sync = "None: a chiplet rotates and stores the heads it has.";
  out.transfer = "None to the host; the past is not copied at each token, new rows are written where they belong.";
  return out;
}

Fusion experts() {
  Fusion out;
  out.id = "moe-experts";
  out.title = "Experts: top-k, dispatch, grouped products, combination with the residual";
  out.kernels = {"Dispatch", "RouterTopK", "RouterTopKScaled", "GroupedDense", "SwiGlu", "CombineAdd"};
  out.pattern =
      "Softmax and TopK over the router's logits (scaled to sum 1 or not), three stacks of weights gathered by the "
      "choice and multiplied, a gated unit between them, the weighted sum added to the residual";
  out.preconditions = {kAttributes,
                       kConstants,
                       kOperands,
                       kReaders,
                       {"tokens", "rows are the tokens: [B, S, H] becomes [B*S, H]"},
                       {"choice", "k is a constant from 1 to the number of experts"},
                       {"stacks", "weights are constant stacks [E, F, H], [E, F, H] and [E, H, F]"},
                       {"residual", "the residual has the shape of the layer's input"}};
  out.shapes = "x [B, S, H], E experts of width F, k of them for a token";
  out.dtypes = kFloats;
  out.bound_f32 = kRounding32;
  out.bound_bf16 = kRounding16;
  out.failure =
      "Two experts of equal probability: the lower number is taken. In BF16 a near tie may fall the other way than in "
      "a "
      "peer, and the token then takes other weights; compare with the router's margin before you call it a fault.";
  out.sync =
      "Split by shards of every expert (tensor parallel): one exchange of [B*S, H] after the combination. Split by "
      "experts: "
      "tokens are sent to where their experts are and back, 2*B*S*k*H values.";
  out.transfer =
      "None to the host; without grouping each token copies k experts' weights, with it each expert is read once.";
  return out;
}

Fusion projections() {
  Fusion out;
  out.id = "rmsnorm-quantise-gemm";
  out.title = "RMSNorm, quantisation of its result, products with constant weights, bias and residual";
  out.kernels = {"RmsNorm",         "RmsNormQuantize",    "QuantizePerToken",     "Linear", "LinearAdd", "LinearAddAdd",
                 "QuantizedLinear", "QuantizedLinearAdd", "QuantizedLinearAddAdd"};
  out.pattern =
      "RMSNormalization, or the seven operators that spell it out; the quantisation of each token to int8; MatMul or "
      "MatMulInteger by a transposed weight, and the Adds behind it";
  out.preconditions = {
      kAttributes,
      kConstants,
      kOperands,
      kReaders,
      {"norm-weight", "the norm is over the last axis, its weight is a constant vector of that extent"},
      {"weight", "the weight is a constant matrix [N, K]"},
      {"scales", "there is a constant scale for each row of the quantised weight: [N]"},
      {"sums-fit", "K is at most 133152, so that sums of K products of int8 fit 32 bits"},
      {"addend", "what is added is a constant bias [N] or a value of the product's own shape"}};
  out.shapes = "x [..., K], w [N, K] as checkpoints keep it";
  out.dtypes = "F32, BF16; quantised: int8 weights and activations, sums in int32, scales in F32";
  out.bound_f32 = kRounding32;
  out.bound_bf16 = kRounding16;
  out.failure =
      "Activations that are not finite cannot be quantised: an error. An outlier in a token widens its step, and all "
      "other "
      "values of that token lose digits; calibration shows where.";
  out.sync =
      "Split over columns (Q, K, V, gate, up): none. Split over rows (O, down): one exchange of [B, S, H] before bias "
      "and "
      "residual are added, so those may be added on one chiplet only.";
  out.transfer =
      "None to the host; the normalised value is written once as int8 and a scale, instead of at full width.";
  return out;
}

Fusion gate() {
  Fusion out;
  out.id = "swiglu-down-residual";
  out.title = "SwiGLU between gate/up and down, quantised where down wants it";
  out.kernels = {"SwiGlu", "SwiGluQuantize"};
  out.pattern =
      "gate times its own Sigmoid, times up; the product with the down weights takes the residual with it (LinearAdd)";
  out.preconditions = {kOperands, kReaders};
  out.shapes = "gate and up [..., F]";
  out.dtypes = kFloats;
  out.bound_f32 = kRounding32;
  out.bound_bf16 = kRounding16;
  out.failure = "None known: a gate far below 0 gives 0.";
  out.sync = "None: F is split over the chiplets, gate and up alike; the exchange comes after down.";
  out.transfer = "None to the host; gate's Sigmoid and the two products never leave the SRAM.";
  return out;
}

Fusion head() {
  Fusion out;
  out.id = "head-topk";
  out.title = "The head with its choice: the k best tokens instead of all logits";
  out.kernels = {"LinearTopK", "QuantizedLinearTopK"};
  out.pattern = "a projection whose result is an output of the graph";
  out.preconditions = {kReaders, {"vocabulary", "k is at most the number of rows of the weight"}};
  out.shapes = "x [B, H], w [V, H], 1 <= k <= V";
  out.dtypes = kFloats;
  out.bound_f32 = kRounding32;
  out.bound_bf16 = kRounding16;
  out.failure =
      "Whoever needs all logits cannot have them: penalties over the vocabulary, log-probabilities of given tokens, a "
      "comparison of logits. Equal logits: the lower token is taken.";
  out.sync = "The vocabulary is split over the chiplets: k values and ids of each are exchanged, not V logits.";
  out.transfer = "Device to host: k values and ids of 8 bytes a row, not V values.";
  return out;
}

}  // namespace

const std::vector<Fusion>& catalogue() {
  static const std::vector<Fusion> all = {flash_attention(), rope_scatter(), experts(), projections(), gate(), head()};
  return all;
}

}  // namespace calkit::fusion
