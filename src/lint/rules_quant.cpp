/// Family 13: quantisation schemes are known ones, their scales fit, and what must stay exact stays exact.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"
#include "names.h"

namespace calkit::lint {

namespace {

constexpr std::int64_t kExactBits = 16;

std::string exact_words() {
  return "bf16, f16 or f32";
}
bool is_exact_word(std::string_view word) {
  return word == "bf16" || word == "f16" || word == "f32";
}

const calbin::QuantScheme* scheme_of(const calbin::Quant& quant, std::string_view id) {
  const auto at = std::find_if(quant.schemes.begin(), quant.schemes.end(), [&](const auto& s) { return s.id == id; });
  return at != quant.schemes.end() ? &*at : nullptr;
}

bool quantises(const calbin::QuantScheme& scheme) {
  return scheme.weight_bits < kExactBits || scheme.act_bits < kExactBits;
}

/// "w8a8", "w4af16", "w8abf16": what the fields make of it.
bool id_says(const calbin::QuantScheme& s) {
  for (const char* kind : {"", "f", "bf"})
    if (s.id == fmt::format("w{}a{}{}", s.weight_bits, kind, s.act_bits))
      return kind[0] == '\0' || s.act_bits >= kExactBits;
  return false;
}

/// Bits of an integer that holds one value of the scheme, packed or not; a float kind for exact ones.
bool holds(DType dtype, const calbin::QuantScheme& scheme) {
  switch (dtype) {
    case DType::kI8:
      return scheme.weight_bits <= 8 && (scheme.weight_signed || scheme.weight_bits < 8);
    case DType::kU8:
      return scheme.weight_bits <= 8 && (!scheme.weight_signed || scheme.weight_bits < 8);
    case DType::kI16:
    case DType::kU16:
      return scheme.weight_bits > 8 && scheme.weight_bits <= 16;
    case DType::kBF16:
    case DType::kF16:
      return scheme.weight_bits == 16;
    case DType::kF32:
      return scheme.weight_bits == 32;
    default:
      return false;
  }
}

void check_scheme_fields(Check& check, const calbin::QuantScheme& scheme, const std::string& pointer) {
  const auto say = [&](std::string found, std::string limit) {
    check.report(pointer,
                 {fmt::format("quantisation scheme '{}' is not a known one", printable(scheme.id)), std::move(found),
                  std::move(limit), "have the producer name the scheme by its widths and state its fields"});
  };
  const std::int64_t widths[] = {2, 3, 4, 8, 16, 32};
  const auto known = [&](std::int64_t bits) {
    return std::find(std::begin(widths), std::end(widths), bits) != std::end(widths);
  };
  if (!known(scheme.weight_bits) || !known(scheme.act_bits))
    return say(fmt::format("{} bits of weights, {} of activations", scheme.weight_bits, scheme.act_bits),
               "2, 3, 4, 8, 16 or 32");
  if (!id_says(scheme))
    return say(fmt::format("{} bits of weights, {} of activations", scheme.weight_bits, scheme.act_bits),
               fmt::format("the id w{}a{}; f or bf before a float width", scheme.weight_bits, scheme.act_bits));
  if ((scheme.granularity == "group") != (scheme.group > 0))
    return say(fmt::format("granularity {}, group {}", scheme.granularity, scheme.group),
               "a group size with granularity group, and none without");
  if (scheme.symmetric != scheme.zero_point_dtype.empty())
    say(scheme.symmetric ? fmt::format("symmetric, with zero points of {}", scheme.zero_point_dtype)
                         : "asymmetric, without a dtype of zero points",
        "zp_dtype for asymmetric schemes only");
}

void check_schemes(Check& check) {
  const auto& quant = check.d().quant;
  if (!check.usable("/quant")) return;
  std::set<std::string, std::less<>> holders;
  if (quant) {
    for (std::size_t i = 0; i < quant->schemes.size(); ++i)
      check_scheme_fields(check, quant->schemes[i], fmt::format("/quant/schemes/{}", i));
    for (const auto& [op, id] : quant->ops)
      if (!is_exact_word(id) && scheme_of(*quant, id) == nullptr)
        check.report("/quant/ops",
                     {fmt::format("op '{}' has an unknown scheme", printable(op)), fmt::format("'{}'", printable(id)),
                      "an id of quant.schemes, or " + exact_words(), "state the scheme, or correct its name"});
    for (const auto& [name, scales] : quant->scales) holders.insert({scales.scale, scales.zero_point});
  }
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    const auto* scheme = quant && !param.quant_ref.empty() ? scheme_of(*quant, param.quant_ref) : nullptr;
    if (scheme != nullptr && !holds(param.dtype, *scheme))
      check.report(pointer + "/dtype",
                   {fmt::format("parameter '{}' has another dtype than its scheme", param.name),
                    std::string(dtype_name(param.dtype)),
                    fmt::format("{} {} bits, as scheme '{}' says", scheme->weight_signed ? "signed" : "unsigned",
                                scheme->weight_bits, scheme->id),
                    "correct quant_ref, or quantise the block"});
    const bool bytes = param.dtype == DType::kI8 || param.dtype == DType::kU8;
    if (bytes && param.quant_ref.empty() && param.shape.size() > 1 && !holders.contains(param.name))
      check.warn(pointer, {fmt::format("parameter '{}' holds bytes and no scheme says what they mean", param.name),
                           std::string(dtype_name(param.dtype)), "quant_ref, for 8-bit blocks of weights",
                           "state the scheme of the block"});
  });
}

