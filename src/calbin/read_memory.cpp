/// Files, regions, parameters and the KV cache.
#include "sections.h"

namespace calkit::calbin {

namespace {

constexpr std::int64_t kMaxChip = 63;

Region read_region(Reader& in, const Node& at) {
  in.only(at, {"id", "chip", "space", "kind", "base", "size", "align", "parent", "shared_with"});
  Region out;
  out.id = in.text(at, "id");
  out.chip = in.integer(at, "chip", 0, kMaxChip);
  out.space = in.word(at, "space", {"dram", "sram"});
  out.kind = in.word(at, "kind", {"param", "kv", "workspace", "io", "command", "ccu", "guard", "global"});
  out.base = in.hex(at, "base");
  out.size = in.size(at, "size");
  out.align = in.size(at, "align");
  out.parent = in.text(at, "parent", Need::kOptional);
  out.shared_with = in.texts(at, "shared_with", Need::kOptional);
  return out;
}

Shard read_shard(Reader& in, const Node& at) {
  in.only(at, {"axis", "index", "count", "replicated"});
  Shard out;
  out.axis = in.integer(at, "axis", 0, 15);
  out.index = in.integer(at, "index", 0, kMaxChip);
  out.count = in.integer(at, "count", 1, kMaxChip + 1);
  out.replicated = in.boolean(at, "replicated");
  return out;
}

}  // namespace

PackageFile read_file_entry(Reader& in, const Node& at) {
  in.only(at, {"id", "path", "role", "size", "digest", "chips", "optional"});
  PackageFile out;
  out.id = in.text(at, "id");
  out.path = in.text(at, "path");
  out.role = in.word(at, "role",
                     {"param", "command-bin", "command-text", "ccu-elf", "d2d-helper", "profile", "oplist", "iomap",
                      "golden", "onnx", "log", "license"});
  out.size = in.size(at, "size");
  out.digest = in.digest(at, "digest");
  out.chips = in.hex(at, "chips", Need::kOptional);
  out.optional = in.boolean(at, "optional", Need::kOptional);
  return out;
}

Memory read_memory(Reader& in, const Node& root) {
  Memory out;
  const auto at = in.object(root, "memory");
  if (!at) return out;
  in.only(*at, {"device_required", "declared_text", "regions"});
  out.device_required = in.size(*at, "device_required");
  out.declared_text = in.text(*at, "declared_text", Need::kOptional);
  in.objects(*at, "regions", [&](const Node& item) { out.regions.push_back(read_region(in, item)); });
  return out;
}

Param read_param(Reader& in, const Node& at) {
  in.only(at, {"name", "file", "offset", "length", "chip", "region", "base", "dtype", "shape", "logical_shape", "shard",
               "quant_ref", "tied_to"});
  Param out;
  out.name = in.text(at, "name");
  out.file = in.text(at, "file");
  out.offset = in.size(at, "offset");
  out.length = in.size(at, "length");
  out.chip = in.integer(at, "chip", 0, kMaxChip);
  out.region = in.text(at, "region");
  out.base = in.hex(at, "base");
  out.dtype = in.dtype(at, "dtype");
  out.shape = in.shape(at, "shape");
  out.logical_shape = in.shape(at, "logical_shape");
  if (const auto shard = in.object(at, "shard", Need::kOptional)) out.shard = read_shard(in, *shard);
  out.quant_ref = in.text(at, "quant_ref", Need::kOptional);
  out.tied_to = in.text(at, "tied_to", Need::kOptional);
  return out;
}

Kv read_kv(Reader& in, const Node& root) {
  Kv out;
  const auto at = in.object(root, "kv");
  if (!at) return out;
  in.only(*at, {"k_dtype", "v_dtype", "scale_dtype", "layout", "bytes_total", "bytes_per_chip", "region"});
  out.k_dtype = in.dtype(*at, "k_dtype");
  out.v_dtype = in.dtype(*at, "v_dtype");
  out.scale_dtype = in.text(*at, "scale_dtype", Need::kOptional);
  out.layout = in.text(*at, "layout");
  out.bytes_total = in.size(*at, "bytes_total");
  out.bytes_per_chip = in.sizes(*at, "bytes_per_chip");
  out.regions = in.texts(*at, "region");
  return out;
}

}  // namespace calkit::calbin
