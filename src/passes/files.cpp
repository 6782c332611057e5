#include "files.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "calkit/base/checked.h"
#include "calkit/onnx/io.h"

namespace calkit::passes {
namespace {

using Places = std::map<std::string, onnx::ExternalRange>;

bool has_data(const onnx::Model& model) {
  return std::all_of(model.graph.initializers.begin(), model.graph.initializers.end(),
                     [](const onnx::Initializer& tensor) { return tensor.data.has_value(); });
}

/// Ranges of the first graph's weights that the second has, too: the same bytes.
Places common(const Places& placed, const onnx::Model& first, const onnx::Model& second) {
  Places out;
  std::map<std::string, const onnx::Initializer*> known;
  for (const auto& tensor : first.graph.initializers) known[tensor.name] = &tensor;
  for (const auto& tensor : second.graph.initializers) {
    const auto twin = known.find(tensor.name);
    if (twin == known.end() || !placed.contains(tensor.name)) continue;
    const onnx::Initializer& other = *twin->second;
    const bool same_file = !tensor.location.empty() && other.location == tensor.location &&
                           other.offset == tensor.offset && other.length == tensor.length;
    const bool same_bytes = tensor.data && other.data && other.data->bytes() == tensor.data->bytes() &&
                            (other.data->raw() == tensor.data->raw() ||
                             std::memcmp(other.data->raw(), tensor.data->raw(), tensor.data->bytes()) == 0);
    if (other.type == tensor.type && other.dims == tensor.dims && (same_file || same_bytes))
      out[tensor.name] = placed.at(tensor.name);
  }
  return out;
}

/// Where tensors without data would be.
Result<Places> places_of(const std::vector<GraphFile>& graphs) {
  Places out;
  std::uint64_t end = 0;
  for (const GraphFile& graph : graphs)
    for (const auto& tensor : graph.model->graph.initializers) {
      if (tensor.data || out.contains(tensor.name)) continue;
      out[tensor.name] = {end, tensor.bytes};
      const auto next = checked_add(end, tensor.bytes);
      const auto aligned = next ? checked_align_up(*next, onnx::kExternalAlignment) : std::nullopt;
      if (!aligned)
        return input_error("graph", tensor.name, "more bytes than a file can have", "less than 2^64 in all");
      end = *aligned;
    }
  return out;
}

Status write_structure(const std::vector<GraphFile>& graphs, const std::filesystem::path& folder) {
  CALKIT_TRY(Places places, places_of(graphs));
  for (const GraphFile& graph : graphs) {
    onnx::SaveOptions save;
    save.external_name = "weights.bin";
    save.shared = &places;
    CALKIT_CHECK_OK(onnx::save(*graph.model, folder / (graph.name + ".onnx"), save));
    CALKIT_CHECK_OK(onnx::check_structure(*graph.model, folder), "checking " + graph.name);
  }
  return {};
}

}  // namespace

Result<std::vector<std::filesystem::path>> graphs_of(const std::filesystem::path& source) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(source, ignored)) return std::vector{source};
  std::vector<std::filesystem::path> out;
  for (const char* name : {"prefill.onnx", "decode.onnx"}) {
    out.push_back(source / name);
    if (!std::filesystem::exists(out.back(), ignored) || !std::filesystem::exists(source / kContract, ignored))
      return input_error(source.string(), "IN", "a folder without contract.json, prefill.onnx and decode.onnx",
                         "an ONNX file, or the folder of an export", "name the graph's file itself");
  }
  return out;
}

Status check_target(const std::filesystem::path& out, const char* record) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(out, ignored) || std::filesystem::is_empty(out, ignored)) return {};
  if (std::filesystem::exists(out / record, ignored)) return {};
  return input_error(out.string(), "--out", "a folder with other files in it",
                     "a new folder or an earlier one of this command", "choose another folder or empty this one");
}

Status write_pair(const std::vector<GraphFile>& graphs, const std::filesystem::path& folder) {
  if (!std::all_of(graphs.begin(), graphs.end(), [](const GraphFile& graph) { return has_data(*graph.model); }))
    return write_structure(graphs, folder);
  Places placed;
  for (const GraphFile& graph : graphs) {
    onnx::SaveOptions save;
    save.external_name = "weights.bin";
    if (&graph != &graphs.front()) {
      placed = common(placed, *graphs.front().model, *graph.model);
      if (placed.empty()) save.external_name = graph.name + ".weights.bin";
    }
    save.shared = &placed;
    const auto path = folder / (graph.name + ".onnx");
    CALKIT_CHECK_OK(onnx::save(*graph.model, path, save));
    CALKIT_CHECK_OK(onnx::check_file(path, true), "checking " + graph.name);
  }
  return {};
}

}  // namespace calkit::passes
