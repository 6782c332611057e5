/// Submodels: tensors, registers, op lists, commands.
#include "sections.h"

namespace calkit::calbin {

namespace {

constexpr std::int64_t kMax = static_cast<std::int64_t>(kMaxPlainInteger);
constexpr std::int64_t kMaxChip = 63;

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

}  // namespace

Submodel read_submodel(Reader& in, const Node& at) {
  in.only(at, {"name", "type", "batch", "tokens", "context", "chips", "files", "inputs", "outputs", "csr", "workspace",
               "oplist", "iomap", "commands"});
  Submodel out;
  out.name = in.text(at, "name");
  const Node type = Reader::member(at, "type");
  if (type.present() && type.value->is_string())
    out.type = *type.value->if_string();  // any text, "" too: lint judges it
  else
    in.text(at, "type");
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

}  // namespace calkit::calbin
