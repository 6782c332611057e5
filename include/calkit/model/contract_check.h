#pragma once
/// What a decoder graph asks of its caller and gives back, found in anybody's ONNX file by names, types and shapes, and
/// judged by the contract that our own graphs keep (docs/formats/onnx-contract.md). Reads no weights, runs nothing.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"
#include "calkit/onnx/model.h"

namespace calkit::model {

enum class PortRole {
  kTokens,      ///< integers [B, S]
  kEmbeddings,  ///< floats [B, S, H], instead of tokens
  kPositions,   ///< integers [B, S]
  kMask,        ///< which tokens are there, past ones included
  kLength,      ///< how many tokens a row has, or which is its last
  kPastKey,
  kPastValue,
  kLogits,
  kPresentKey,
  kPresentValue,
  kOther
};
std::string_view role_name(PortRole role);  ///< "tokens", "past key", ...

/// An input or output of the main graph.
struct Port {
  onnx::ValueInfo value;
  PortRole role = PortRole::kOther;
  std::optional<std::int64_t> layer;  ///< of a cache, from its name
};
std::vector<Port> input_ports(const std::vector<onnx::ValueInfo>& inputs);
std::vector<Port> output_ports(const std::vector<onnx::ValueInfo>& outputs);

/// A graph with a past and more than one new token does both phases.
enum class GraphPhase { kPrefill, kDecode, kBoth };
std::string_view phase_name(GraphPhase phase);

struct ContractFinding {
  bool error = true;  ///< false: a note
  std::string item;   ///< what of the contract it is about: "tokens", "S", "logits", ...
  std::string found, allowed, fix;
};

struct ContractCheck {
  std::string file;
  GraphPhase phase = GraphPhase::kPrefill;
  std::vector<Port> inputs, outputs;
  std::string batch, tokens, past;  ///< axes B, S and P as the graph has them: a symbol, a number, "?"; "": none
  std::vector<ContractFinding> findings;
  bool passed() const;  ///< no finding is an error
};

struct ContractWish {
  std::optional<GraphPhase> phase;  ///< nullopt: whatever the graph's inputs tell
  std::set<std::string> fixed;      ///< of "B", "S", "P": may be numbers
};
/// kInput if the file is no ONNX model; anything else that is wrong becomes a finding.
Result<ContractCheck> check_contract(const std::filesystem::path& graph, const ContractWish& wish = {});

/// The document calkit.onnx-contract-check/1.
Value to_value(const ContractCheck& check);
std::string to_text(const ContractCheck& check);

}  // namespace calkit::model
