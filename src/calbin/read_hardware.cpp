/// The control program, the way between chips, and quantisation: sections that a package may do without.
#include "sections.h"

namespace calkit::calbin {

namespace {

constexpr std::int64_t kMaxChip = 63;
constexpr std::int64_t kMaxBits = 64;
constexpr std::int64_t kMaxAxis = 15;

void read_weight(Reader& in, const Node& scheme, QuantScheme& out) {
  const auto at = in.object(scheme, "weight");
  if (!at) return;
  in.only(*at, {"bits", "signed", "sym", "granularity", "group", "axis"});
  out.weight_bits = in.integer(*at, "bits", 1, kMaxBits);
  out.weight_signed = in.boolean(*at, "signed");
  out.symmetric = in.boolean(*at, "sym");
  out.granularity = in.word(*at, "granularity", {"tensor", "channel", "group"});
  out.group = in.maybe_integer(*at, "group", 0, static_cast<std::int64_t>(kMaxPlainInteger)).value_or(0);
  out.axis = in.integer(*at, "axis", 0, kMaxAxis);
}

QuantScheme read_scheme(Reader& in, const Node& at) {
  in.only(at, {"id", "weight", "act", "scale_dtype", "zp_dtype"});
  QuantScheme out;
  out.id = in.text(at, "id");
  read_weight(in, at, out);
  if (const auto act = in.object(at, "act")) {
    in.only(*act, {"bits", "dynamic", "granularity"});
    out.act_bits = in.integer(*act, "bits", 1, kMaxBits);
    out.act_dynamic = in.boolean(*act, "dynamic");
    out.act_granularity = in.word(*act, "granularity", {"tensor", "token"});
  }
  out.scale_dtype = in.word(at, "scale_dtype", {"f32", "f16", "bf16"});
  out.zero_point_dtype = in.word(at, "zp_dtype", {"i4", "u4", "i8", "u8", "i16", "u16", "i32"}, Need::kOptional);
  return out;
}

}  // namespace

std::optional<Ccu> read_ccu(Reader& in, const Node& root) {
  const auto at = in.object(root, "ccu", Need::kOptional);
  if (!at) return std::nullopt;
  in.only(*at, {"elf", "machine", "class", "endian", "flags", "load_region"});
  Ccu out;
  out.elf = in.text(*at, "elf");
  out.machine = in.text(*at, "machine");
  const Node width = Reader::member(*at, "class");
  out.elf_class = static_cast<int>(in.integer(*at, "class", 32, 64));
  if (out.elf_class > 32 && out.elf_class < 64)
    in.problem(ProblemKind::kOutOfRange, width, width.value->describe(), "32 or 64");
  out.little_endian = in.word(*at, "endian", {"little", "big"}) != "big";
  out.flags = in.hex(*at, "flags");
  out.load_region = in.text(*at, "load_region");
  return out;
}

std::optional<D2d> read_d2d(Reader& in, const Node& root) {
  const auto at = in.object(root, "d2d", Need::kOptional);
  if (!at) return std::nullopt;
  in.only(*at, {"helper", "required", "routes"});
  D2d out;
  out.helper = in.text(*at, "helper", Need::kOptional);
  out.required = in.boolean(*at, "required");
  in.objects(*at, "routes", [&](const Node& item) {
    in.only(item, {"from", "to"});
    out.routes.push_back({in.integer(item, "from", 0, kMaxChip), in.integer(item, "to", 0, kMaxChip)});
  });
  return out;
}

std::optional<Quant> read_quant(Reader& in, const Node& root) {
  const auto at = in.object(root, "quant", Need::kOptional);
  if (!at) return std::nullopt;
  in.only(*at, {"schemes", "ops", "scales", "calibration_digest"});
  Quant out;
  in.objects(*at, "schemes", [&](const Node& item) { out.schemes.push_back(read_scheme(in, item)); });
  out.ops = in.text_map(*at, "ops");
  out.calibration_digest = in.digest(*at, "calibration_digest", Need::kOptional);
  const auto scales = in.object(*at, "scales", Need::kOptional);
  if (!scales) return out;
  for (const auto& [param, value] : *scales->value->if_object()) {
    const Node item{&value, &*scales, param};
    if (!value.is_object()) {
      in.problem(ProblemKind::kWrongType, item, value.describe(), "an object");
      continue;
    }
    in.only(item, {"scale", "zero_point"});
    out.scales[param] = {in.text(item, "scale"), in.text(item, "zero_point", Need::kOptional)};
  }
  return out;
}

}  // namespace calkit::calbin
