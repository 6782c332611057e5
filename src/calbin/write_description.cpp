/// Description -> calbin.json. Optional fields that hold nothing are left out, so that one description has one text.
#include "calkit/base/text.h"
#include "writer.h"

namespace calkit::calbin {

namespace {

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
  Value out = Value::object({{"schema", 1},
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
  if (d.ccu) out.set("ccu", ccu_value(*d.ccu));
  if (d.d2d) out.set("d2d", d2d_value(*d.d2d));
  if (d.quant) out.set("quant", quant_value(*d.quant));
  if (!d.signatures.empty()) out.set("signatures", array_of(d.signatures, signature_value));
  set_if(out, "seal", d.seal);
  return out;
}

}  // namespace calkit::calbin
