#include "fuse_answers.h"

#include <set>

#include "calkit/tensor/metrics.h"

namespace calkit::passes {

Result<Answers> choose(const onnx::Model& before, const onnx::Model& after, const Answers& answers, std::int64_t k) {
  std::set<std::string> kept;
  for (const auto& output : after.graph.outputs) kept.insert(output.name);
  Answers out;
  for (const auto& values : answers) {
    std::vector<Tensor> chosen;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (kept.contains(before.graph.outputs[i].name)) {
        chosen.push_back(values[i]);
        continue;
      }
      CALKIT_TRY(const auto logits, to_floats(values[i]));
      const auto width = static_cast<std::size_t>(values[i].dim(-1));
      const auto count = static_cast<std::size_t>(k);
      Shape shape = values[i].shape();
      shape.back() = k;
      std::vector<float> best;
      std::vector<std::int64_t> ids;
      for (std::size_t row = 0; row * width < logits.size(); ++row)
        for (const std::int32_t id : top_k(std::span(logits).subspan(row * width, width), count)) {
          ids.push_back(id);
          best.push_back(logits[row * width + static_cast<std::size_t>(id)]);
        }
      CALKIT_TRY(Tensor typed, convert(Tensor::of<float>(shape, best), values[i].dtype()));
      chosen.push_back(std::move(typed));
      chosen.push_back(Tensor::of(shape, ids));
    }
    out.push_back(std::move(chosen));
  }
  return out;
}

Status compare_logits(const Answers& before, const Answers& after, QuantizationReport& told) {
  double difference = 0, reference = 0;
  for (std::size_t run = 0; run < before.size(); ++run) {
    CALKIT_TRY(const auto want, to_floats(before[run].front()));
    CALKIT_TRY(const auto got, to_floats(after[run].front()));
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double w = static_cast<double>(want[i]), d = static_cast<double>(got[i]) - w;
      difference += d * d;
      reference += w * w;
    }
    ++told.feeds;
    told.same_top += top_k(want, 1) == top_k(got, 1);
  }
  if (reference > 0) told.logits_nmse = difference / reference;
  return {};
}

}  // namespace calkit::passes
