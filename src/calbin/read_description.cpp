/// calbin.json -> Description: one reader for the strict use (parse_description) and for lint (read_description).
#include <fmt/format.h>

#include "calkit/calbin/reading.h"
#include "reader.h"

namespace calkit::calbin {

namespace {

constexpr std::int64_t kMax = static_cast<std::int64_t>(kMaxPlainInteger);
constexpr std::int64_t kMaxChip = 63;

Compat read_compat(Reader& in, const Node& parent) {
  Compat out;
  const auto at = in.object(parent, "compat");
  if (!at) return out;
  in.only(*at, {"runtime_abi", "driver", "firmware", "device"});
  out.runtime_abi = in.text(*at, "runtime_abi");
  out.driver = in.text(*at, "driver");
  out.firmware = in.text(*at, "firmware");
  out.device = in.text(*at, "device");
  return out;
}

ModelFacts read_model(Reader& in, const Node& root) {
  ModelFacts out;
  const auto at = in.object(root, "model");
  if (!at) return out;
  in.only(*at, {"family", "hf_repo", "hf_revision", "config_digest", "tokenizer_digest", "chat_template_digest",
                "layers", "hidden", "q_heads", "kv_heads", "head_dim", "ffn", "vocab", "experts", "experts_per_token",
                "rope_theta", "trained_context"});
  out.family = in.text(*at, "family");
  out.hf_repo = in.maybe_text(*at, "hf_repo");
  out.hf_revision = in.maybe_text(*at, "hf_revision");
  out.config_digest = in.digest(*at, "config_digest");
  out.tokenizer_digest = in.digest(*at, "tokenizer_digest");
  out.chat_template_digest = in.digest(*at, "chat_template_digest", Need::kOptional);
  out.layers = in.integer(*at, "layers", 1, kMax);
  out.hidden = in.integer(*at, "hidden", 1, kMax);
  out.q_heads = in.integer(*at, "q_heads", 1, kMax);
  out.kv_heads = in.integer(*at, "kv_heads", 1, kMax);
  out.head_dim = in.integer(*at, "head_dim", 1, kMax);
  out.ffn = in.integer(*at, "ffn", 1, kMax);
  out.vocab = in.integer(*at, "vocab", 1, kMax);
  out.experts = in.maybe_integer(*at, "experts", 1, kMax);
  out.experts_per_token = in.maybe_integer(*at, "experts_per_token", 1, kMax);
  out.rope_theta = in.number(*at, "rope_theta");
  out.trained_context = in.integer(*at, "trained_context", 1, kMax);
  return out;
}

Limits read_limits(Reader& in, const Node& root) {
  Limits out;
  const auto at = in.object(root, "limits");
  if (!at) return out;
  in.only(*at, {"context", "max_batch", "max_prefill_tokens", "slots"});
  out.context = in.integer(*at, "context", 1, kMax);
  out.max_batch = in.integer(*at, "max_batch", 1, kMax);
  out.max_prefill_tokens = in.integer(*at, "max_prefill_tokens", 1, kMax);
  out.slots = in.integer(*at, "slots", 1, kMax);
  return out;
}

DeviceFacts read_device(Reader& in, const Node& root) {
  DeviceFacts out;
  const auto at = in.object(root, "device");
  if (!at) return out;
  in.only(*at, {"profile", "chips", "chip_mask", "calcores_per_chip", "chip"});
  out.profile = in.text(*at, "profile");
  out.chips = in.integer(*at, "chips", 1, kMaxChip + 1);
  out.chip_mask = in.hex(*at, "chip_mask");
  out.calcores_per_chip = in.maybe_integer(*at, "calcores_per_chip", 1, kMax);
  in.objects(*at, "chip", [&](const Node& item) {
    in.only(item, {"id", "dram_usable", "sram", "link_bw"});
    Chip chip;
    chip.id = in.integer(item, "id", 0, kMaxChip);
    chip.dram_usable = in.size(item, "dram_usable");
    if (Reader::member(item, "sram").present()) chip.sram = in.size(item, "sram");
    if (Reader::member(item, "link_bw").present()) chip.link_bw = in.size(item, "link_bw");
    out.chip.push_back(chip);
  });
  return out;
}

Partition read_partition(Reader& in, const Node& root) {
  Partition out;
  const auto at = in.object(root, "partition");
  if (!at) return out;
  in.only(*at, {"kind", "degree", "axes"});
  out.kind = in.word(*at, "kind", {"single", "tp", "ep", "pp", "mixed"});
  out.degree = in.integer(*at, "degree", 1, kMaxChip + 1);
  out.axes = in.texts(*at, "axes");
  return out;
}

PackageFile read_file_entry(Reader& in, const Node& at) {
  in.only(at, {"id", "path", "role", "size", "digest", "chips", "optional"});
  PackageFile out;
  out.id = in.text(at, "id");
  out.path = in.text(at, "path");
  out.role = in.word(at, "role",
                     {"param", "command-bin", "command-text", "ccu-elf", "d2d-helper", "profile", "oplist", "iomap",
                      "golden", "onnx", "log", "license"});
  out.size = in.size(at, "size");
  out.digest = in.digest(at, "digest");
  out.chips = in.hex(at, "chips", Need::kOptional);
  out.optional = in.boolean(at, "optional", Need::kOptional);
  return out;
}

Region read_region(Reader& in, const Node& at) {
  in.only(at, {"id", "chip", "space", "kind", "base", "size", "align", "parent", "shared_with"});
  Region out;
  out.id = in.text(at, "id");
  out.chip = in.integer(at, "chip", 0, kMaxChip);
  out.space = in.word(at, "space", {"dram", "sram"});
  out.kind = in.word(at, "kind", {"param", "kv", "workspace", "io", "command", "ccu", "guard", "global"});
  out.base = in.hex(at, "base");
  out.size = in.size(at, "size");
  out.align = in.size(at, "align");
  out.parent = in.text(at, "parent", Need::kOptional);
  out.shared_with = in.texts(at, "shared_with", Need::kOptional);
  return out;
}

Memory read_memory(Reader& in, const Node& root) {
  Memory out;
  const auto at = in.object(root, "memory");
  if (!at) return out;
  in.only(*at, {"device_required", "declared_text", "regions"});
  out.device_required = in.size(*at, "device_required");
  out.declared_text = in.text(*at, "declared_text", Need::kOptional);
  in.objects(*at, "regions", [&](const Node& item) { out.regions.push_back(read_region(in, item)); });
  return out;
}

Shard read_shard(Reader& in, const Node& at) {
  in.only(at, {"axis", "index", "count", "replicated"});
  Shard out;
  out.axis = in.integer(at, "axis", 0, 15);
  out.index = in.integer(at, "index", 0, kMaxChip);
  out.count = in.integer(at, "count", 1, kMaxChip + 1);
  out.replicated = in.boolean(at, "replicated");
  return out;
}

Param read_param(Reader& in, const Node& at) {
  in.only(at, {"name", "file", "offset", "length", "chip", "region", "base", "dtype", "shape", "logical_shape", "shard",
               "quant_ref", "tied_to"});
  Param out;
  out.name = in.text(at, "name");
  out.file = in.text(at, "file");
  out.offset = in.size(at, "offset");
  out.length = in.size(at, "length");
  out.chip = in.integer(at, "chip", 0, kMaxChip);
  out.region = in.text(at, "region");
  out.base = in.hex(at, "base");
  out.dtype = in.dtype(at, "dtype");
  out.shape = in.shape(at, "shape");
  out.logical_shape = in.shape(at, "logical_shape");
  if (const auto shard = in.object(at, "shard", Need::kOptional)) out.shard = read_shard(in, *shard);
  out.quant_ref = in.text(at, "quant_ref", Need::kOptional);
  out.tied_to = in.text(at, "tied_to", Need::kOptional);
  return out;
}

Layout read_layout(Reader& in, const Node& parent) {
  Layout out;
  const auto at = in.object(parent, "layout");
  if (!at) return out;
  in.only(*at, {"order", "tile", "logical_shape", "strides_bytes"});
  out.order = in.word(*at, "order", {"row-major"});
  out.tile = in.shape(*at, "tile");
  out.logical_shape = in.shape(*at, "logical_shape");
  out.strides_bytes = in.sizes(*at, "strides_bytes", Need::kOptional);
  return out;
}

IoTensor read_tensor(Reader& in, const Node& at) {
  in.only(at, {"index", "name", "role", "region", "dtype", "shape", "layout", "chip", "base", "size", "alias_of",
               "pingpong"});
  IoTensor out;
  out.index = in.integer(at, "index", 0, 65535);
  out.name = in.text(at, "name");
  out.role = in.word(at, "role",
                     {"token", "position", "mask", "logits", "past_k", "past_v", "present_k", "present_v", "hidden"});
  out.region = in.text(at, "region");
  out.dtype = in.dtype(at, "dtype");
  out.shape = in.shape(at, "shape");
  out.layout = read_layout(in, at);
  out.chip = in.integer(at, "chip", 0, kMaxChip);
  out.base = in.hex(at, "base");
  out.size = in.size(at, "size");
  out.alias_of = in.text(at, "alias_of", Need::kOptional);
  if (const auto pair = in.object(at, "pingpong", Need::kOptional)) {
    in.only(*pair, {"ping_base", "pong_base", "inflight"});
    PingPong value;
    value.ping_base = in.hex(*pair, "ping_base");
    value.pong_base = in.hex(*pair, "pong_base");
    value.inflight = in.integer(*pair, "inflight", 1, 1024);
    out.pingpong = value;
  }
  return out;
}

Csr read_csr(Reader& in, const Node& at) {
  in.only(at, {"name", "role", "base", "width_bits", "signed", "count"});
  Csr out;
  out.name = in.text(at, "name");
  out.role = in.text(at, "role");
  out.base = in.hex(at, "base");
  out.width_bits = in.integer(at, "width_bits", 8, 64);
  out.is_signed = in.boolean(at, "signed");
  out.count = in.integer(at, "count", 1, 65536);
  return out;
}

/// S, or [min, max, step].
TokenRange read_tokens(Reader& in, const Node& parent) {
  TokenRange out;
  const Node at = Reader::member(parent, "tokens");
  if (!at.present()) {
    in.integer(parent, "tokens", 1, kMax);  // reports that it is missing
    return out;
  }
  const auto* list = at.value->if_array();
  if (list == nullptr) {
    out.min = out.max = in.integer_of(at, 1, kMax).value_or(1);
    return out;
  }
  if (list->size() != 3) {
    in.problem(ProblemKind::kWrongType, at, at.value->describe(), "S, or [min, max, step]");
    return out;
  }
  const auto range = in.shape(parent, "tokens");
  if (range[0] < 1 || range[1] < range[0] || range[2] < 1)
    in.problem(ProblemKind::kOutOfRange, at, shape_text(range), "1 <= min <= max and step >= 1");
  else
    out = {range[0], range[1], range[2]};
  return out;
}

Command read_command(Reader& in, const Node& at) {
  in.only(at, {"kind", "chip", "bin", "text", "record_size", "records"});
  Command out;
  out.kind = in.word(at, "kind", {"cpu", "pld"});
  out.chip = in.integer(at, "chip", 0, kMaxChip);
  out.bin = in.text(at, "bin");
  out.text = in.text(at, "text");
  out.record_size = in.integer(at, "record_size", 1, kMax);
  out.records = in.integer(at, "records", 0, kMax);
  return out;
}

Submodel read_submodel(Reader& in, const Node& at) {
  in.only(at, {"name", "type", "batch", "tokens", "context", "chips", "files", "inputs", "outputs", "csr", "workspace",
               "oplist", "iomap", "commands"});
  Submodel out;
  out.name = in.text(at, "name");
  out.type = in.text(at, "type");
  out.batch = in.integer(at, "batch", 1, kMax);
  out.tokens = read_tokens(in, at);
  out.context = in.integer(at, "context", 1, kMax);
  out.chips = in.hex(at, "chips");
  out.files = in.texts(at, "files", Need::kOptional);
  in.objects(at, "inputs", [&](const Node& item) { out.inputs.push_back(read_tensor(in, item)); });
  in.objects(at, "outputs", [&](const Node& item) { out.outputs.push_back(read_tensor(in, item)); });
  in.objects(at, "csr", [&](const Node& item) { out.csr.push_back(read_csr(in, item)); });
  if (const auto workspace = in.object(at, "workspace")) {
    in.only(*workspace, {"region", "peak"});
    out.workspace_region = in.text(*workspace, "region");
    out.workspace_peak = in.size(*workspace, "peak");
  }
  out.oplist = in.chip_map(at, "oplist", Need::kRequired);
  out.iomap = in.chip_map(at, "iomap", Need::kOptional);
  in.objects(
      at, "commands", [&](const Node& item) { out.commands.push_back(read_command(in, item)); }, Need::kOptional);
  return out;
}

Kv read_kv(Reader& in, const Node& root) {
  Kv out;
  const auto at = in.object(root, "kv");
  if (!at) return out;
  in.only(*at, {"k_dtype", "v_dtype", "scale_dtype", "layout", "bytes_total", "bytes_per_chip", "region"});
  out.k_dtype = in.dtype(*at, "k_dtype");
  out.v_dtype = in.dtype(*at, "v_dtype");
  out.scale_dtype = in.text(*at, "scale_dtype", Need::kOptional);
  out.layout = in.text(*at, "layout");
  out.bytes_total = in.size(*at, "bytes_total");
  out.bytes_per_chip = in.sizes(*at, "bytes_per_chip");
  out.regions = in.texts(*at, "region");
  return out;
}

/// A text that may be null when `notes` says why.
std::string explained_text(Reader& in, const Node& at, std::string_view key,
                           const std::map<std::string, std::string>& notes) {
  if (Reader::member(at, key).present()) return in.text(at, key);
  if (!notes.contains(std::string(key)))
    in.problem(ProblemKind::kMissing, Reader::member(at, key), "nothing",
               fmt::format("a value, or the reason in notes.{}", key));
  return {};
}

Provenance read_provenance(Reader& in, const Node& root) {
  Provenance out;
  const auto at = in.object(root, "provenance");
  if (!at) return out;
  in.only(*at, {"compiler", "tvm", "kernel", "oplib", "container_digest", "argv", "config_digest", "env_allow",
                "input_onnx_digest", "started", "finished", "notes"});
  out.notes = in.text_map(*at, "notes", Need::kOptional);
  for (const char* key : {"compiler", "tvm", "kernel", "oplib"}) {
    const std::string commit = explained_text(in, *at, key, out.notes);
    if (!commit.empty()) out.commits[key] = commit;
  }
  out.container_digest = explained_text(in, *at, "container_digest", out.notes);
  out.argv = in.texts(*at, "argv");
  out.config_digest = in.digest(*at, "config_digest");
  out.env_allow = in.text_map(*at, "env_allow", Need::kOptional);
  if (const auto digests = in.object(*at, "input_onnx_digest"))
    for (const auto& member : *digests->value->if_object())
      out.input_onnx_digest[member.first] = in.digest(*digests, member.first);
  out.started = in.maybe_text(*at, "started");
  out.finished = in.maybe_text(*at, "finished");
  return out;
}

Golden read_golden(Reader& in, const Node& at) {
  in.only(at, {"submodel", "inputs", "outputs", "digest", "tolerance_class", "made_with"});
  Golden out;
  out.submodel = in.text(at, "submodel");
  out.inputs = in.text(at, "inputs", Need::kOptional);
  out.outputs = in.text(at, "outputs", Need::kOptional);
  out.digest = in.digest(at, "digest", Need::kOptional);
  out.tolerance_class = in.text(at, "tolerance_class", Need::kOptional);
  out.made_with = in.text_map(at, "made_with", Need::kOptional);
  return out;
}

void read_all(Reader& in, const Node& root, Description& out) {
  in.only(root, {"schema", "package", "model", "limits", "device", "partition", "files", "memory", "params",
                 "submodels", "kv", "provenance", "golden"});
  if (const auto package = in.object(root, "package")) {
    in.only(*package, {"name", "version", "created", "compat"});
    out.name = in.text(*package, "name");
    out.version = in.text(*package, "version");
    out.created = in.maybe_text(*package, "created");
    out.compat = read_compat(in, *package);
  }
  out.model = read_model(in, root);
  out.limits = read_limits(in, root);
  out.device = read_device(in, root);
  out.partition = read_partition(in, root);
  in.objects(root, "files", [&](const Node& item) { out.files.push_back(read_file_entry(in, item)); });
  out.memory = read_memory(in, root);
  in.objects(root, "params", [&](const Node& item) { out.params.push_back(read_param(in, item)); });
  in.objects(root, "submodels", [&](const Node& item) { out.submodels.push_back(read_submodel(in, item)); });
  out.kv = read_kv(in, root);
  out.provenance = read_provenance(in, root);
  in.objects(root, "golden", [&](const Node& item) { out.golden.push_back(read_golden(in, item)); });
}

/// The schema number comes first: a document of another schema is not read as if it were this one.
bool schema_is_ours(Reader& in, const Node& root) {
  const Node schema = Reader::member(root, "schema");
  const bool ours = schema.value != nullptr && schema.value->is_integer() && schema.value->if_int() == 1;
  if (!ours)
    in.problem(ProblemKind::kSchema, schema, schema.value == nullptr ? "nothing" : schema.value->describe(),
               "the integer 1", "this calkit reads schema 1 of calbin.json only");
  return ours;
}

}  // namespace

Reading read_description(const Cursor& cursor) {
  Reading out;
  Reader in(out.problems);
  const std::string prefix = cursor.pointer();
  const Node root{&cursor.value(), nullptr, prefix};
  if (!cursor.value().is_object()) {
    in.problem(ProblemKind::kWrongType, root, cursor.value().describe(), "an object");
    return out;
  }
  if (!schema_is_ours(in, root)) return out;
  read_all(in, root, out.description);
  check_references(cursor.value(), out.description, out.problems);
  return out;
}

Result<Description> parse_description(const Cursor& root) {
  Reading reading = read_description(root);
  for (const auto& problem : reading.problems)
    if (problem.kind != ProblemKind::kDigestCase) return error_of(problem, root.file());
  return std::move(reading.description);
}

}  // namespace calkit::calbin
