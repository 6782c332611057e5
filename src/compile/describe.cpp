#include "describe.h"

#include <fmt/format.h>

#include <cstdlib>

#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "calkit/calbin/runtime_abi.h"

namespace calkit::compile {
namespace {

std::string digest_text(const std::string& hex) {
  return "sha256:" + hex;
}

/// The clock does not get into a package unless the caller pins it: two packs must give the same bytes.
std::optional<std::string> pinned_time() {
  if (std::getenv("SOURCE_DATE_EPOCH") == nullptr) return std::nullopt;
  return utc_now();
}

calbin::ModelFacts model_facts(const Inputs& inputs) {
  const hf::ModelSpec& spec = inputs.spec;
  calbin::ModelFacts facts;
  facts.family = spec.model_type;
  facts.hf_repo = inputs.source.repository;
  facts.hf_revision = inputs.source.revision;
  facts.config_digest = digest_text(inputs.source.config_sha256);
  facts.tokenizer_digest = digest_text(inputs.source.tokenizer_sha256);
  if (inputs.source.chat_template_sha256) facts.chat_template_digest = digest_text(*inputs.source.chat_template_sha256);
  facts.layers = spec.layers;
  facts.hidden = spec.hidden;
  facts.q_heads = spec.q_heads;
  facts.kv_heads = spec.kv_heads;
  facts.head_dim = spec.head_dim;
  facts.ffn = spec.ffn;
  facts.vocab = spec.vocab;
  facts.trained_context = spec.max_positions;
  facts.rope_theta = spec.rope_theta;
  return facts;
}

calbin::DeviceFacts device_facts(const manifest::DeviceProfile& profile) {
  calbin::DeviceFacts facts;
  facts.profile = profile.name;
  facts.chips = 1;
  facts.chip_mask = 1;
  calbin::Chip chip;
  chip.dram_usable = profile.usable_bytes();
  facts.chip.push_back(chip);
  return facts;
}

calbin::IoTensor io_tensor(const PlacedGraph& graph, const LoweredValue& value, std::int64_t index,
                           const std::string& role, std::int64_t columns, std::int64_t tile_rows) {
  calbin::IoTensor io;
  io.index = index;
  io.name = value.name;
  io.role = role;
  io.region = graph.region[value.storage];
  io.base = graph.address[value.storage];
  io.dtype = value.dtype;
  io.shape = {padded_rows(graph.options.batch, tile_rows), columns};
  io.layout.logical_shape = {graph.options.batch, columns};
  if (tile_rows > 0) io.layout.tile = {tile_rows};
  const std::uint64_t unit = dtype_bytes(value.dtype), row = unit * static_cast<std::uint64_t>(columns);
  io.layout.strides_bytes = {row, unit};
  io.size = row * static_cast<std::uint64_t>(io.shape[0]);
  return io;
}

calbin::Submodel submodel_of(const DescribeParts& parts, const PlacedGraph& graph) {
  calbin::Submodel out;
  out.name = submodel_name(parts.name, graph.phase);
  out.type = graph.phase;
  out.batch = graph.options.batch;
  out.context = graph.options.context;
  out.tokens = {1, graph.options.max_tokens, 1};
  out.workspace_region = "workspace";
  out.workspace_peak = graph.workspace_peak;
  out.oplist[0] = "oplist." + graph.phase + ".chip0";
  out.files = {"param_blk0", out.oplist[0]};
  for (const LoweredValue& value : graph.lowered.values) {
    const Storage& storage = graph.lowered.storages[value.storage];
    if (storage.name != value.name) continue;
    if (storage.home == Home::kInput) {
      const bool token = value.name == kTokenName;
      out.inputs.push_back(
          io_tensor(graph, value, token ? 0 : 1, token ? "token" : "position", graph.options.max_tokens, 0));
    } else if (storage.home == Home::kOutput) {
      out.outputs.push_back(io_tensor(graph, value, 0, "logits", parts.inputs.spec.vocab, parts.place.tile_rows));
    } else if (storage.home == Home::kCsr) {
      out.csr.push_back({value.name, value.name, graph.address[value.storage], 32, graph.options.batch, false});
    }
  }
  return out;
}

calbin::Provenance provenance(const DescribeParts& parts) {
  const PackOptions& options = parts.options;
  calbin::Provenance out;
  const std::string commit = calkit_commit();
  if (commit != "unknown")
    out.commits["compiler"] = commit;
  else
    out.notes["compiler"] = "calkit was built outside a checkout of its sources";
  for (const char* part : {"tvm", "kernel", "oplib"})
    out.notes[part] = "not used: the emulated device runs calkit's own kernels";
  out.notes["container_digest"] = "not built in a container";
  out.argv = {"calkit",
              "pack",
              "ONNX",
              "--baseline",
              "BASELINE",
              "--out",
              parts.name + ".calbin",
              "--slots",
              std::to_string(parts.place.slots),
              "--tile",
              std::to_string(options.tile_rows)};
  const Value config = Value::object({{"batch", parts.graphs[0].options.batch},
                                      {"context", parts.graphs[0].options.context},
                                      {"device_profile", options.profile.name},
                                      {"dtype", dtype_name(parts.inputs.dtype)},
                                      {"slots", parts.place.slots},
                                      {"tile_rows", options.tile_rows}});
  out.config_digest = digest_text(sha256_hex(to_json(config)));
  out.input_onnx_digest = {{"prefill", digest_text(parts.inputs.prefill_sha256)},
                           {"decode", digest_text(parts.inputs.decode_sha256)}};
  out.started = out.finished = pinned_time();
  return out;
}

}  // namespace

std::string submodel_name(const std::string& package, const std::string& phase) {
  return package + "-" + phase;
}

calbin::Description describe(DescribeParts parts) {
  calbin::Description out;
  out.name = parts.name;
  out.version = kPackageVersion;
  out.created = pinned_time();
  out.compat = {calbin::kEmulatedRuntimeAbi, "any", "any", "emulated"};
  out.model = model_facts(parts.inputs);
  const LowerOptions& prefill = parts.graphs[0].options;
  out.limits = {prefill.context, prefill.batch, prefill.max_tokens, parts.place.slots};
  out.device = device_facts(parts.options.profile);
  out.partition.kind = "single";
  out.memory.regions = parts.plan.regions;
  out.memory.device_required = parts.plan.device_required;
  // Every region is a multiple of 4 KiB, so this text is exact unless the guard is not.
  out.memory.declared_text = out.memory.device_required % 1024 == 0
                                 ? fmt::format("{} KiB", out.memory.device_required / 1024)
                                 : fmt::format("{} B", out.memory.device_required);
  const std::uint64_t param_base = out.region("param")->base;
  for (const BlockEntry& entry : parts.plan.params.entries) {
    calbin::Param param;
    param.name = entry.initializer->name;
    param.file = "param_blk0";
    param.region = "param";
    param.offset = entry.offset;
    param.length = entry.initializer->data->bytes();
    param.base = param_base + entry.offset;
    param.dtype = entry.dtype;
    param.shape = param.logical_shape = entry.initializer->dims;
    out.params.push_back(std::move(param));
  }
  for (const PlacedGraph& graph : parts.graphs) out.submodels.push_back(submodel_of(parts, graph));
  out.kv = {parts.inputs.dtype,  parts.inputs.dtype,    {},    "slot,layer,k|v,head,position,dim",
            parts.plan.kv_bytes, {parts.plan.kv_bytes}, {"kv"}};
  out.provenance = provenance(parts);
  out.files = std::move(parts.files);
  out.golden = std::move(parts.golden);
  return out;
}

}  // namespace calkit::compile
