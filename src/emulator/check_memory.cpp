#include "check_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "dram.h"

namespace calkit::emulator {
namespace {

using calbin::Description;
using calbin::IoTensor;
using calbin::Param;
using calbin::Region;

constexpr const char* kFile = "calbin.json";

Error fault(const std::string& what, const std::string& found, const std::string& allowed) {
  return input_error(kFile, what, found, allowed,
                     "the package is damaged or was packed for another device; pack it again");
}

Status inside_region(const Description& description, const std::string& what, const std::string& region_id,
                     std::int64_t chip, std::uint64_t base, std::uint64_t size) {
  const Region* region = description.region(region_id);
  if (region == nullptr) return fault(what, "region '" + region_id + "'", "the id of a region of this package");
  if (region->chip != chip)
    return fault(what, fmt::format("chip {}", chip), fmt::format("chip {}, where '{}' lies", region->chip, region_id));
  if (base < region->base || !range_inside(base - region->base, size, region->size))
    return fault(what, range_text(base, size),
                 fmt::format("inside region '{}', {}", region_id, range_text(region->base, region->size)));
  return {};
}

/// Writable regions and parameters of a chip must keep apart; writable ones may overlap each other, as on real memory.
Status check_param_regions_apart(const Description& description) {
  for (const Region& param : description.memory.regions) {
    if (param.kind != "param") continue;
    for (const Region& other : description.memory.regions) {
      if (other.chip != param.chip || !is_writable_kind(other.kind)) continue;
      if (other.base < param.base + param.size && param.base < other.base + other.size)
        return fault(
            "region '" + other.id + "'", range_text(other.base, other.size),
            fmt::format("outside the parameter region '{}', {}", param.id, range_text(param.base, param.size)));
    }
  }
  return {};
}

Status check_layout(const std::string& what, const IoTensor& io) {
  const std::size_t rank = io.shape.size();
  const calbin::Layout& layout = io.layout;
  if (rank != 2 || layout.logical_shape.size() != rank)
    return fault(what + " layout",
                 fmt::format("shape {}, logical shape {}", shape_text(io.shape), shape_text(layout.logical_shape)),
                 "rows by columns, and a logical shape of both");
  if (layout.order != "row-major") return fault(what + " layout.order", layout.order, "row-major");
  if (layout.tile.size() > 1 || (layout.tile.size() == 1 && layout.tile[0] <= 0))
    return fault(what + " layout.tile", fmt::format("{} entries", layout.tile.size()),
                 "nothing, or one positive number of rows");
  const std::int64_t tile = layout.tile.empty() ? 1 : layout.tile[0];
  const std::int64_t rows = layout.logical_shape[0];
  if (rows < 1 || rows > (1 << 20) || tile > (1 << 20) || io.shape[0] != (rows + tile - 1) / tile * tile)
    return fault(what + " shape", shape_text(io.shape), fmt::format("{} rows padded to a multiple of {}", rows, tile));
  if (layout.logical_shape[1] != io.shape[1])
    return fault(what + " layout.logical_shape", shape_text(layout.logical_shape),
                 "as many columns as " + shape_text(io.shape));
  const std::uint64_t unit = dtype_bytes(io.dtype);
  const auto bytes = checked_product(io.shape, unit);
  if (!bytes || *bytes != io.size)
    return fault(what + " size", fmt::format("{}", io.size),
                 fmt::format("{} of {}", shape_text(io.shape), dtype_name(io.dtype)));
  const auto strides = row_major_strides(io);
  if (!layout.strides_bytes.empty() && layout.strides_bytes != strides)
    return fault(what + " layout.strides_bytes", fmt::format("[{}]", fmt::join(layout.strides_bytes, ", ")),
                 fmt::format("[{}], row-major, or none", fmt::join(strides, ", ")));
  return {};
}

Status check_tensor(const Description& description, const calbin::Submodel& submodel, const IoTensor& io, bool input) {
  const std::string what = fmt::format("{} '{}' of '{}'", input ? "input" : "output", io.name, submodel.name);
  CALKIT_CHECK_OK(check_layout(what, io));
  CALKIT_CHECK_OK(inside_region(description, what, io.region, io.chip, io.base, io.size));
  if (description.region(io.region)->kind != "io")
    return fault(what, "region '" + io.region + "'", "a region of kind io");
  if (io.base % dtype_bytes(io.dtype) != 0)
    return fault(what + " base", hex_u64(io.base), fmt::format("a multiple of {}", dtype_bytes(io.dtype)));
  const std::int64_t columns = input ? submodel.tokens.max : description.model.vocab;
  if (io.layout.logical_shape[0] != submodel.batch || io.shape[1] != columns)
    return fault(what + " shape", shape_text(io.layout.logical_shape),
                 fmt::format("[{}, {}]", submodel.batch, columns));
  return {};
}

}  // namespace

std::vector<std::uint64_t> row_major_strides(const IoTensor& io) {
  const std::uint64_t unit = dtype_bytes(io.dtype);
  return {unit * static_cast<std::uint64_t>(io.shape[1]), unit};
}

std::string range_text(std::uint64_t base, std::uint64_t size) {
  return fmt::format("{} + {} B", hex_u64(base), size);
}

const calbin::Chip* find_chip(const Description& description, std::int64_t id) {
  for (const calbin::Chip& chip : description.device.chip)
    if (chip.id == id) return &chip;
  return nullptr;
}

Status check_regions(const Description& description) {
  for (const Region& region : description.memory.regions) {
    const std::string what = "region '" + region.id + "'";
    const auto end = checked_add(region.base, region.size);
    if (!end || !checked_align_up(*end, 4096))
      return fault(what, range_text(region.base, region.size), "a range below 2^64");
    if (find_chip(description, region.chip) == nullptr)
      return fault(what, fmt::format("chip {}", region.chip), "a chip of device.chip");
  }
  return check_param_regions_apart(description);
}

Status check_params(const Description& description) {
  std::vector<const Param*> sorted;
  for (const Param& param : description.params) {
    const std::string what = "parameter '" + param.name + "'";
    const calbin::PackageFile* file = description.file(param.file);
    if (file == nullptr || file->role != "param")
      return fault(what, "file '" + param.file + "'", "a listed file of role param");
    if (!range_inside(param.offset, param.length, file->size))
      return fault(what, fmt::format("{} + {} B", param.offset, param.length),
                   fmt::format("inside '{}' of {} B", file->path, file->size));
    const auto bytes = checked_product(param.shape, dtype_bytes(param.dtype));
    if (!bytes || *bytes != param.length)
      return fault(what, fmt::format("{} B", param.length),
                   fmt::format("{} of {}", shape_text(param.shape), dtype_name(param.dtype)));
    if (!calbin::holds_logical_shape(param))
      return fault(what + " shape", shape_text(param.shape),
                   "blocks that make up logical_shape " + shape_text(param.logical_shape));
    CALKIT_CHECK_OK(inside_region(description, what, param.region, param.chip, param.base, param.length));
    if (description.region(param.region)->kind != "param")
      return fault(what, "region '" + param.region + "'", "a region of kind param");
    if (param.offset % dtype_bytes(param.dtype) != 0 || param.base % dtype_bytes(param.dtype) != 0)
      return fault(what, fmt::format("offset {} at {}", param.offset, hex_u64(param.base)),
                   fmt::format("multiples of {}", dtype_bytes(param.dtype)));
    if (param.tied_to.empty()) sorted.push_back(&param);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Param* a, const Param* b) { return a->chip != b->chip ? a->chip < b->chip : a->base < b->base; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Param& before = *sorted[i - 1];
    if (before.chip == sorted[i]->chip && before.base + before.length > sorted[i]->base)
      return fault("parameter '" + sorted[i]->name + "'", range_text(sorted[i]->base, sorted[i]->length),
                   fmt::format("after '{}', {}", before.name, range_text(before.base, before.length)));
  }
  return {};
}

Status check_kv(const Description& description) {
  const calbin::ModelFacts& model = description.model;
  const std::int64_t extents[] = {model.layers, model.kv_heads, model.head_dim, description.limits.context,
                                  description.limits.slots};
  const std::uint64_t pair = dtype_bytes(description.kv.k_dtype) + dtype_bytes(description.kv.v_dtype);
  const auto bytes = checked_product(extents, pair);
  if (!bytes || *bytes != description.kv.bytes_total)
    return fault("kv.bytes_total", fmt::format("{}", description.kv.bytes_total),
                 "layers x kv_heads x head_dim x context x slots x (K + V bytes)");
  if (description.limits.slots < 1)
    return fault("limits.slots", fmt::format("{}", description.limits.slots), "at least 1");
  if (description.kv.regions.size() != 1)
    return fault("kv.regions", fmt::format("{} regions", description.kv.regions.size()), "one region");
  const Region* region = description.region(description.kv.regions[0]);
  if (region == nullptr || region->kind != "kv" || region->size < *bytes)
    return fault("kv.regions", "'" + description.kv.regions[0] + "'",
                 fmt::format("a kv region of at least {} B", *bytes));
  return {};
}

Status check_io(const Description& description, const calbin::Submodel& submodel) {
  for (const IoTensor& io : submodel.inputs) CALKIT_CHECK_OK(check_tensor(description, submodel, io, true));
  for (const IoTensor& io : submodel.outputs) CALKIT_CHECK_OK(check_tensor(description, submodel, io, false));
  for (const calbin::Csr& csr : submodel.csr) {
    const std::string what = fmt::format("CSR '{}' of '{}'", csr.name, submodel.name);
    if (csr.count < submodel.batch)
      return fault(what, fmt::format("{} words", csr.count), fmt::format("{}, one a row", submodel.batch));
    bool in_io = false;
    for (const Region& region : description.memory.regions) {
      if (region.kind == "io" && csr.base >= region.base &&
          range_inside(csr.base - region.base, static_cast<std::uint64_t>(csr.count) * 4, region.size))
        in_io = true;
    }
    if (!in_io || csr.base % 4 != 0) return fault(what, hex_u64(csr.base), "an aligned address inside an io region");
  }
  return {};
}

}  // namespace calkit::emulator
