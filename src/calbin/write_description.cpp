/// Description -> calbin.json. Optional fields that hold nothing are left out, so that one description has one text.
#include <string>

#include "calkit/base/text.h"
#include "calkit/calbin/package.h"

namespace calkit::calbin {

namespace {

Value text_or_null(const std::string& text) {
  return text.empty() ? Value(nullptr) : Value(text);
}

void set_if(Value& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out.set(key, text);
}

Value map_value(const std::map<std::string, std::string>& map) {
  Value out = Value::object();
  for (const auto& [key, text] : map) out.set(key, text);
  return out;
}

Value chip_map_value(const std::map<std::int64_t, std::string>& map) {
  Value out = Value::object();
  for (const auto& [chip, id] : map) out.set(std::to_string(chip), id);
  return out;
}

template <class Range, class Make>
Value array_of(const Range& range, Make make) {
  Value out = Value::array();
  for (const auto& item : range) out.push(make(item));
  return out;
}

Value model_value(const ModelFacts& m) {
  return Value::object({{"family", m.family},
                        {"hf_repo", m.hf_repo},
                        {"hf_revision", m.hf_revision},
                        {"config_digest", text_or_null(m.config_digest)},
                        {"tokenizer_digest", text_or_null(m.tokenizer_digest)},
                        {"chat_template_digest", text_or_null(m.chat_template_digest)},
                        {"layers", m.layers},
                        {"hidden", m.hidden},
                        {"q_heads", m.q_heads},
                        {"kv_heads", m.kv_heads},
                        {"head_dim", m.head_dim},
                        {"ffn", m.ffn},
                        {"vocab", m.vocab},
                        {"experts", m.experts},
                        {"experts_per_token", m.experts_per_token},
                        {"rope_theta", m.rope_theta},
                        {"trained_context", m.trained_context}});
}

Value device_value(const DeviceFacts& d) {
  return Value::object(
      {{"profile", d.profile},
       {"chips", d.chips},
       {"chip_mask", hex_u64(d.chip_mask)},
       {"calcores_per_chip", d.calcores_per_chip},
       {"chip", array_of(d.chip, [](const Chip& c) {
          return Value::object(
              {{"id", c.id}, {"dram_usable", c.dram_usable}, {"sram", c.sram}, {"link_bw", c.link_bw}});
        })}});
}

Value file_value(const PackageFile& f) {
  Value out = Value::object({{"id", f.id}, {"path", f.path}, {"role", f.role}, {"size", f.size}, {"digest", f.digest}});
  if (f.chips != 0) out.set("chips", hex_u64(f.chips));
  if (f.optional) out.set("optional", true);
  return out;
}

Value region_value(const Region& r) {
  Value out = Value::object({{"id", r.id},
                             {"chip", r.chip},
                             {"space", r.space},
                             {"kind", r.kind},
                             {"base", hex_u64(r.base)},
                             {"size", r.size},
                             {"align", r.align}});
  set_if(out, "parent", r.parent);
  if (!r.shared_with.empty()) out.set("shared_with", Value::list(r.shared_with));
  return out;
}

Value param_value(const Param& p) {
  Value out = Value::object({{"name", p.name},
                             {"file", p.file},
                             {"offset", p.offset},
                             {"length", p.length},
                             {"chip", p.chip},
                             {"region", p.region},
                             {"base", hex_u64(p.base)},
                             {"dtype", dtype_name(p.dtype)},
                             {"shape", Value::list(p.shape)},
                             {"logical_shape", Value::list(p.logical_shape)}});
  if (p.shard)
    out.set("shard", Value::object({{"axis", p.shard->axis},
                                    {"index", p.shard->index},
                                    {"count", p.shard->count},
                                    {"replicated", p.shard->replicated}}));
  set_if(out, "quant_ref", p.quant_ref);
  set_if(out, "tied_to", p.tied_to);
  return out;
}

Value layout_value(const Layout& l) {
  Value out = Value::object(
      {{"order", l.order}, {"tile", Value::list(l.tile)}, {"logical_shape", Value::list(l.logical_shape)}});
  if (!l.strides_bytes.empty()) out.set("strides_bytes", Value::list(l.strides_bytes));
  return out;
}

Value tensor_value(const IoTensor& t) {
  Value out = Value::object({{"index", t.index},
                             {"name", t.name},
                             {"role", t.role},
                             {"region", t.region},
                             {"dtype", dtype_name(t.dtype)},
                             {"shape", Value::list(t.shape)},
                             {"layout", layout_value(t.layout)},
                             {"chip", t.chip},
                             {"base", hex_u64(t.base)},
                             {"size", t.size}});
  set_if(out, "alias_of", t.alias_of);
  if (t.pingpong)
    out.set("pingpong", Value::object({{"ping_base", hex_u64(t.pingpong->ping_base)},
                                       {"pong_base", hex_u64(t.pingpong->pong_base)},
                                       {"inflight", t.pingpong->inflight}}));
  return out;
}

Value csr_value(const Csr& c) {
  return Value::object({{"name", c.name},
                        {"role", c.role},
                        {"base", hex_u64(c.base)},
                        {"width_bits", c.width_bits},
                        {"signed", c.is_signed},
                        {"count", c.count}});
}

Value command_value(const Command& c) {
  return Value::object({{"kind", c.kind},
                        {"chip", c.chip},
                        {"bin", c.bin},
                        {"text", c.text},
                        {"record_size", c.record_size},
                        {"records", c.records}});
}

Value submodel_value(const Submodel& s) {
  const bool fixed = s.tokens.min == s.tokens.max && s.tokens.step == 1;
  Value out = Value::object(
      {{"name", s.name},
       {"type", s.type},
       {"batch", s.batch},
       {"tokens", fixed ? Value(s.tokens.max) : Value::list(Shape{s.tokens.min, s.tokens.max, s.tokens.step})},
       {"context", s.context},
       {"chips", hex_u64(s.chips)},
       {"inputs", array_of(s.inputs, tensor_value)},
       {"outputs", array_of(s.outputs, tensor_value)},
       {"csr", array_of(s.csr, csr_value)},
       {"workspace", Value::object({{"region", s.workspace_region}, {"peak", s.workspace_peak}})},
       {"oplist", chip_map_value(s.oplist)}});
  if (!s.files.empty()) out.set("files", Value::list(s.files));
  if (!s.iomap.empty()) out.set("iomap", chip_map_value(s.iomap));
  if (!s.commands.empty()) out.set("commands", array_of(s.commands, command_value));
  return out;
}

Value kv_value(const Kv& kv) {
  Value out = Value::object({{"k_dtype", dtype_name(kv.k_dtype)},
                             {"v_dtype", dtype_name(kv.v_dtype)},
                             {"layout", kv.layout},
                             {"bytes_total", kv.bytes_total},
                             {"bytes_per_chip", Value::list(kv.bytes_per_chip)},
                             {"region", Value::list(kv.regions)}});
  set_if(out, "scale_dtype", kv.scale_dtype);
  return out;
}

Value provenance_value(const Provenance& p) {
  Value out = Value::object({{"container_digest", text_or_null(p.container_digest)},
                             {"argv", Value::list(p.argv)},
                             {"config_digest", p.config_digest},
                             {"input_onnx_digest", map_value(p.input_onnx_digest)},
                             {"started", p.started},
                             {"finished", p.finished}});
  for (const char* key : {"compiler", "tvm", "kernel", "oplib"}) {
    const auto commit = p.commits.find(key);
    out.set(key, commit != p.commits.end() ? Value(commit->second) : Value(nullptr));
  }
  if (!p.env_allow.empty()) out.set("env_allow", map_value(p.env_allow));
  if (!p.notes.empty()) out.set("notes", map_value(p.notes));
  return out;
}

Value golden_value(const Golden& g) {
  Value out = Value::object({{"submodel", g.submodel}});
  set_if(out, "inputs", g.inputs);
  set_if(out, "outputs", g.outputs);
  set_if(out, "digest", g.digest);
  set_if(out, "tolerance_class", g.tolerance_class);
  if (!g.made_with.empty()) out.set("made_with", map_value(g.made_with));
  return out;
}

}  // namespace

Value to_value(const Description& d) {
  Value package = Value::object({{"name", d.name},
                                 {"version", d.version},
                                 {"compat", Value::object({{"runtime_abi", d.compat.runtime_abi},
                                                           {"driver", d.compat.driver},
                                                           {"firmware", d.compat.firmware},
                                                           {"device", d.compat.device}})}});
  if (d.created) package.set("created", *d.created);
  Value memory = Value::object(
      {{"device_required", d.memory.device_required}, {"regions", array_of(d.memory.regions, region_value)}});
  set_if(memory, "declared_text", d.memory.declared_text);
  return Value::object({{"schema", 1},
                        {"package", std::move(package)},
                        {"model", model_value(d.model)},
                        {"limits", Value::object({{"context", d.limits.context},
                                                  {"max_batch", d.limits.max_batch},
                                                  {"max_prefill_tokens", d.limits.max_prefill_tokens},
                                                  {"slots", d.limits.slots}})},
                        {"device", device_value(d.device)},
                        {"partition", Value::object({{"kind", d.partition.kind},
                                                     {"degree", d.partition.degree},
                                                     {"axes", Value::list(d.partition.axes)}})},
                        {"files", array_of(d.files, file_value)},
                        {"memory", std::move(memory)},
                        {"params", array_of(d.params, param_value)},
                        {"submodels", array_of(d.submodels, submodel_value)},
                        {"kv", kv_value(d.kv)},
                        {"provenance", provenance_value(d.provenance)},
                        {"golden", array_of(d.golden, golden_value)}});
}

}  // namespace calkit::calbin
