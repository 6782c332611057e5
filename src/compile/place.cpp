#include "place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"

namespace calkit::compile {
namespace {

constexpr std::uint64_t kFirstAddress = 0x1'0000'0000;  // not 0, so that a forgotten address is outside every region
constexpr std::uint64_t kRegionAlign = 4096, kValueAlign = 64;
// Far above any chip and far below 2^64: sums of a few regions cannot wrap.
constexpr std::uint64_t kMostBytes = 1ull << 50;

Result<std::uint64_t> aligned(std::uint64_t bytes, std::uint64_t alignment, const std::string& what) {
  const auto up = checked_align_up(bytes, alignment);
  if (!up || *up > kMostBytes)
    return input_error("memory plan", what, fmt::format("{} B", bytes), format_bytes(kMostBytes));
  return *up;
}

bool same_content(const onnx::Initializer& a, const onnx::Initializer& b) {
  if (a.type != b.type || a.dims != b.dims || a.bytes != b.bytes) return false;
  if (!a.location.empty() && a.location == b.location && a.offset == b.offset) return true;
  return a.data && b.data && std::memcmp(a.data->raw(), b.data->raw(), a.data->bytes()) == 0;
}

std::uint64_t io_bytes(const Storage& storage, const PlacedGraph& graph, std::int64_t tile_rows) {
  if (storage.home != Home::kOutput) return storage.bytes;
  const auto rows = static_cast<std::uint64_t>(graph.options.batch);
  return storage.bytes / rows * static_cast<std::uint64_t>(padded_rows(graph.options.batch, tile_rows));
}

/// First fit by lifetime: a storage takes the lowest gap that no storage alive at the same time uses.
Status place_workspace(PlacedGraph& graph) {
  struct Live {
    std::uint64_t begin, end;
    std::size_t last;
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < graph.lowered.storages.size(); ++i)
    if (graph.lowered.storages[i].home == Home::kWorkspace) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return graph.lowered.storages[a].first < graph.lowered.storages[b].first;
  });
  std::vector<Live> live;  // sorted by begin
  for (const std::size_t index : order) {
    const Storage& storage = graph.lowered.storages[index];
    std::erase_if(live, [&](const Live& other) { return other.last < storage.first; });
    CALKIT_TRY(const std::uint64_t bytes, aligned(storage.bytes, kValueAlign, storage.name));
    std::uint64_t at = 0;
    auto before = live.begin();
    for (; before != live.end() && before->begin < at + bytes; ++before) at = std::max(at, before->end);
    live.insert(before, {at, at + bytes, storage.last});
    graph.address[index] = at;  // an offset until the region has a base
    graph.workspace_peak = std::max(graph.workspace_peak, at + bytes);
    if (graph.workspace_peak > kMostBytes)
      return input_error("memory plan", storage.name, "too large", format_bytes(kMostBytes));
  }
  return {};
}

class Planner {
 public:
  Planner(const Inputs& inputs, const PlaceOptions& options, std::vector<PlacedGraph>& graphs)
      : inputs_(inputs), options_(options), graphs_(graphs) {}

  Result<MemoryPlan> run() {
    CALKIT_TRY(plan_.params, collect_params(inputs_, graphs_));
    CALKIT_CHECK_OK(measure());
    CALKIT_CHECK_OK(check_capacity());
    make_regions();
    assign();
    return std::move(plan_);
  }

 private:
  Status measure() {
    const hf::ModelSpec& spec = inputs_.spec;
    const std::int64_t extents[] = {options_.slots, graphs_.front().options.context};
    const auto kv = checked_product(extents, hf::kv_bytes_per_token(spec, inputs_.dtype));
    CALKIT_TRY(kv_region_, aligned(kv.value_or(std::numeric_limits<std::uint64_t>::max() / 2), kRegionAlign, "kv"));
    plan_.kv_bytes = *kv;
    CALKIT_TRY(param_region_, aligned(plan_.params.bytes, kRegionAlign, "parameters"));
    for (PlacedGraph& graph : graphs_) {
      graph.address.assign(graph.lowered.storages.size(), 0);
      graph.region.assign(graph.lowered.storages.size(), {});
      CALKIT_CHECK_OK(place_workspace(graph));
      CALKIT_TRY(const std::uint64_t workspace, aligned(graph.workspace_peak, kRegionAlign, "workspace"));
      plan_.workspace_bytes = std::max(plan_.workspace_bytes, workspace);
      std::uint64_t io = 0;
      for (const Storage& storage : graph.lowered.storages) {
        if (storage.home != Home::kInput && storage.home != Home::kOutput && storage.home != Home::kCsr) continue;
        CALKIT_TRY(const std::uint64_t bytes,
                   aligned(io_bytes(storage, graph, options_.tile_rows), kValueAlign, storage.name));
        io += bytes;
      }
      CALKIT_TRY(io, aligned(io, kRegionAlign, "io"));
      io_regions_.push_back(io);
      plan_.io_bytes += io;
    }
    return {};
  }

