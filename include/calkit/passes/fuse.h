#pragma once
/// onnx-fuse: fusions of the catalogue put into graphs, each proven by running the graph before and after. The document
/// is calkit.onnx-fuse/1, docs/formats/fusion.md.
#include "calkit/fusion/fusion.h"
#include "calkit/inventory/formula.h"
#include "calkit/passes/normalize.h"

namespace calkit::passes {

struct FuseOptions {
  bool w8a8 = false;                              ///< projections are quantised first
  std::vector<std::string> only;                  ///< ids of the catalogue; empty: all of it
  std::optional<std::int64_t> top_k;              ///< the head gives the best k tokens instead of all logits
  std::optional<std::filesystem::path> baseline;  ///< prompts come from there; without it they are drawn from a seed
  std::size_t prompts = 4;
  int threads = 1;
  int repeats = 5;                                   ///< runs that a kernel is timed over; 0: not timed
  std::function<void(const std::string&)> progress;  ///< told what is being done
};

/// Bytes that what was fused moved through memory, before and after; weights count once a call.
struct Traffic {
  inventory::Formula before, after;
};

struct FusionReport {
  std::string id;
  std::map<std::string, std::uint64_t> kernels;  ///< operators put in
  std::vector<fusion::Refusal> refused;
  Traffic traffic;
  std::optional<Proof> proof;  ///< of the graph's outputs, against the graph that fusing began with
  std::string no_proof;        ///< why there is none
  double limit = 0;            ///< NMSE that every output has to keep
  bool holds = true;
};

/// One operator on the operands that it had in a run: its function and its kernel side by side.
struct KernelReport {
  std::string kernel, fusion, node, golden;  ///< golden: path below the folder that was written
  std::vector<std::string> shapes;           ///< of the operands
  std::vector<std::string> constants;        ///< operands that are initialisers of the graph, by name
  std::uint64_t count = 0;                   ///< calls in the graph
  std::optional<std::uint64_t> sram_bytes;   ///< of one block; assumed block sizes
  std::vector<OutputProof> outputs;
  double limit = 0;
  bool holds = true;
  std::optional<double> function_ms, kernel_ms;  ///< medians on this host's CPU
};

/// How far quantisation took the answers: told, not judged.
struct QuantizationReport {
  std::uint64_t projections = 0, tokens_quantized = 0;
  std::vector<fusion::Refusal> refused;
  std::optional<double> logits_nmse;
  std::uint64_t feeds = 0, same_top = 0;
};

struct FusedGraph {
  std::string name, file, raw_sha256, sha256;  ///< file: path below the folder
  std::uint64_t nodes_before = 0, nodes_after = 0;
  std::map<std::string, std::uint64_t> groups;  ///< "flash attention" -> calls
  std::optional<std::uint64_t> vendor_nodes;    ///< of the vendor's own graph of this model, where it is known
  std::optional<QuantizationReport> quantization;
  std::vector<FusionReport> fusions;
  std::vector<KernelReport> kernels;
};

struct FuseReport {
  std::vector<FusedGraph> graphs;
  std::string feeds_from;  ///< the baseline's folder, "seed", or empty: nothing was run
  bool passed() const;
};

/// Writes OUT/{prefill,decode}.onnx or OUT/NAME.onnx, weights.bin, goldens/ and fusion.json, as a whole or not at all.
/// A graph without weights is fused, too; nothing of it can be run, and the report says so.
/// kInput: no ONNX, ai.onnx below fusion::kOpset, a graph that cannot be run, an output folder with other things in it.
Result<FuseReport> fuse(const std::filesystem::path& source, const std::filesystem::path& out,
                        const FuseOptions& options);

Value to_value(const FuseReport& report);
std::string to_text(const FuseReport& report);
Value catalogue_value();
std::string catalogue_text();

}  // namespace calkit::passes
