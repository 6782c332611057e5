#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/exec/session.h"
#include "calkit/model/contract_check.h"
#include "calkit/tensor/metrics.h"
#include "prove.h"

namespace calkit::passes {
namespace {

using model::Port;
using model::PortRole;

Tensor row(const std::vector<std::int64_t>& values) {
  return Tensor::of({1, static_cast<std::int64_t>(values.size())}, values);
}

/// One graph of a pair, fed by the roles of its ports.
class Runner {
 public:
  static Result<Runner> create(const onnx::Model& model, int threads) {
    exec::SessionOptions options;
    options.threads = threads;
    CALKIT_TRY(exec::Session session, exec::Session::create(model, options));
    return Runner(model, std::move(session));
  }
  Result<std::vector<Tensor>> run(const std::vector<std::int64_t>& tokens, std::int64_t past,
                                  const std::map<std::pair<bool, std::int64_t>, Tensor>& cache) {
    std::vector<std::int64_t> positions, mask(static_cast<std::size_t>(past) + tokens.size(), 1);
    for (std::size_t i = 0; i < tokens.size(); ++i) positions.push_back(past + static_cast<std::int64_t>(i));
    std::map<std::string, Tensor> inputs;
    for (const Port& port : inputs_) {
      Tensor value;
      if (port.role == PortRole::kTokens)
        value = row(tokens);
      else if (port.role == PortRole::kPositions)
        value = row(positions);
      else if (port.role == PortRole::kMask)
        value = row(mask);
      else if (port.role == PortRole::kLength)
        value = Tensor::of<std::int64_t>({1}, {static_cast<std::int64_t>(tokens.size()) - 1});
      else if (port.role == PortRole::kPastKey || port.role == PortRole::kPastValue)
        value = cache.at({port.role == PortRole::kPastKey, port.layer.value_or(0)});
      else
        return input_error("graph", "input '" + port.value.name + "'", "a role that no step knows",
                           "tokens, positions, a mask, last_index, past keys and values");
      const auto dtype = onnx::to_dtype(port.value.type);
      if (dtype && *dtype == DType::kI32 && value.dtype() == DType::kI64) {
        std::vector<std::int32_t> narrow;
        for (const std::int64_t v : value.data<std::int64_t>()) narrow.push_back(static_cast<std::int32_t>(v));
        value = Tensor::of(value.shape(), narrow);
      }
      inputs.emplace(port.value.name, std::move(value));
    }
    std::vector<std::string> names;
    for (const Port& port : outputs_) names.push_back(port.value.name);
    return session_.run(inputs, names);
  }
  const std::vector<Port>& outputs() const { return outputs_; }

  /// The last row of the logits among the answers.
  Result<std::vector<float>> logits(const std::vector<Tensor>& answers) const {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].role != PortRole::kLogits) continue;
      CALKIT_TRY(auto values, to_floats(answers[i]));
      const auto vocab = static_cast<std::ptrdiff_t>(answers[i].dim(answers[i].rank() - 1));
      return std::vector<float>(values.end() - std::min(vocab, std::ssize(values)), values.end());
    }
    return input_error("graph", "outputs", "no logits", "an output named logits");
  }
  std::map<std::pair<bool, std::int64_t>, Tensor> cache(const std::vector<Tensor>& answers) const {
    std::map<std::pair<bool, std::int64_t>, Tensor> out;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].role == PortRole::kPresentKey || outputs_[i].role == PortRole::kPresentValue)
        out[{outputs_[i].role == PortRole::kPresentKey, outputs_[i].layer.value_or(0)}] = answers[i];
    return out;
  }

 private:
  Runner(const onnx::Model& model, exec::Session session)
      : session_(std::move(session)), outputs_(model::output_ports(model.graph.outputs)) {
    std::vector<onnx::ValueInfo> fed;
    for (const auto& input : model.graph.inputs)
      if (model.graph.initializer(input.name) == nullptr) fed.push_back(input);
    inputs_ = model::input_ports(fed);
  }
  exec::Session session_;
  std::vector<Port> inputs_, outputs_;
};

Result<StepProof> prove_one(Runner& prefill, Runner& decode, const std::vector<std::int64_t>& ids, double limit) {
  const auto count = static_cast<std::ptrdiff_t>(ids.size()), half = (count + 1) / 2;
  StepProof out;
  out.tokens = count;
  out.steps = count - half;
  CALKIT_TRY(const auto whole, prefill.run(ids, 0, {}), "a prefill of the whole prompt");
  CALKIT_TRY(const auto want, prefill.logits(whole));
  CALKIT_TRY(auto answers, prefill.run({ids.begin(), ids.begin() + half}, 0, {}), "a prefill of the first half");
  auto cache = prefill.cache(answers);
  std::vector<float> got;
  for (std::ptrdiff_t at = half; at < count; ++at) {
    CALKIT_TRY(answers, decode.run({ids[static_cast<std::size_t>(at)]}, at, cache), fmt::format("decode step {}", at));
    CALKIT_TRY(got, decode.logits(answers));
    cache = decode.cache(answers);
  }
  if (got.size() != want.size())
    return input_error("graph", "logits", fmt::format("{} values in decode", got.size()),
                       fmt::format("{}, as in prefill", want.size()));
  const Closeness close = compare(got, want);
  if (close.non_finite > 0 || !close.nmse)
    return input_error("graph", "logits", "values that are no numbers, or all zero", "logits that can be compared");
  out.logits_nmse = *close.nmse;
  out.logits_max_abs = close.max_abs;
  out.same_top = top_k(got, 1) == top_k(want, 1);
  out.holds = out.logits_nmse <= limit;
  return out;
}

}  // namespace

Result<std::vector<StepProof>> prove_steps(const onnx::Model& prefill, const onnx::Model& decode,
                                           const std::vector<std::vector<std::int64_t>>& prompts,
                                           const std::vector<std::string>& names, int threads, double limit) {
  CALKIT_TRY(Runner first, Runner::create(prefill, threads), "preparing the prefill graph");
  CALKIT_TRY(Runner next, Runner::create(decode, threads), "preparing the decode graph");
  std::vector<StepProof> out;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].size() < 2) continue;
    CALKIT_TRY(StepProof proof, prove_one(first, next, prompts[i], limit), fmt::format("proving '{}'", names[i]));
    proof.feed = names[i];
    out.push_back(std::move(proof));
  }
  return out;
}

}  // namespace calkit::passes
