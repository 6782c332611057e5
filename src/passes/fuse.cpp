#include "calkit/passes/fuse.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "calkit/onnx/io.h"
#include "feeds.h"
#include "files.h"
#include "fuse_answers.h"
#include "fuse_cost.h"
#include "fuse_kernels.h"
#include "prove.h"

namespace calkit::passes {
namespace {

constexpr double kLimit = 1e-10, kHalfLimit = 1e-5;  // NMSE of an output; of one in 16 bits

struct Work {
  std::filesystem::path file;
  onnx::Model now;
  std::vector<Feed> feeds;
  Answers answers;  ///< of the graph that fusing begins with
  bool runs = true;
  FusedGraph report;
};

bool is_half(const onnx::Model& model) {
  return std::any_of(model.graph.outputs.begin(), model.graph.outputs.end(),
                     [](const auto& output) { return output.type == 10 || output.type == 16; });
}

/// An order in which it can run, nothing that is not needed, shapes of all values.
Result<onnx::Model> ready(onnx::Model model) {
  CALKIT_TRY(Outcome shaped, infer(remove_dead_code(put_in_order(std::move(model)).model).model));
  return put_in_order(std::move(shaped.model)).model;
}

std::map<std::string, std::uint64_t> calls_of(const onnx::Model& model) {
  std::map<std::string, std::uint64_t> out;
  for (const auto& node : model.graph.nodes)
    if (node.domain == fusion::kDomain) ++out[node.op_type];
  return out;
}

/// Operators of the domain that the second graph has more of.
std::map<std::string, std::uint64_t> more_calls(const onnx::Model& before, const onnx::Model& after) {
  const auto had = calls_of(before);
  std::map<std::string, std::uint64_t> out;
  for (const auto& [name, count] : calls_of(after)) {
    const auto known = had.find(name);
    const std::uint64_t earlier = known == had.end() ? 0 : known->second;
    if (count > earlier) out[name] = count - earlier;
  }
  return out;
}

/// Nodes of the vendor's own graphs, of the one model that they are known of: Qwen3-30B-A3B.
std::optional<std::uint64_t> vendor_nodes(const FusedGraph& graph, const onnx::Model& model) {
  const auto count = [&](const char* group) {
    const auto found = graph.groups.find(group);
    return found == graph.groups.end() ? 0 : found->second;
  };
  if (count("flash attention") != 48 || count("grouped MoE dense") != 144 || vocabulary(model) != 151936)
    return std::nullopt;
  const bool decode = std::any_of(model.graph.nodes.begin(), model.graph.nodes.end(),
                                  [](const auto& node) { return node.op_type == "RopeScatterPast"; });
  return decode ? 1398 : 1496;
}

class Fuser {
 public:
  Fuser(const FuseOptions& options, FuseReport& report) : options_(options), report_(report) {}

  Status load(Work& work) {
    tell("reading", work);
    work.report.name = work.file.stem().string();
    onnx::LoadOptions shape_only;
    shape_only.tensor_data = shape_only.external_data = false;
    CALKIT_TRY(work.now, onnx::load(work.file, shape_only));
    const auto weights = work.now.metadata.find("calkit.weights");
    work.runs = weights == work.now.metadata.end() || weights->second != "none";
    if (work.runs) {
      CALKIT_TRY(work.now, onnx::load(work.file));
    }
    CALKIT_CHECK_OK(check_functions(work.now), work.file.string());
    CALKIT_TRY(const FileDigest digest, hash_file(work.file));
    work.report.raw_sha256 = digest.sha256;
    work.report.nodes_before = work.now.graph.nodes.size();
    CALKIT_TRY(work.now, ready(std::move(work.now)), work.file.string());
    CALKIT_TRY(work.now, ready(remove_idle_nodes(std::move(work.now)).model));
    return work.runs ? choose_feeds(work) : Status{};
  }

  Status run(Work& work) {
    if (options_.w8a8) CALKIT_CHECK_OK(quantize(work), "quantising " + work.file.string());
    for (const fusion::Fusion& entry : fusion::catalogue()) {
      const bool wanted = options_.only.empty() ||
                          std::find(options_.only.begin(), options_.only.end(), entry.id) != options_.only.end();
      if (!wanted || (entry.id == "head-topk" && !options_.top_k)) continue;
      CALKIT_CHECK_OK(apply(work, entry), fmt::format("{}, fusion '{}'", work.file.string(), entry.id));
      if (!work.report.fusions.back().holds) break;
    }
    work.report.nodes_after = work.now.graph.nodes.size();
    for (const auto& node : work.now.graph.nodes)
      if (const auto group = fusion::kernel_group(node.op_type); node.domain == fusion::kDomain && !group.empty())
        ++work.report.groups[std::string(group)];
    work.report.vendor_nodes = vendor_nodes(work.report, work.now);
    return {};
  }

 private:
  void tell(std::string_view what, const Work& work) const {
    if (options_.progress) options_.progress(fmt::format("{} {}", what, work.file.string()));
  }

  Status choose_feeds(Work& work) {
    if (chosen_.prompts.empty()) {
      CALKIT_TRY(chosen_, choose_prompts(options_.baseline, options_.prompts, work.now));
    }
    report_.feeds_from = chosen_.from;
    for (const PromptTokens& prompt : chosen_.prompts) {
      CALKIT_TRY(Feed feed, feed_for(work.now, prompt), "reading " + work.file.string());
      work.feeds.push_back(std::move(feed));
    }
    tell("running", work);
    CALKIT_TRY(work.answers, answers_of(work.now, work.feeds, options_.threads), work.file.string());
    return {};
  }