  Status check_capacity() {
    const std::uint64_t guard = options_.profile.guard_bytes;
    plan_.device_required = param_region_ + kv_region_ + plan_.workspace_bytes + plan_.io_bytes + guard;
    if (plan_.device_required <= options_.profile.dram_bytes) return {};
    return input_error(
        "device profile " + options_.profile.name, "DRAM of one chiplet",
        fmt::format("{} needed: parameters {} + KV {} + workspace {} + I/O {} + guard {}",
                    format_bytes(plan_.device_required), format_bytes(param_region_), format_bytes(kv_region_),
                    format_bytes(plan_.workspace_bytes), format_bytes(plan_.io_bytes), format_bytes(guard)),
        format_bytes(options_.profile.dram_bytes),
        "pack fewer slots, freeze with a shorter context or a narrower KV dtype");
  }

  void make_regions() {
    std::uint64_t at = kFirstAddress;
    plan_.regions.push_back({"chip0", 0, "dram", "global", at, plan_.device_required, kRegionAlign, {}, {}});
    const auto add = [&](const std::string& id, const std::string& kind, std::uint64_t size) {
      base_[id] = at;
      plan_.regions.push_back({id, 0, "dram", kind, at, size, kRegionAlign, "chip0", {}});
      at += size;
    };
    add("param", "param", param_region_);
    add("kv", "kv", kv_region_);
    add("workspace", "workspace", plan_.workspace_bytes);
    for (std::size_t i = 0; i < graphs_.size(); ++i) add("io." + graphs_[i].phase, "io", io_regions_[i]);
    if (options_.profile.guard_bytes > 0) add("guard", "guard", options_.profile.guard_bytes);
  }

  void assign() {
    const auto per_tensor = static_cast<std::uint64_t>(inputs_.spec.kv_heads * inputs_.spec.head_dim) *
                            static_cast<std::uint64_t>(graphs_.front().options.context) * dtype_bytes(inputs_.dtype);
    for (PlacedGraph& graph : graphs_) {
      const std::string io = "io." + graph.phase;
      std::uint64_t io_at = base_.at(io);
      for (std::size_t i = 0; i < graph.lowered.storages.size(); ++i) {
        const Storage& storage = graph.lowered.storages[i];
        switch (storage.home) {
          case Home::kWorkspace:
            set(graph, i, "workspace", base_.at("workspace") + graph.address[i]);
            break;
          case Home::kParam:
            set(graph, i, "param",
                base_.at("param") + plan_.params.entries[plan_.params.by_name.at(storage.name)].offset);
            break;
          case Home::kKey:
          case Home::kValue: {
            const auto index = 2 * static_cast<std::uint64_t>(storage.layer) + (storage.home == Home::kValue ? 1 : 0);
            set(graph, i, "kv", base_.at("kv") + index * per_tensor);
            break;
          }
          default:
            set(graph, i, io, io_at);
            io_at += *checked_align_up(io_bytes(storage, graph, options_.tile_rows), kValueAlign);
        }
      }
    }
  }

  static void set(PlacedGraph& graph, std::size_t storage, const std::string& region, std::uint64_t address) {
    graph.region[storage] = region;
    graph.address[storage] = address;
  }

  const Inputs& inputs_;
  const PlaceOptions& options_;
  std::vector<PlacedGraph>& graphs_;
  MemoryPlan plan_;
  std::uint64_t param_region_ = 0, kv_region_ = 0;
  std::vector<std::uint64_t> io_regions_;
  std::map<std::string, std::uint64_t> base_;
};

}  // namespace

std::int64_t padded_rows(std::int64_t rows, std::int64_t tile_rows) {
  return tile_rows == 0 ? rows : (rows + tile_rows - 1) / tile_rows * tile_rows;
}

Result<ParamBlock> collect_params(const Inputs& inputs, const std::vector<PlacedGraph>& graphs) {
  ParamBlock block;
  for (const PlacedGraph& graph : graphs) {
    const onnx::Graph& source = graph.options.decode ? inputs.decode.graph : inputs.prefill.graph;
    std::map<std::string, const onnx::Initializer*> known;
    for (const auto* list : {&source.initializers, &graph.lowered.extra})
      for (const onnx::Initializer& initializer : *list) known[initializer.name] = &initializer;
    for (const LoweredValue& value : graph.lowered.values) {
      const Storage& storage = graph.lowered.storages[value.storage];
      if (storage.home != Home::kParam || storage.name != value.name) continue;
      const onnx::Initializer& initializer = *known.at(value.name);
      if (!initializer.data)
        return input_error("graph", "initialiser '" + value.name + "'", "no data",
                           "data in the model or its external file");
      if (const auto twin = block.by_name.find(value.name); twin != block.by_name.end()) {
        if (!same_content(*block.entries[twin->second].initializer, initializer))
          return input_error("graph", "initialiser '" + value.name + "'", "different contents in prefill and decode",
                             "one content");
        continue;
      }
      CALKIT_TRY(const std::uint64_t offset, aligned(block.bytes, kValueAlign, value.name));
      block.by_name[value.name] = block.entries.size();
      block.entries.push_back({&initializer, value.dtype, offset});
      block.bytes = offset + initializer.data->bytes();
    }
  }
  return block;
}

Result<MemoryPlan> place(const Inputs& inputs, const PlaceOptions& options, std::vector<PlacedGraph>& graphs) {
  return Planner(inputs, options, graphs).run();
}

}  // namespace calkit::compile
