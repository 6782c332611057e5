/// Control program, chip links, quantisation, provenance, golden results, signatures -> calbin.json.
#include "calkit/base/text.h"
#include "writer.h"

namespace calkit::calbin {

namespace {

Value scheme_value(const QuantScheme& s) {
  Value weight = Value::object({{"bits", s.weight_bits},
                                {"signed", s.weight_signed},
                                {"sym", s.symmetric},
                                {"granularity", s.granularity},
                                {"axis", s.axis}});
  if (s.group != 0) weight.set("group", s.group);
  Value out = Value::object(
      {{"id", s.id},
       {"weight", std::move(weight)},
       {"act", Value::object({{"bits", s.act_bits}, {"dynamic", s.act_dynamic}, {"granularity", s.act_granularity}})},
       {"scale_dtype", s.scale_dtype}});
  set_if(out, "zp_dtype", s.zero_point_dtype);
  return out;
}

}  // namespace

Value ccu_value(const Ccu& c) {
  return Value::object({{"elf", c.elf},
                        {"machine", c.machine},
                        {"class", c.elf_class},
                        {"endian", c.little_endian ? "little" : "big"},
                        {"flags", hex_u64(c.flags)},
                        {"load_region", c.load_region}});
}

Value d2d_value(const D2d& d) {
  Value out =
      Value::object({{"required", d.required}, {"routes", array_of(d.routes, [](const Route& route) {
                                                  return Value::object({{"from", route.from}, {"to", route.to}});
                                                })}});
  set_if(out, "helper", d.helper);
  return out;
}

Value quant_value(const Quant& q) {
  Value out = Value::object({{"schemes", array_of(q.schemes, scheme_value)}, {"ops", map_value(q.ops)}});
  set_if(out, "calibration_digest", q.calibration_digest);
  if (q.scales.empty()) return out;
  Value scales = Value::object();
  for (const auto& [param, names] : q.scales) {
    Value entry = Value::object({{"scale", names.scale}});
    set_if(entry, "zero_point", names.zero_point);
    scales.set(param, std::move(entry));
  }
  out.set("scales", std::move(scales));
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
  set_if(out, "recipe", g.recipe);
  if (!g.covers.empty()) out.set("covers", Value::list(g.covers));
  set_if(out, "tolerance_class", g.tolerance_class);
  if (!g.made_with.empty()) out.set("made_with", map_value(g.made_with));
  return out;
}

Value signature_value(const Signature& s) {
  Value out = Value::object({{"file", s.file}});
  set_if(out, "key_id", s.key_id);
  return out;
}

}  // namespace calkit::calbin
