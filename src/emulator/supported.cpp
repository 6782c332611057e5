// What a package may ask of this device: a good package may ask for more, and is then unsupported, not bad.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "calkit/calbin/runtime_abi.h"
#include "calkit/manifest/version_range.h"
#include "check_memory.h"
#include "image.h"

namespace calkit::emulator {
namespace {

using calbin::Description;

// Bounds of the host memory that a package can ask for before any of its numbers is used.
constexpr std::int64_t kMostSlots = 65536;
constexpr std::uint64_t kMostBufferBytes = 1ull << 30;

Status check_runtime(const Description& description) {
  const std::string& text = description.compat.runtime_abi;
  const auto range = manifest::VersionRange::parse(text);
  if (range.ok() && range->contains(*manifest::Version::parse(calbin::kEmulatedRuntimeAbi))) return {};
  return input_error("calbin.json", "package.compat.runtime_abi", "'" + text + "'",
                     fmt::format("{}, or a range that holds it", calbin::kEmulatedRuntimeAbi));
}

/// The memory of a chip is one window of the size it may use, wherever its lowest region lies.
Status check_window(const Description& description) {
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> extent;  // chip -> lowest, highest address in use
  for (const calbin::Region& region : description.memory.regions) {
    const auto end = checked_add(region.base, region.size);
    const calbin::Chip* chip = find_chip(description, region.chip);
    if (!end || chip == nullptr || region.kind == "global" || region.kind == "guard") continue;
    auto [at, first] = extent.try_emplace(region.chip, region.base, *end);
    if (!first) at->second = {std::min(at->second.first, region.base), std::max(at->second.second, *end)};
    if (at->second.second - at->second.first > chip->dram_usable)
      return input_error(
          "calbin.json", "region '" + region.id + "'", range_text(region.base, region.size),
          fmt::format("regions within one window of {}, the chip's usable DRAM", format_bytes(chip->dram_usable)));
  }
  return {};
}

}  // namespace

namespace {

/// Tokens and positions go in, logits come out; all else the device keeps to itself.
Status check_roles(const calbin::Submodel& submodel) {
  const auto only = [&](const char* list, const std::vector<calbin::IoTensor>& tensors, auto known,
                        const char* allowed) -> Status {
    for (const calbin::IoTensor& io : tensors)
      if (!known(io.role))
        return input_error("calbin.json", fmt::format("submodel '{}' {} '{}' role", submodel.name, list, io.name),
                           io.role, allowed);
    return {};
  };
  CALKIT_CHECK_OK(only(
      "input", submodel.inputs, [](const std::string& role) { return role == "token" || role == "position"; },
      "token or position on this device"));
  return only(
      "output", submodel.outputs, [](const std::string& role) { return role == "logits"; }, "logits on this device");
}

}  // namespace

Status check_supported(const Description& description) {
  for (const calbin::Region& region : description.memory.regions)
    if (region.space != "dram")
      return input_error("calbin.json", "region '" + region.id + "'", "space " + region.space, "dram on this device");
  CALKIT_CHECK_OK(check_runtime(description));
  CALKIT_CHECK_OK(check_window(description));
  if (!description.kv.scale_dtype.empty())
    return input_error("calbin.json", "kv.scale_dtype", "'" + description.kv.scale_dtype + "'",
                       "a KV cache without scales on this device");
  if (description.kv.regions.size() > 1)
    return input_error("calbin.json", "kv.region", fmt::format("{} regions", description.kv.regions.size()),
                       "one region on this device");
  if (description.limits.slots > kMostSlots)
    return input_error("calbin.json", "limits.slots", fmt::format("{}", description.limits.slots),
                       fmt::format("at most {}", kMostSlots));
  for (const calbin::Submodel& submodel : description.submodels) {
    const std::string what = "submodel '" + submodel.name + "'";
    if (submodel.type != "prefill" && submodel.type != "decode")
      return input_error("calbin.json", what + " type", "'" + submodel.type + "'", "prefill or decode");
    if (submodel.oplist.size() != 1)
      return input_error("calbin.json", what + " oplist", fmt::format("{} chips", submodel.oplist.size()),
                         "one chip per submodel on this device");
    if (submodel.batch < 1 || submodel.batch > 4096 || submodel.tokens.min < 1 ||
        submodel.tokens.max < submodel.tokens.min || submodel.tokens.max > (1 << 24))
      return input_error(
          "calbin.json", what,
          fmt::format("batch {}, tokens {}..{}", submodel.batch, submodel.tokens.min, submodel.tokens.max),
          "batch 1..4096 and 1..16777216 tokens");
    CALKIT_CHECK_OK(check_roles(submodel));
    for (const auto* list : {&submodel.inputs, &submodel.outputs})
      for (const calbin::IoTensor& io : *list)
        if (io.size > kMostBufferBytes)
          return input_error("calbin.json", what + " tensor '" + io.name + "'", format_bytes(io.size),
                             "at most " + format_bytes(kMostBufferBytes) + " per buffer");
    for (const calbin::Csr& csr : submodel.csr)
      if (csr.width_bits != 32 || csr.count > submodel.batch)
        return input_error("calbin.json", what + " register '" + csr.name + "'",
                           fmt::format("{} of {} bits", csr.count, csr.width_bits),
                           fmt::format("{} of 32 bits, one a row", submodel.batch));
    for (const calbin::IoTensor& io : submodel.inputs)
      if (io.dtype != DType::kI64 && io.dtype != DType::kI32)
        return input_error("calbin.json", what + " input '" + io.name + "'", std::string(dtype_name(io.dtype)),
                           "i32 or i64");
    for (const calbin::IoTensor& io : submodel.outputs) {
      const Shape& logical = io.layout.logical_shape;
      if (logical.size() == 2 && io.shape.size() == 2 && logical[1] < io.shape[1])
        return input_error("calbin.json", what + " output '" + io.name + "' layout.logical_shape", shape_text(logical),
                           "as many columns as " + shape_text(io.shape) + " on this device, which pads rows only");
      if (io.dtype != DType::kF32 && io.dtype != DType::kBF16)
        return input_error("calbin.json", what + " output '" + io.name + "'", std::string(dtype_name(io.dtype)),
                           "f32 or bf16");
    }
  }
  return {};
}

}  // namespace calkit::emulator
