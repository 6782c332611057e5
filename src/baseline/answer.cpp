#include "answer.h"

#include <fmt/format.h>

#include "calkit/base/process.h"
#include "calkit/frozen/writer.h"
#include "calkit/model/graph.h"
#include "noise.h"
#include "router_margins.h"

namespace calkit::baseline {
namespace {

// Weights that the processor's caches hold are not worth reading together.
constexpr std::uint64_t kWorthGrouping = 64u << 20;

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
    CALKIT_TRY(auto graphs, model::build_graphs(spec_, weights_, dtype()), "building the graphs");
    exec::SessionOptions session;
    session.threads = threads;
    session.constant_packed = [this](const onnx::Initializer& initializer) { weights_.release(initializer.name); };
    CALKIT_TRY(auto model, exec::LanguageModel::create(std::move(graphs.prefill), std::move(graphs.decode), session),
               "preparing the model");
    return model;
  }

  Status items(exec::LanguageModel& model, frozen::Reference& reference) {
    std::size_t mine = 0;
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < reference.items.size(); ++i) {
      if (!in_shard(options_, i)) continue;
      if (interrupted()) return interrupted_error();
      ++mine;
      frozen::ReferenceItem& item = reference.items[i];
      if (item.ids.empty()) continue;  // nothing goes through the model: no logits, no greedy run
      if (work_.load(item, options_.greedy_steps, spec_.vocab, frozen::records_router(spec_, options_.dtype)))
        ++out_.resumed;
      else
        open.push_back(i);
    }
    std::size_t done = mine - open.size();
    for (std::size_t i = 1; i <= done && options_.progress; ++i) options_.progress(i, mine);
    const GroupLimits limits{.items = weights_.weight_bytes() < kWorthGrouping ? 1u : 8u,
                             .bytes_per_token = hf::kv_bytes_per_token(spec_, dtype())};
    for (const auto& group : group_items(reference, std::move(open), options_.greedy_steps, limits)) {
      std::vector<frozen::ReferenceItem*> together;
      for (const std::size_t position : group) together.push_back(&reference.items[position]);
      CALKIT_CHECK_OK(run_items(model, options_.greedy_steps, together));
      for (frozen::ReferenceItem* item : together) {
        if (frozen::records_router(spec_, options_.dtype)) CALKIT_CHECK_OK(add_router_margins(model, spec_, *item));
        CALKIT_CHECK_OK(work_.save(*item));
        if (options_.progress) options_.progress(++done, mine);
      }
    }
    return {};
  }

  DType dtype() const { return options_.dtype == "bf16" ? DType::kBF16 : DType::kF32; }

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
