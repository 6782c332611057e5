/// Family 13.
#include <cmath>
#include <limits>

#include "scenes.h"

namespace calkit::lint {

namespace {

calbin::Quant& quant(Scene& s) {
  return *s.package.description.quant;
}
calbin::QuantScheme& scheme(Scene& s) {
  return quant(s).schemes[0];
}
LintCase on_w8a8(const char* name, Ids expected, std::function<void(Scene&)> change) {
  return {name, std::move(expected), [change = std::move(change)](Scene& s) {
            quantise(s);
            change(s);
          }};
}
LintCase scale(const char* name, Ids expected, float value) {
  return on_w8a8(name, std::move(expected),
                 [value](Scene& s) { put_bytes(s, kScaleAt + 4 * 7, &value, sizeof value); });
}
void rename_scheme(Scene& s, const std::string& id) {
  scheme(s).id = id;
  quant(s).ops["MatMul"] = id;
  s.package.param("w").quant_ref = id;
}

/// Scales of another count, in another shape or dtype, from kScaleAt on.
void reshape_scales(Scene& s, const Shape& shape, DType dtype = DType::kF32) {
  auto& param = s.package.param("w.scale");
  std::uint64_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::uint64_t>(extent);
  param.shape = param.logical_shape = shape;
  param.dtype = dtype;
  param.length = count * dtype_bytes(dtype);
  auto& file = s.package.files["params/blk0.bin"];
  file.resize(kScaleAt);
  for (std::uint64_t i = 0; i < count; ++i) {
    const float value = 0.01f + 0.001f * static_cast<float>(i);
    const auto narrow = to_bf16(value);
    if (dtype == DType::kF32)
      put_bytes(s, kScaleAt + 4 * i, &value, 4);
    else
      put_bytes(s, kScaleAt + 2 * i, &narrow, 2);
  }
}

/// Zero points of 32 rows, i8, all `value`.
void add_zero_points(Scene& s, std::int8_t value) {
  auto zero = s.package.param("w.scale");
  zero.name = "w.zero";
  zero.dtype = DType::kI8;
  zero.offset += 128;
  zero.base += 128;
  zero.length = 32;
  for (std::uint64_t i = 0; i < 32; ++i) put_bytes(s, zero.offset + i, &value, 1);
  s.package.description.params.push_back(zero);
  quant(s).scales["w"].zero_point = "w.zero";
  scheme(s).symmetric = false;
  scheme(s).zero_point_dtype = "i8";
}

void four_bits(Scene& s) {
  rename_scheme(s, "w4a8");
  scheme(s).weight_bits = 4;
}

std::vector<LintCase> scheme_cases() {
  return {
      on_w8a8("CB1301 near: a w8a8 block", {}, [](Scene&) {}),
      on_w8a8("a scheme with a word behind its widths", {"CB1301"}, [](Scene& s) { rename_scheme(s, "w8a8-new"); }),
      on_w8a8("a scheme whose fields have other widths", {"CB1301"}, [](Scene& s) { scheme(s).act_bits = 16; }),
      on_w8a8("a width nobody has", {"CB1301"},
              [](Scene& s) {
                rename_scheme(s, "w7a8");
                scheme(s).weight_bits = 7;
              }),
      on_w8a8("groups without a size", {"CB1301", "CB1302"}, [](Scene& s) { scheme(s).granularity = "group"; }),
      on_w8a8("a symmetric scheme with zero points", {"CB1301"}, [](Scene& s) { scheme(s).zero_point_dtype = "i8"; }),
      on_w8a8("an op of a scheme that is not there", {"CB1301"}, [](Scene& s) { quant(s).ops["MatMul"] = "int8"; }),
      {"a parameter of a scheme that is not there",
       {"CB0204"},
       [](Scene& s) {
         quantise(s);
         s.package.param("w").quant_ref = "w4a8";
       },
       {"CB1301", "CB1302", "CB1303", "CB1304"}},
      on_w8a8("a float parameter of an 8-bit scheme", {"CB1301", "CB1302", "CB1304"},
              [](Scene& s) { s.package.param("table").quant_ref = "w8a8"; }),
      on_w8a8("a matrix of bytes without a scheme", {"CB1301"},
              [](Scene& s) { s.package.param("w").quant_ref.clear(); }),
      on_w8a8("CB1301 near: activations in bf16", {},
              [](Scene& s) {
                rename_scheme(s, "w8abf16");
                scheme(s).act_bits = 16;
              }),
      on_w8a8("CB1301 near: four bits in bytes", {}, four_bits),
  };
}

std::vector<LintCase> shape_cases() {
  return {
      on_w8a8("a scale too few", {"CB1302"}, [](Scene& s) { reshape_scales(s, {31}); }),
      on_w8a8("CB1302 near: scales as a column", {}, [](Scene& s) { reshape_scales(s, {32, 1}); }),
      on_w8a8("scales of another dtype", {"CB1302"}, [](Scene& s) { reshape_scales(s, {32}, DType::kBF16); }),
      on_w8a8("a quantised block without scales", {"CB1302"}, [](Scene& s) { quant(s).scales.clear(); }),
      on_w8a8("groups that do not divide", {"CB1302"},
              [](Scene& s) {
                scheme(s).granularity = "group";
                scheme(s).group = 12;
              }),
      on_w8a8("CB1302 near: groups of 16", {},
              [](Scene& s) {
                scheme(s).granularity = "group";
                scheme(s).group = 16;
                reshape_scales(s, {2, 32});
              }),
      on_w8a8("an axis the block does not have", {"CB1302"}, [](Scene& s) { scheme(s).axis = 2; }),
      on_w8a8("one scale for all when rows have their own", {"CB1302"}, [](Scene& s) { reshape_scales(s, {1}); }),
      on_w8a8("CB1302 near: one scale for a tensor", {},
              [](Scene& s) {
                scheme(s).granularity = "tensor";
                reshape_scales(s, {1});
              }),
      on_w8a8("an asymmetric scheme without zero points", {"CB1302"},
              [](Scene& s) {
                scheme(s).symmetric = false;
                scheme(s).zero_point_dtype = "i8";
              }),
      on_w8a8("CB1302 near: zero points of an asymmetric scheme", {}, [](Scene& s) { add_zero_points(s, 3); }),
      on_w8a8("zero points of another dtype", {"CB1302"},
              [](Scene& s) {
                add_zero_points(s, 3);
                scheme(s).zero_point_dtype = "i16";
              }),
  };
}

std::vector<LintCase> value_cases() {
  return {
      scale("a NaN scale", {"CB1303"}, std::nanf("")),
      scale("an infinite scale", {"CB1303"}, std::numeric_limits<float>::infinity()),
      scale("a zero scale", {"CB1303"}, 0.0f),
      scale("a negative scale", {"CB1303"}, -0.1f),
      scale("a subnormal scale", {"CB1303"}, 1e-40f),
      scale("CB1303 near: the smallest normal scale", {}, std::numeric_limits<float>::min()),
      on_w8a8("scales that are all equal", {"CB1303"},
              [](Scene& s) {
                const float value = 0.01f;
                for (std::uint64_t i = 0; i < 32; ++i) put_bytes(s, kScaleAt + 4 * i, &value, sizeof value);
              }),
      on_w8a8("scales that are no floats", {"CB1302", "CB1303"},
              [](Scene& s) { s.package.param("w.scale").dtype = DType::kI32; }),
      on_w8a8("a zero point beyond four bits", {"CB1303"},
              [](Scene& s) {
                four_bits(s);
                add_zero_points(s, 8);
              }),
      on_w8a8("CB1303 near: the least zero point of four bits", {},
              [](Scene& s) {
                four_bits(s);
                add_zero_points(s, -8);
              }),
  };
}

std::vector<LintCase> policy_cases() {
  return {
      on_w8a8("a quantised router", {"CB1304"}, [](Scene& s) { quant(s).ops["router"] = "w8a8"; }),
      on_w8a8("a quantised norm of a layer", {"CB1304"},
              [](Scene& s) { quant(s).ops["layers.0.input_norm"] = "w8a8"; }),
      on_w8a8("a quantised table that a Gather reads", {"CB1304"},
              [](Scene& s) { s.package.decode.ops[0].reads[0].name = "w"; }),
      on_w8a8("CB1304 near: a quantised gate of the feed-forward part", {},
              [](Scene& s) { quant(s).ops["gate_proj"] = "w8a8"; }),
      on_w8a8("CB1304 near: a router in f32", {}, [](Scene& s) { quant(s).ops["router"] = "f32"; }),
      on_w8a8("no calibration set", {"CB1305"}, [](Scene& s) { quant(s).calibration_digest.clear(); }),
      on_w8a8("CB1305 near: nothing below 16 bits", {},
              [](Scene& s) {
                s.package.description.params.resize(2);
                s.package.files["params/blk0.bin"].resize(4104);
                quant(s) = {};
                quant(s).ops["MatMul"] = "bf16";
              }),
  };
}

}  // namespace

std::vector<LintCase> quant_cases() {
  auto out = scheme_cases();
  for (auto part : {shape_cases(), value_cases(), policy_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