  Status quantize(Work& work) {
    tell("quantising the projections of", work);
    CALKIT_TRY(fusion::Quantized made, fusion::quantize_projections(std::move(work.now)));
    if (made.projections == 0)
      return input_error(work.file.string(), "--quantize", "no projection that could be quantised",
                         "MatMul by a transposed constant weight in F32, BF16 or F16",
                         "quantise before fusing: fused projections are not taken apart again");
    CALKIT_TRY(work.now, ready(std::move(made.model)));
    QuantizationReport told{made.projections, made.tokens_quantized, std::move(made.refused), {}, 0, 0};
    if (work.runs) {
      CALKIT_TRY(Answers answers, answers_of(work.now, work.feeds, options_.threads));
      CALKIT_CHECK_OK(compare_logits(work.answers, answers, told));
      work.answers = std::move(answers);
    }
    work.report.quantization = std::move(told);
    return {};
  }

  Status apply(Work& work, const fusion::Fusion& entry) {
    if (interrupted()) return interrupted_error();
    FusionReport made;
    made.id = entry.id;
    made.limit = is_half(work.now) ? kHalfLimit : kLimit;
    const onnx::Model before = work.now;
    CALKIT_TRY(fusion::Applied applied, fusion::apply(entry.id, std::move(work.now), options_.top_k));
    CALKIT_TRY(work.now, ready(std::move(applied.model)));
    made.kernels = more_calls(before, work.now);
    made.refused = std::move(applied.refused);
    made.traffic = traffic_of(applied.sites, before, work.now);
    if (applied.sites.empty() && entry.id == "head-topk" && made.refused.empty())
      return input_error(work.file.string(), "outputs", "none that a fused projection makes", "logits",
                         "the head is fused by rmsnorm-quantise-gemm first: leave --only out, or name that one, too");
    if (applied.sites.empty())
      made.no_proof = "nothing was fused";
    else if (!work.runs)
      made.no_proof = "the graph has no weights to run with";
    else
      CALKIT_CHECK_OK(prove_step(work, before, made));
    work.report.fusions.push_back(std::move(made));
    return {};
  }

  Status prove_step(Work& work, const onnx::Model& before, FusionReport& made) {
    tell(fmt::format("running after '{}'", made.id), work);
    if (made.id == "head-topk") {
      CALKIT_TRY(work.answers, choose(before, work.now, work.answers, *options_.top_k));
    }
    CALKIT_TRY(const Answers after, answers_of(work.now, work.feeds, options_.threads));
    CALKIT_TRY(made.proof, prove(work.now, work.feeds, work.answers, after));
    made.holds = made.proof->worst_nmse() <= made.limit;
    return {};
  }

  const FuseOptions& options_;
  FuseReport& report_;
  Prompts chosen_;
};

Status check_options(const FuseOptions& options) {
  for (const std::string& id : options.only) {
    CALKIT_CHECK_OK(fusion::check_id(id));
    if (id == "head-topk" && !options.top_k)
      return Error(ErrorKind::kUsage, "head-topk without a number of tokens", "give --top-k K");
  }
  return {};
}

/// The feed with most tokens: what the kernels are held against their functions with.
const Feed& longest(const std::vector<Feed>& feeds) {
  const auto size = [](const Feed& feed) {
    std::size_t sum = 0;
    for (const auto& [name, value] : feed.inputs) sum += value.elements();
    return sum;
  };
  return *std::max_element(feeds.begin(), feeds.end(), [&](const Feed& a, const Feed& b) { return size(a) < size(b); });
}

Status write(std::vector<Work>& works, const FuseOptions& options, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder / "goldens", failed);
  std::vector<GraphFile> files;
  for (Work& work : works) files.push_back({work.report.name, &work.now});
  CALKIT_CHECK_OK(write_pair(files, folder));
  for (Work& work : works) {
    work.report.file = work.report.name + ".onnx";
    CALKIT_TRY(const FileDigest digest, hash_file(folder / work.report.file));
    work.report.sha256 = digest.sha256;
    if (!work.runs) continue;
    CALKIT_TRY(work.report.kernels, examine_kernels(work.now, work.report.name, longest(work.feeds), options, folder));
  }
  return {};
}

}  // namespace

bool FuseReport::passed() const {
  return std::all_of(graphs.begin(), graphs.end(), [](const FusedGraph& graph) {
    return std::all_of(graph.fusions.begin(), graph.fusions.end(), [](const auto& fusion) { return fusion.holds; }) &&
           std::all_of(graph.kernels.begin(), graph.kernels.end(), [](const auto& kernel) { return kernel.holds; });
  });
}

Result<FuseReport> fuse(const std::filesystem::path& source, const std::filesystem::path& out,
                        const FuseOptions& options) {
  CALKIT_CHECK_OK(check_options(options));
  CALKIT_CHECK_OK(check_target(out, "fusion.json"));
  CALKIT_TRY(const auto sources, graphs_of(source));
  FuseReport report;
  Fuser fuser(options, report);
  std::vector<Work> works(sources.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    works[i].file = sources[i];
    CALKIT_CHECK_OK(fuser.load(works[i]));
    CALKIT_CHECK_OK(fuser.run(works[i]));
  }
  const auto collect = [&] {
    report.graphs.clear();
    for (const Work& work : works) report.graphs.push_back(work.report);
  };
  collect();
  if (!report.passed()) return report;  // a graph that changed its meaning is not written
  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the output folder");
  CALKIT_CHECK_OK(write(works, options, stage.path()));
  collect();
  if (!report.passed()) return report;
  CALKIT_CHECK_OK(write_file(stage.path() / "fusion.json", to_json(to_value(report)) + "\n"));
  CALKIT_CHECK_OK(stage.commit(), "putting the graphs in place");
  return report;
}

}  // namespace calkit::passes
