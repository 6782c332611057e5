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

  struct Step {
    std::vector<float> logits;
    std::vector<Tensor> probes;
  };
  /// Starts a sequence, forgetting those before: one row, at least one token.
  /// @param probes names of inner values to return beside the logits. @return logits f32 [V] of the last token.
  Result<Step> prefill(std::span<const std::int32_t> tokens, std::span<const std::string> probes = {});
  /// One more token of the sequence.
  Result<Step> decode(std::int32_t token);
  std::int64_t length() const;  ///< tokens in the cache, of the longest sequence

  /// A sequence that the model does not hold: K and V of each layer, [1, KVH, length, D].
  struct Sequence {
    std::int64_t length = 0;
    std::vector<Tensor> cache;
  };
  struct Started {
    Step step;
    Sequence sequence;
  };
  /// As prefill(), but the sequence is handed out; the model keeps the ones it has.
  Result<Started> start(std::span<const std::int32_t> tokens, std::span<const std::string> probes = {});
  /// The model goes on with these sequences, forgetting those before; room is made for `more` tokens of each.
  /// Memory: sequences times the longest of them.
  Status go_on(std::vector<Sequence> sequences, std::int64_t more);
  /// One more token of each sequence, in their order: weights are read once for all. Up to 8 sequences get the numbers
  /// that each would get alone.
  Result<std::vector<std::vector<float>>> decode_all(std::span<const std::int32_t> tokens);

 private:
  struct State;
  explicit LanguageModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit::exec
