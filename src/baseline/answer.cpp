#include "answer.h"

#include <fmt/format.h>

#include "calkit/base/process.h"
#include "calkit/model/graph.h"
#include "noise.h"

namespace calkit::baseline {
namespace {

class Answering {
 public:
  Answering(const FreezeOptions& options, const hf::ModelSpec& spec, const hf::Checkpoint& weights,
            const WorkFolder& work)
      : options_(options), spec_(spec), weights_(weights), work_(work) {}

  Result<Answers> run(frozen::Reference& reference) {
    const std::size_t probe = probe_position(reference);
    const bool owner = probe < reference.items.size() ? in_shard(options_, probe) : in_shard(options_, 0);
    CALKIT_TRY(auto model, load(options_.threads));
    CALKIT_CHECK_OK(items(model, reference), "running the prompts");
    if (!owner) return std::move(out_);
    CALKIT_TRY(out_.probes, run_probes(model, spec_, reference));
    CALKIT_TRY(out_.noise,
               measure_noise(
                   std::move(model), options_.threads, [this](int threads) { return load(threads); },
                   options_.noise_prompts, reference),
               "measuring the noise");
    return std::move(out_);
  }

 private:
  Result<exec::LanguageModel> load(int threads) const {
    const DType dtype = options_.dtype == "bf16" ? DType::kBF16 : DType::kF32;
    CALKIT_TRY(auto graphs, model::build_graphs(spec_, weights_, dtype), "building the graphs");
    exec::SessionOptions session;
    session.threads = threads;
    session.constant_packed = [this](const onnx::Initializer& initializer) { weights_.release(initializer.name); };
    CALKIT_TRY(auto model, exec::LanguageModel::create(std::move(graphs.prefill), std::move(graphs.decode), session),
               "preparing the model");
    return model;
  }

  Status items(exec::LanguageModel& model, frozen::Reference& reference) {
    std::size_t done = 0, mine = 0;
    for (std::size_t i = 0; i < reference.items.size(); ++i) mine += in_shard(options_, i) ? 1 : 0;
    for (std::size_t i = 0; i < reference.items.size(); ++i) {
      if (!in_shard(options_, i)) continue;
      if (interrupted()) return interrupted_error();
      CALKIT_CHECK_OK(item(model, reference.items[i]), fmt::format("running prompt {}", reference.items[i].prompt.id));
      if (options_.progress) options_.progress(++done, mine);
    }
    return {};
  }

  Status item(exec::LanguageModel& model, frozen::ReferenceItem& item) {
    if (item.ids.empty()) return {};  // nothing goes through the model: no logits, no greedy run
    if (work_.load(item, options_.greedy_steps, spec_.vocab)) {
      ++out_.resumed;
      return {};
    }
    CALKIT_CHECK_OK(run_item(model, options_.greedy_steps, item));
    return work_.save(item);
  }

  const FreezeOptions& options_;
  const hf::ModelSpec& spec_;
  const hf::Checkpoint& weights_;
  const WorkFolder& work_;
  Answers out_;
};

}  // namespace

bool in_shard(const FreezeOptions& options, std::size_t position) {
  return !options.shard || position % options.shard->count == options.shard->index - 1;
}

Result<Answers> answer_prompts(const FreezeOptions& options, const hf::ModelSpec& spec, const hf::Checkpoint& weights,
                               const WorkFolder& work, frozen::Reference& reference) {
  return Answering(options, spec, weights, work).run(reference);
}

}  // namespace calkit::baseline