/// The extents that one block's scales run over: its own when it is a slice.
const Shape& weight_shape(const calbin::Param& param) {
  return param.shard && !param.shard->replicated ? param.shape : param.logical_shape;
}

/// How many scales a block needs; nullopt with a reason in `why`.
std::optional<std::uint64_t> scales_wanted(const calbin::Param& param, const calbin::QuantScheme& scheme,
                                           std::string& why) {
  if (scheme.granularity == "tensor") return 1;
  const auto& shape = weight_shape(param);
  const auto axis = static_cast<std::size_t>(scheme.axis);
  if (axis >= shape.size()) {
    why = fmt::format("axis {} of shape {}", scheme.axis, shape_text(shape));
    return std::nullopt;
  }
  const std::int64_t extent = shape[axis];
  if (scheme.granularity == "channel") return static_cast<std::uint64_t>(extent);
  if (scheme.group < 1 || extent % scheme.group != 0) {
    why = fmt::format("groups of {} along {} elements of axis {}", scheme.group, extent, scheme.axis);
    return std::nullopt;
  }
  const auto all = checked_product(shape);
  if (!all) why = "a shape beyond 64 bits";
  return all ? std::optional(*all / static_cast<std::uint64_t>(scheme.group)) : std::nullopt;
}

class ScaleShapes {
 public:
  explicit ScaleShapes(Check& check) : check_(check), quant_(*check.d().quant) {
    for (const auto& param : check.d().params)
      params_.emplace(std::pair{param.chip, std::string_view(param.name)}, &param);
  }

  void judge(const calbin::Param& param, const std::string& pointer) {
    const auto* scheme = scheme_of(quant_, param.quant_ref);
    if (scheme == nullptr || scheme->weight_bits >= kExactBits) return;
    const auto at = quant_.scales.find(param.name);
    if (at == quant_.scales.end() || at->second.scale.empty())
      return say(pointer, param.name, "no entry in quant.scales", "the parameter that holds its scales");
    std::string why;
    const auto wanted = scales_wanted(param, *scheme, why);
    if (!wanted) return say(pointer, param.name, why, "groups that divide their axis evenly");
    const auto* scale = find(at->second.scale, param.chip);
    if (scale != nullptr) {
      count(*scale, *wanted, pointer, param.name, *scheme, "scales");
      if (!scheme->scale_dtype.empty() && dtype_name(scale->dtype) != scheme->scale_dtype)
        say(pointer, param.name, fmt::format("scales of {}", dtype_name(scale->dtype)),
            "scale_dtype " + scheme->scale_dtype);
    }
    zero_points(param, *scheme, at->second.zero_point, *wanted, pointer);
  }

 private:
  /// The block of that name on the chip of the weights.
  const calbin::Param* find(const std::string& name, std::int64_t chip) const {
    const auto at = params_.find(std::pair{chip, std::string_view(name)});
    return at != params_.end() ? at->second : nullptr;
  }
  void say(const std::string& pointer, const std::string& name, std::string found, std::string limit) {
    check_.report(pointer, {fmt::format("the scales of parameter '{}' do not fit it", name), std::move(found),
                            std::move(limit), "quantise the block again, and write scales and block from one run"});
  }
  void count(const calbin::Param& holder, std::uint64_t wanted, const std::string& pointer, const std::string& name,
             const calbin::QuantScheme& scheme, const char* what) {
    const auto there = checked_product(weight_shape(holder));
    if (there != wanted)
      say(pointer, name, fmt::format("{} {} in '{}'", shape_text(weight_shape(holder)), what, holder.name),
          fmt::format("{}: one per {}", wanted, scheme.granularity));
  }
  void zero_points(const calbin::Param& param, const calbin::QuantScheme& scheme, const std::string& name,
                   std::uint64_t wanted, const std::string& pointer) {
    if (scheme.symmetric != name.empty())
      return say(pointer, param.name, name.empty() ? "no zero points" : fmt::format("zero points '{}'", name),
                 scheme.symmetric ? "none, the scheme is symmetric" : "zero points, the scheme is asymmetric");
    const auto* holder = name.empty() ? nullptr : find(name, param.chip);
    if (holder == nullptr) return;
    count(*holder, wanted, pointer, param.name, scheme, "zero points");
    // Four bits have no dtype of their own here: they are stored in bytes.
    const std::string_view stored = scheme.zero_point_dtype == "i4"   ? "i8"
                                    : scheme.zero_point_dtype == "u4" ? "u8"
                                                                      : std::string_view(scheme.zero_point_dtype);
    if (!stored.empty() && dtype_name(holder->dtype) != stored)
      say(pointer, param.name, fmt::format("zero points of {}", dtype_name(holder->dtype)), fmt::format("{}", stored));
  }

