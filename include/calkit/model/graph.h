#pragma once
/// ModelSpec + weights -> the prefill and decode graphs, in standard ONNX operators (opset 23), and the exported
/// folder.
///
/// prefill: token_ids int64 [B, S], position_ids int64 [B, S], last_index int64 [B] (each row's last valid token)
///       -> logits [B, V] of that token, present_key.I / present_value.I [B, KVH, S, D] per layer I
/// decode:  token_ids int64 [B, 1], position_ids int64 [B, 1], past_key.I / past_value.I [B, KVH, P, D]
///       -> logits [B, V], present_key.I / present_value.I [B, KVH, P+1, D]
/// Rows are left-aligned and right-padded.
///
/// Prefill attends causally: Attention with is_causal = 1, no mask input, no past. The one new token of decode sees
/// every key of the past and itself: Attention with past_key and past_value, neither mask nor is_causal.
///
/// Weights keep the checkpoint's bytes and layout ([out, in]); a Transpose feeds each MatMul.
///
/// Values that probes read: embed, layer.I.input_norm, layer.I.attn_out, layer.I.mlp_out, layer.I.out, final_norm; of
/// layers with experts also layer.I.router_logits [T, E], layer.I.router_experts int64 [T, k] (largest weight first)
/// and layer.I.router_weights [T, k].
#include <filesystem>
#include <string>

#include "calkit/hf/checkpoint.h"
#include "calkit/hf/spec.h"
#include "calkit/onnx/model.h"

namespace calkit::model {

enum class Phase { kPrefill, kDecode };

/// Experts: a layer with them routes T = B * S rows. Softmax, TopK and the scaling of the weights are F32. The experts'
/// matrices of a layer are one stack [E, N, K]; each row gathers those of its k experts ([T, k, N, K]), multiplies, and
/// sums weight times answer over its k. Whoever runs the graph in earnest fuses Gather and MatMul into a grouped
/// product: taken literally, a row of a prefill copies k experts.
///
/// @param dtype kF32 or kBF16: the type of weights, activations and KV. Weights stored in that type are zero-copy views
/// of the mapped checkpoint; F16 and BF16 are widened to F32 exactly, F32 and F16 rounded to BF16 (nearest even).
Result<onnx::Model> build_graph(const hf::ModelSpec& spec, const hf::Checkpoint& weights, Phase phase, DType dtype);

/// Both graphs at once; they share the tensors, so that widened weights exist once.
struct GraphPair {
  onnx::Model prefill, decode;
};
Result<GraphPair> build_graphs(const hf::ModelSpec& spec, const hf::Checkpoint& weights, DType dtype);

/// Axes that the graphs state as numbers, each 1 or more; nullopt: a symbol, B, S or P.
struct FixedAxes {
  std::optional<std::int64_t> batch, tokens, past;
};

struct ExportReport {
  std::string prefill_path, decode_path, contract_path;
  std::string weights_path;  ///< empty: left out
  std::uint64_t prefill_nodes = 0, decode_nodes = 0, weight_bytes = 0;
};
/// Writes OUT/{prefill.onnx, decode.onnx, weights.bin, contract.json} atomically; both graphs share weights.bin and
/// pass ONNX's full check before they appear. Equal inputs give equal bytes. Weights are streamed: what a widened model
/// needs is one tensor at a time. kInput if `out` is a folder with other things in it.
Result<ExportReport> export_onnx(const std::filesystem::path& model_dir, const std::filesystem::path& out, DType dtype,
                                 const FixedAxes& fixed = {});
/// The same graphs from config.json alone. They refer to the weights.bin that a full export would write, which is not
/// there; the contract and the graphs' metadata (`calkit.weights`: `none`) say so.
Result<ExportReport> export_structure(const std::filesystem::path& config, const std::filesystem::path& out,
                                      DType dtype, const FixedAxes& fixed = {});

/// contract.json, schema calkit.onnx-contract/1: axes, inputs, outputs, which dims vary, what the logits are, KV
/// shapes, the spec, and SHA-256 of the graphs, the weights and the config they came from. Graphs without weights
/// have no contract that anybody could build on: reading theirs is kInput.
struct Contract {
  std::string path;
  hf::ModelSpec spec;
  bool fixed_axes = false;  ///< an axis of the graphs was fixed at the export
  DType dtype = DType::kF32;
  std::string prefill_file, decode_file, weights_file;
  std::string prefill_sha256, decode_sha256, weights_sha256, config_sha256;
};
/// Reads and checks the document; the files it names are opened by nobody yet.
Result<Contract> read_contract(const std::filesystem::path& onnx_dir);
/// kInput if a file that the contract names is missing or its SHA-256 is another.
Status check_contract_files(const std::filesystem::path& onnx_dir, const Contract& contract);

}  // namespace calkit::model
