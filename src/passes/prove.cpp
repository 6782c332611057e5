#include "prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "calkit/exec/session.h"
#include "calkit/tensor/metrics.h"

namespace calkit::passes {
namespace {

std::vector<std::string> output_names(const onnx::Model& model) {
  std::vector<std::string> out;
  for (const auto& output : model.graph.outputs) out.push_back(output.name);
  return out;
}

std::string shown(const Tensor& tensor) {
  return fmt::format("{} {}", dtype_name(tensor.dtype()), shape_text(tensor.shape()));
}

/// Sums over all feeds, so that a near-zero answer of one of them does not blow up the ratio.
struct Sums {
  double difference = 0, reference = 0;
};

Status add(const std::string& feed, const Tensor& before, const Tensor& after, OutputProof& out, Sums& sums) {
  if (before.dtype() != after.dtype() || before.shape() != after.shape())
    return input_error("graph", "output '" + out.output + "'", shown(after), shown(before) + ", as before the pass");
  out.values += before.elements();
  if (std::memcmp(before.raw(), after.raw(), before.bytes()) == 0) {
    CALKIT_TRY(const auto values, to_floats(before));
    for (const float value : values) sums.reference += static_cast<double>(value) * static_cast<double>(value);
    return {};
  }
  out.identical = false;
  CALKIT_TRY(const auto want, to_floats(before));
  CALKIT_TRY(const auto got, to_floats(after));
  const Closeness close = compare(got, want);
  if (close.non_finite > 0)
    return input_error("graph", "output '" + out.output + "'",
                       fmt::format("{} values that are no numbers, with '{}'", close.non_finite, feed),
                       "finite numbers: others prove nothing");
  out.max_abs = std::max(out.max_abs, close.max_abs);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double w = static_cast<double>(want[i]), d = static_cast<double>(got[i]) - w;
    sums.reference += w * w;
    sums.difference += d * d;
  }
  return {};
}

}  // namespace

bool Proof::identical() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputProof& output) { return output.identical; });
}

double Proof::worst_nmse() const {
  double worst = 0;
  for (const OutputProof& output : outputs) worst = std::max(worst, output.nmse);
  return worst;
}

Result<Answers> answers_of(const onnx::Model& model, const std::vector<Feed>& feeds, int threads) {
  exec::SessionOptions options;
  options.threads = threads;
  CALKIT_TRY(exec::Session session, exec::Session::create(model, options), "preparing the graph to run");
  const auto outputs = output_names(model);
  Answers out;
  for (const Feed& feed : feeds) {
    CALKIT_TRY(auto values, session.run(feed.inputs, outputs), fmt::format("running '{}'", feed.name));
    out.push_back(std::move(values));
  }
  return out;
}

Result<Proof> prove(const onnx::Model& model, const std::vector<Feed>& feeds, const Answers& before,
                    const Answers& after) {
  Proof out;
  const auto names = output_names(model);
  for (const Feed& feed : feeds) out.feeds.push_back(feed.name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    OutputProof proof;
    proof.output = names[i];
    Sums sums;
    for (std::size_t run = 0; run < feeds.size(); ++run)
      CALKIT_CHECK_OK(add(feeds[run].name, before[run][i], after[run][i], proof, sums));
    if (proof.values == 0)
      return input_error("graph", "output '" + names[i] + "'", "no values with any feed", "at least one");
    if (sums.difference > 0) {
      if (sums.reference == 0)
        return input_error("graph", "output '" + names[i] + "'", "nothing but zeros before the pass",
                           "numbers that can be compared");
      proof.nmse = sums.difference / sums.reference;
    }
    out.outputs.push_back(std::move(proof));
  }
  return out;
}

}  // namespace calkit::passes
