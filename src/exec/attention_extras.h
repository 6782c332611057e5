#pragma once
/// What few calls of Attention ask for: lengths instead of a past, and the scores as an output.
#include "attention_core.h"
#include "call.h"

namespace calkit::exec {

/// nonpad_kv_seqlen [B]: keys beyond it are padding, and the queries are the last before it.
Status read_filled(const Call& call, AttentionCall& job, std::size_t keys);

/// Output 3, the scores at one of four places: gathered in F32.
class ScoresOutput {
 public:
  Status prepare(const Call& call, AttentionCall& job, std::size_t keys);
  void write();

 private:
  std::optional<Tensor> wide_, y_;
};

}  // namespace calkit::exec
