#include "calkit/compile/pack.h"

#include <fmt/format.h>

#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "calkit/base/paths.h"
#include "calkit/base/process.h"
#include "calkit/calbin/reading.h"
#include "describe.h"
#include "inputs.h"
#include "lower.h"
#include "place.h"
#include "write.h"

namespace calkit::compile {
namespace {

Error usage(const std::string& option, const std::string& found, const std::string& allowed) {
  return Error{ErrorKind::kUsage, fmt::format("{}: found {}; allowed: {}", option, found, allowed)};
}

Status check_options(const PackOptions& options) {
  if (options.out.extension() != ".calbin" || options.out.stem().empty())
    return usage("--out", options.out.string(), "NAME.calbin; NAME names the package");
  if (options.tile_rows != 0 && options.tile_rows != 16 && options.tile_rows != 32)
    return usage("--tile", fmt::format("{}", options.tile_rows), "0, 16 or 32");
  if (options.slots < 0 || options.slots > 65536) return usage("--slots", fmt::format("{}", options.slots), "1..65536");
  return {};
}

/// A package replaces an earlier package, never a folder of something else, and never grows inside what it is made
/// from.
Status check_target(const PackOptions& options) {
  const std::filesystem::path& out = options.out;
  for (const auto& input : {options.onnx_dir, options.baseline})
    if (lies_inside(out, input))
      return input_error(out.string(), "--out", "a place inside " + input.string(), "a folder outside the inputs",
                         "the input would not verify any more; choose another place");
  std::error_code ignored;
  if (!std::filesystem::is_directory(out, ignored) || std::filesystem::is_empty(out, ignored)) return {};
  if (std::filesystem::exists(out / "calbin.json", ignored)) return {};
  return input_error(out.string(), "--out", "a folder with other files in it", "a new folder or an earlier package",
                     "choose another folder or empty this one");
}

Result<std::vector<PlacedGraph>> lower_both(const Inputs& inputs) {
  std::vector<PlacedGraph> graphs(2);
  const manifest::ProductTargets& targets = inputs.source.targets;
  for (const bool decode : {false, true}) {
    PlacedGraph& graph = graphs[decode ? 1 : 0];
    graph.phase = decode ? "decode" : "prefill";
    graph.options = {decode, targets.batch, decode ? 1 : targets.context, targets.context};
    CALKIT_TRY(graph.lowered, lower(decode ? inputs.decode : inputs.prefill, inputs.spec, graph.options),
               "lowering the " + graph.phase + " graph");
  }
  return graphs;
}

PackReport report_of(const calbin::Description& d, const MemoryPlan& plan, const std::vector<PlacedGraph>& graphs) {
  PackReport out;
  out.name = d.name;
  out.version = d.version;
  out.runtime_abi = d.compat.runtime_abi;
  out.architecture = d.model.family;
  out.prefill_model = d.submodels[0].name;
  out.decode_model = d.submodels[1].name;
  out.token = "inputs[0]";
  out.position = "inputs[1]";
  out.logits = "outputs[0]";
  out.csr_current = fmt::format("{}[0]", kCurrentCsr);
  out.csr_past_current = fmt::format("{}[0]", kPastCsr);
  out.context = d.limits.context;
  out.batch = d.limits.max_batch;
  out.vocab = d.model.vocab;
  out.slots = d.limits.slots;
  out.prefill_ops = graphs[0].lowered.ops.size();
  out.decode_ops = graphs[1].lowered.ops.size();
  out.params = d.params.size();
  out.goldens = d.golden.size();
  out.param_bytes = plan.params.bytes;
  out.kv_bytes = plan.kv_bytes;
  out.workspace_bytes = plan.workspace_bytes;
  out.io_bytes = plan.io_bytes;
  out.device_required = plan.device_required;
  return out;
}

}  // namespace

Result<PackReport> pack(const PackOptions& options) {
  CALKIT_CHECK_OK(check_options(options));
  CALKIT_CHECK_OK(check_target(options));
  CALKIT_TRY(const Inputs inputs, read_inputs(options.onnx_dir, options.baseline));
  PlaceOptions placing{options.slots == 0 ? inputs.source.targets.batch : options.slots, options.tile_rows,
                       options.profile};
  if (placing.slots < inputs.source.targets.batch)
    return usage("--slots", fmt::format("{}", placing.slots),
                 fmt::format("at least the batch, {}", inputs.source.targets.batch));
  CALKIT_TRY(std::vector<PlacedGraph> graphs, lower_both(inputs));
  CALKIT_TRY(const MemoryPlan plan, place(inputs, placing, graphs));

  const std::string name = options.out.stem().string();
  CALKIT_TRY(StagedDir stage, StagedDir::create(options.out), "creating the package folder");
  for (const char* folder : {"oplist", "golden"}) {
    std::error_code failed;
    if (!std::filesystem::create_directory(stage.path() / folder, failed) && failed)
      return Error{ErrorKind::kIo,
                   fmt::format("{}: cannot create {}: {}", options.out.string(), folder, failed.message())};
  }
  DescribeParts parts{options, inputs, placing, plan, graphs, name, {}, {}};
  CALKIT_TRY(calbin::PackageFile params, write_params(stage.path(), inputs, plan.params));
  parts.files.push_back(std::move(params));
  for (const PlacedGraph& graph : graphs) {
    CALKIT_TRY(calbin::PackageFile oplist, write_oplist(stage.path(), graph, submodel_name(name, graph.phase)));
    parts.files.push_back(std::move(oplist));
  }
  CALKIT_TRY(Goldens goldens, write_goldens(stage.path(), inputs, graphs[0].options.context,
                                            submodel_name(name, "prefill"), submodel_name(name, "decode")));
  for (calbin::PackageFile& file : goldens.files) parts.files.push_back(std::move(file));
  parts.golden = std::move(goldens.entries);

  calbin::Description description = describe(std::move(parts));
  description.seal = calbin::seal_of(calbin::to_value(description));
  const std::string text = to_json(calbin::to_value(description)) + "\n";
  CALKIT_CHECK_OK(write_file(stage.path() / "calbin.json", text), "writing calbin.json");
  CALKIT_CHECK_OK(stage.commit(), "putting the package in place");
  PackReport report = report_of(description, plan, graphs);
  report.digest = "sha256:" + sha256_hex(text);
  report.guard_bytes = options.profile.guard_bytes;
  return report;
}

}  // namespace calkit::compile
