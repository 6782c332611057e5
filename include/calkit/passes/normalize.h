#pragma once
/// onnx-normalize: passes over any ONNX graph, each proven by running it before and after. The document is
/// calkit.onnx-passes/1, docs/formats/passes.md.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"
#include "calkit/manifest/custom_operators.h"
#include "calkit/onnx/model.h"
#include "calkit/tensor/tensor.h"

namespace calkit::passes {

/// What a pass did, counted.
struct Change {
  std::string what;  ///< "nodes folded"
  std::uint64_t count = 0;
};
struct Outcome {
  onnx::Model model;
  std::vector<Change> changes;  ///< without those that count 0; empty: the model is as it was
};

/// Files before IR 4 list every initialiser among the inputs, too, where nobody may feed it: those inputs go.
Outcome raise_ir(onnx::Model model);
/// Nodes whose inputs are all constants become constants, up to 1 MiB each; Constant nodes become initialisers.
Result<Outcome> fold_constants(onnx::Model model);
/// Nodes, initialisers and functions that no output needs go away, in subgraphs too.
Outcome remove_dead_code(onnx::Model model);
/// Initialisers with the same type, shape and bytes become one.
Outcome merge_constants(onnx::Model model);
/// Another version of ai.onnx.
Result<Outcome> change_opset(onnx::Model model, std::int64_t version);
/// An order and node names that depend on the graph alone and not on how its file lists it: nodes as the outputs need
/// them, initialisers in the order of their first use.
Outcome put_in_order(onnx::Model model);
/// Identity, and Cast to the type that a value has already, go away; the main graph's only.
Outcome remove_idle_nodes(onnx::Model model);
/// Shapes of all values, as far as ONNX's inference gets.
Result<Outcome> infer(onnx::Model model);

/// Inputs of one run. The same feeds go into the graph before and after a pass.
struct Feed {
  std::string name;  ///< id of a prompt, or "seed 1"
  std::map<std::string, Tensor> inputs;
};

/// How far an output is from what it was before the pass, over all feeds.
struct OutputProof {
  std::string output;
  std::uint64_t values = 0;
  double max_abs = 0, nmse = 0;
  bool identical = true;  ///< bit for bit
};
struct Proof {
  std::vector<std::string> feeds;
  std::vector<OutputProof> outputs;
  bool identical() const;
  double worst_nmse() const;
};

struct PassReport {
  std::string name;
  std::vector<Change> changes;
  std::uint64_t nodes_before = 0, nodes_after = 0, initializers_before = 0, initializers_after = 0;
  std::optional<Proof> proof;  ///< nullopt: nothing was changed, so there is nothing to prove
  bool holds = true;           ///< the proof stays within the limit
};

/// A prefill of S tokens beside one of S - k and k decode steps.
struct StepProof {
  std::string feed;
  std::int64_t tokens = 0, steps = 0;
  double logits_nmse = 0, logits_max_abs = 0;
  bool same_top = true;
  bool holds = true;
};

/// An operator outside ai.onnx, as it is run.
struct CustomUse {
  std::string op;  ///< "domain:type"
  std::uint64_t nodes = 0;
  bool own_function = false;          ///< of the model; otherwise of the description
  manifest::Description description;  ///< into Options::operators; its pointers may be null
};

struct GraphReport {
  std::string name, raw, normalized;  ///< paths below the folder that was written
  std::string raw_sha256, normalized_sha256;
  std::int64_t opset_before = 0, opset_after = 0;
  std::vector<CustomUse> custom;
  std::vector<PassReport> passes;
};

struct Options {
  std::optional<std::int64_t> opset;              ///< nullopt: the one that is there
  std::optional<std::filesystem::path> baseline;  ///< prompts come from there; without it they are drawn from a seed
  std::size_t prompts = 4;                        ///< at most so many, short and long ones
  int threads = 1;
  double limit = 1e-10;                              ///< NMSE of any output after any pass; 1e-5 for 16-bit outputs
  std::vector<manifest::CustomOperators> operators;  ///< what custom operators mean; outlives the report
  std::function<void(const std::string&)> progress;  ///< told what is being done
};

struct Report {
  std::vector<GraphReport> graphs;
  std::vector<StepProof> steps;
  std::string feeds_from;  ///< the baseline's folder, or "seed"
  bool passed() const;
};

/// Writes OUT/raw (the files as they were), OUT/normalized and OUT/passes.json, as a whole or not at all.
/// @param source one ONNX file, or the folder of an export (prefill.onnx and decode.onnx).
/// Graphs that are written carry the functions of described operators.
/// kInput: no ONNX, an operator that nobody described (its domain is not ai.onnx, the model has no function of that
/// name and no description has a body), a node that is not as its description says, a graph that cannot be run, an
/// output folder with other things in it.
Result<Report> normalize(const std::filesystem::path& source, const std::filesystem::path& out, const Options& options);

Value to_value(const Report& report);
std::string to_text(const Report& report);

}  // namespace calkit::passes
