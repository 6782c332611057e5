#pragma once
/// A prefill/decode pair as one language model on the CPU: what the reference baseline and the benches call.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calkit/exec/session.h"

namespace calkit::exec {

class LanguageModel {
 public:
  /// Graphs as model::build_graph makes them (see model/graph.h for the contract). Weights that both share are packed
  /// once.
  static Result<LanguageModel> create(onnx::Model prefill, onnx::Model decode, const SessionOptions& options = {});
  ~LanguageModel();
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;

  /// Starts a sequence, forgetting the one before: one row, at least one token.
  /// @param probes names of inner values to return beside the logits. @return logits f32 [V] of the last token.
  struct Step {
    std::vector<float> logits;
    std::vector<Tensor> probes;
  };
  Result<Step> prefill(std::span<const std::int32_t> tokens, std::span<const std::string> probes = {});
  /// One more token of the sequence.
  Result<Step> decode(std::int32_t token);
  std::int64_t length() const;  ///< tokens in the cache

 private:
  struct State;
  explicit LanguageModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit::exec
