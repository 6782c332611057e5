/// Submodel -> calbin.json.
#include "calkit/base/text.h"
#include "writer.h"

namespace calkit::calbin {

namespace {

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

}  // namespace

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

}  // namespace calkit::calbin