  Check& check_;
  const calbin::Quant& quant_;
  std::map<std::pair<std::int64_t, std::string_view>, const calbin::Param*> params_;
};

void check_scale_shapes(Check& check) {
  if (!check.usable("/quant")) return;
  if (!check.d().quant) return check.not_applicable("the package is not quantised");
  ScaleShapes shapes(check);
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    if (!param.quant_ref.empty()) shapes.judge(param, pointer);
  });
}

/// Words of an op's kind or name that the first round keeps in BF16.
bool is_sensitive(std::string_view op) {
  static const std::set<std::string, std::less<>> kWords = {
      "router", "norm",   "rmsnorm",         "layernorm", "rmsnormalization", "layernormalization",
      "rope",   "rotary", "rotaryembedding", "embedding", "embeddings",       "embed",
      "gather"};
  const auto parts = words(lower(op));
  return std::any_of(parts.begin(), parts.end(), [](const auto& word) { return kWords.contains(word); });
}

void check_sensitive(Check& check) {
  if (!check.usable("/quant")) return;
  const auto& quant = check.d().quant;
  if (!quant) return check.not_applicable("the package is not quantised");
  const char* fix = "keep it in bf16 for the first round; quantise it later, with a comparison of its own";
  for (const auto& [op, id] : quant->ops) {
    const auto* scheme = scheme_of(*quant, id);
    if (scheme != nullptr && is_sensitive(op) && quantises(*scheme))
      check.report("/quant/ops", {fmt::format("op '{}' is quantised", printable(op)), fmt::format("'{}'", id),
                                  "bf16 for router, norm, RoPE and embedding", fix});
  }
  std::map<std::string_view, const calbin::Param*> quantised;
  for (const auto& param : check.d().params)
    if (const auto* scheme = scheme_of(*quant, param.quant_ref); scheme != nullptr && quantises(*scheme))
      quantised.emplace(param.name, &param);
  std::set<std::string> told;
  for (const auto& list : check.facts().oplists) {
    if (!list.oplist || quantised.empty()) continue;
    for (const auto& op : list.oplist->ops) {
      if (!is_sensitive(op.type)) continue;
      for (const auto& operand : op.reads) {
        const auto at = quantised.find(operand.name);
        if (at == quantised.end() || !told.insert(operand.name).second) continue;
        check.report(fmt::format("/params/{}", at->second - check.d().params.data()),
                     {fmt::format("parameter '{}' of {} '{}' is quantised", operand.name, op.type, op.name),
                      fmt::format("'{}'", at->second->quant_ref), "bf16 for router, norm, RoPE and embedding", fix});
      }
    }
  }
}

void check_calibration(Check& check) {
  if (!check.usable("/quant")) return;
  const auto& quant = check.d().quant;
  if (!quant) return check.not_applicable("the package is not quantised");
  const auto used = std::find_if(quant->schemes.begin(), quant->schemes.end(), quantises);
  if (used != quant->schemes.end() && quant->calibration_digest.empty())
    check.report("/quant/calibration_digest",
                 {"nothing says what the quantisation was calibrated with", fmt::format("scheme '{}'", used->id),
                  "the digest of the calibration set", "record the digest; another set gives another model"});
}

}  // namespace

std::vector<Rule> quant_rules() {
  return {
      {{"CB1301", "quant-scheme-unknown", Severity::kError, RuleClass::kInvalid,
        "schemes are named by their widths, and blocks have the dtype of theirs", "3a", Maturity::kPreview},
       {"/quant/schemes,ops,scales", "/params/*/name,dtype,shape,quant_ref"},
       &check_schemes},
      {{"CB1302", "scale-shape", Severity::kError, RuleClass::kInvalid,
        "scales and zero points are as many as the scheme asks for", "3a", Maturity::kPreview},
       {"/quant/schemes,scales", "/params/*/name,chip,dtype,shape,logical_shape,shard,quant_ref"},
       &check_scale_shapes},
      {{"CB1304", "sensitive-op-quantised", Severity::kWarning, RuleClass::kPolicy,
        "router, norm, RoPE and embedding are not quantised in the first round", "3a", Maturity::kPreview},
       {"/quant/schemes,ops", "/params/*/name,quant_ref"},
       &check_sensitive},
      {{"CB1305", "calibration-missing", Severity::kWarning, RuleClass::kPolicy,
        "a quantised package names its calibration set by digest", "3a", Maturity::kPreview},
       {"/quant/schemes,calibration_digest"},
       &check_calibration},
  };
}

}  // namespace calkit::lint
