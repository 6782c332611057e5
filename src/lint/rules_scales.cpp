/// Family 13, second part: the values of scales and zero points. Each is read once, in place.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t index) {
  T out;
  std::memcpy(&out, bytes.data() + index * sizeof(T), sizeof out);
  return out;
}

/// One scale as a number, and whether it is subnormal in its own dtype.
struct Scale {
  double value = 0;
  bool subnormal = false;
};
std::optional<Scale> scale_at(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  switch (dtype) {
    case DType::kF32: {
      const auto v = value_at<float>(bytes, i);
      return Scale{v, std::fpclassify(v) == FP_SUBNORMAL};
    }
    case DType::kF64: {
      const auto v = value_at<double>(bytes, i);
      return Scale{v, std::fpclassify(v) == FP_SUBNORMAL};
    }
    case DType::kBF16: {
      const float v = to_float(BF16{value_at<std::uint16_t>(bytes, i)});
      return Scale{v, std::fpclassify(v) == FP_SUBNORMAL};
    }
    case DType::kF16: {
      const auto bits = value_at<std::uint16_t>(bytes, i);
      return Scale{f16_to_float(bits), (bits & 0x7c00u) == 0 && (bits & 0x03ffu) != 0};
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> integer_at(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  switch (dtype) {
    case DType::kI8:
      return value_at<std::int8_t>(bytes, i);
    case DType::kU8:
      return value_at<std::uint8_t>(bytes, i);
    case DType::kI16:
      return value_at<std::int16_t>(bytes, i);
    case DType::kU16:
      return value_at<std::uint16_t>(bytes, i);
    case DType::kI32:
      return value_at<std::int32_t>(bytes, i);
    default:
      return std::nullopt;
  }
}

const char* problem_of(const Scale& scale) {
  if (std::isnan(scale.value)) return "NaN";
  if (std::isinf(scale.value)) return "infinity";
  if (scale.value == 0) return "zero";
  if (scale.value < 0) return "a negative scale";
  return scale.subnormal ? "a subnormal scale" : nullptr;
}

/// A parameter's bytes; empty where files or ranges are wrong (CB0101, CB0601 tell).
class Blocks {
 public:
  explicit Blocks(Check& check) : check_(check) {
    for (std::size_t i = 0; i < check.d().params.size(); ++i) index_[check.d().params[i].name].push_back(i);
  }
  /// The places of the blocks of that name: one, or one for each chip.
  const std::vector<std::size_t>& find(const std::string& name) { return index_[name]; }
  std::span<const std::byte> bytes(const calbin::Param& param) {
    const auto at = check_.facts().file_index.find(param.file);
    if (at == check_.facts().file_index.end() || check_.facts().files[at->second].state != FileState::kPresent)
      return {};
    auto& keep = maps_[param.file];
    if (keep == nullptr) {
      auto mapped = check_.facts().map(check_.d().files[at->second].path);
      if (!mapped.ok()) return {};
      keep = std::move(mapped).value();
    }
    const bool slice = param.shard && !param.shard->replicated;
    const auto wanted = checked_product(slice ? param.shape : param.logical_shape, dtype_bytes(param.dtype));
    const auto all = keep->bytes();
    if (!wanted || *wanted > param.length || !range_inside(param.offset, param.length, all.size())) return {};
    return all.subspan(param.offset, *wanted);
  }

 private:
  Check& check_;
  std::map<std::string, std::vector<std::size_t>> index_;
  std::map<std::string, std::shared_ptr<const MappedFile>> maps_;
};

void judge_scales(Check& check, Blocks& blocks, std::size_t index, const std::string& weight) {
  const auto pointer = fmt::format("/params/{}", index);
  if (!check.usable(pointer)) return;
  const auto& param = check.d().params[index];
  const std::string& holder = param.name;
  const auto bytes = blocks.bytes(param);
  const std::size_t count = bytes.size() / dtype_bytes(param.dtype);
  std::size_t bad = 0, first = 0;
  std::string what;
  bool constant = true;
  double lead = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto scale = scale_at(param.dtype, bytes, i);
    if (!scale)
      return check.report(pointer + "/dtype", {fmt::format("the scales of '{}' are no floats", weight),
                                               std::string(dtype_name(param.dtype)), "f32, bf16, f16 or f64",
                                               "correct quant.scales: it names another parameter"});
    if (i == 0) lead = scale->value;
    constant = constant && scale->value == lead;
    if (const char* problem = problem_of(*scale); problem != nullptr && bad++ == 0) {
      first = i;
      what = fmt::format("{} ({})", problem, scale->value);
    }
  }
  if (bad > 0)
    return check.report(pointer, {fmt::format("scales '{}' of parameter '{}' cannot be used", holder, weight),
                                  fmt::format("{} at {}; {} of {} values", what, first, bad, count),
                                  "finite, positive, normal numbers", "calibrate and quantise the block again"});
  if (count > 1 && constant)
    check.warn(pointer, {fmt::format("all scales '{}' of parameter '{}' are equal", holder, weight),
                         fmt::format("{} values of {}", count, lead), "scales that follow the weights",
                         "look whether the scales were measured or only filled in"});
}

void judge_zero_points(Check& check, Blocks& blocks, std::size_t index, const std::string& weight,
                       const calbin::QuantScheme& scheme) {
  const auto pointer = fmt::format("/params/{}", index);
  if (!check.usable(pointer) || scheme.weight_bits > 31) return;
  const auto& param = check.d().params[index];
  const std::string& holder = param.name;
  const auto bytes = blocks.bytes(param);
  const std::int64_t span = std::int64_t{1} << scheme.weight_bits;
  const std::int64_t low = scheme.weight_signed ? -span / 2 : 0, high = low + span - 1;
  for (std::size_t i = 0; i < bytes.size() / dtype_bytes(param.dtype); ++i) {
    const auto value = integer_at(param.dtype, bytes, i);
    if (value && *value >= low && *value <= high) continue;
    return check.report(pointer, {fmt::format("a zero point of parameter '{}' is out of range", weight),
                                  value ? fmt::format("{} at {} of '{}'", *value, i, holder)
                                        : fmt::format("'{}' of {}", holder, dtype_name(param.dtype)),
                                  fmt::format("integers from {} to {}: {} bits", low, high, scheme.weight_bits),
                                  "calibrate and quantise the block again"});
  }
}

void check_scale_values(Check& check) {
  if (!check.usable("/quant") || !check.usable("/params")) return;
  const auto& quant = check.d().quant;
  if (!quant) return check.not_applicable("the package is not quantised");
  Blocks blocks(check);
  for (const auto& [weight, holders] : quant->scales) {
    for (const std::size_t index : blocks.find(holders.scale)) judge_scales(check, blocks, index, weight);
    const auto& weights = blocks.find(weight);
    if (weights.empty() || holders.zero_point.empty()) continue;
    const auto& ref = check.d().params[weights[0]].quant_ref;
    for (const auto& scheme : quant->schemes)
      if (scheme.id == ref)
        for (const std::size_t index : blocks.find(holders.zero_point))
          judge_zero_points(check, blocks, index, weight, scheme);
  }
}

}  // namespace

std::vector<Rule> scale_rules() {
  return {
      {{"CB1303", "scale-value", Severity::kBlocker, RuleClass::kInvalid,
        "scales are finite, positive and normal; zero points are within the weights' range", "3a"},
       {"/quant/schemes,scales", "/params/*/name,file,offset,length,dtype,shape,logical_shape,shard,quant_ref"},
       &check_scale_values},
  };
}

}  // namespace calkit::lint
