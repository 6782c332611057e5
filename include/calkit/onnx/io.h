#pragma once
/// Reading, writing, checking and shape inference of ONNX files; the only users of ONNX's own library and of protobuf.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calkit/onnx/model.h"

namespace calkit::onnx {

struct LoadOptions {
  /// false: initialisers carry type, dims and byte counts only, except those of at most 1 KiB (shapes, axes)
  bool tensor_data = true;
  /// Map external files (root-confined to the model's folder) and check their ranges.
  bool external_data = true;
};
/// kInput for: not an ONNX protobuf, truncated, structure_problems(), external data that escapes the folder, is
/// missing, out of range or shorter than its shape (naming tensor, location, reason). The file is mapped; main-graph
/// initialisers are copied out one by one, external ones are views of the mapped file.
Result<Model> load(const std::filesystem::path& path, const LoadOptions& options = {});

/// The same from memory; `name` stands for the file in messages, `folder` is where external data is looked for.
Result<Model> load_bytes(std::span<const std::byte> bytes, const std::string& name, const std::filesystem::path& folder,
                         const LoadOptions& options = {});

/// What an inspector sees of any ONNX file: no weights, whatever is wrong told instead of refused, shapes inferred
/// where that works.
struct Outline {
  Model model;
  std::vector<ValueInfo> inputs, outputs;  ///< of the main graph as the file states them, nothing inferred
  std::vector<std::string> problems;       ///< structure and external data, one sentence each
  std::string inference_note;              ///< why shape inference gave up; empty: it did not
  bool structure_only = false;             ///< the file says that its external data is left out on purpose
};
/// kInput only if the file is no ONNX protobuf at all. External data of a file whose metadata say `calkit.weights`:
/// `none` is not looked for.
Result<Outline> load_outline(const std::filesystem::path& path);
Result<Outline> load_outline_bytes(std::span<const std::byte> bytes, const std::string& name,
                                   const std::filesystem::path& folder);

/// Nodes out of order (naming node and input), cycles (naming the nodes), inputs that nothing produces, values produced
/// twice, functions that call themselves; in the main graph, all subgraphs and functions. Empty: all is well.
std::vector<std::string> structure_problems(const Model& model);

/// Where an external tensor begins: at a multiple of this.
constexpr std::uint64_t kExternalAlignment = 4096;

/// Where an external tensor lies in its file.
struct ExternalRange {
  std::uint64_t offset = 0, length = 0;
};

/// Writes MODEL.onnx; initialisers of at least `external_from` bytes go to `external_name` beside it, 4096-byte
/// aligned, streamed tensor by tensor. Both are written under temporary names in `path`'s folder, then renamed. An
/// initialiser whose data has another dtype than its type is converted on the way, one tensor at a time.
struct SaveOptions {
  std::uint64_t external_from = 1024;
  std::string external_name;  ///< "weights.bin"; empty: everything inside
  /// Called after each external tensor has been written, so that its source pages can be let go.
  std::function<void(const Initializer&)> written;
  /// Two graphs with one weights file: the first save fills this map by tensor name, a save that finds it filled refers
  /// to those ranges of `external_name`, writes no second file and keeps other tensors inside.
  std::map<std::string, ExternalRange>* shared = nullptr;
};
Status save(const Model& model, const std::filesystem::path& path, const SaveOptions& options);

/// ONNX's own checker on a file (so that external data is found), with full shape inference when `full`.
Status check_file(const std::filesystem::path& path, bool full);

/// The same of a graph whose weights have no data: the checker gets a twin that takes them as inputs. @param folder
/// where the twin is written for a moment.
Status check_structure(const Model& model, const std::filesystem::path& folder);

/// The same model in another version of ai.onnx, by ONNX's own converter; weights are carried along, not copied.
/// kInput where the converter cannot.
Result<Model> convert_opset(const Model& model, std::int64_t version);

/// Fills value_info through ONNX's own shape inference. Weights' data is not needed.
Result<Model> infer_shapes(const Model& model);

}  // namespace calkit::onnx
