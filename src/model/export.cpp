#include <fmt/format.h>

#include <utility>

#include "calkit/base/checked.h"
#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "calkit/onnx/io.h"
#include "contract.h"
#include "graph_recipe.h"

namespace calkit::model {
namespace {

constexpr const char* kWeights = "weights.bin";

// An export replaces the folder of an earlier export, never a folder of something else.
Status check_target(const std::filesystem::path& out) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(out, ignored) || std::filesystem::is_empty(out, ignored)) return {};
  if (std::filesystem::exists(out / "contract.json", ignored)) return {};
  return input_error(out.string(), "--out", "a folder with other files in it", "a new folder or an earlier export",
                     "choose another folder or empty this one");
}

Result<NamedDigest> digest_of(const std::filesystem::path& dir, const std::string& name) {
  if (interrupted()) return interrupted_error();
  CALKIT_TRY(const FileDigest digest, hash_file(dir / name));
  return NamedDigest{name, digest};
}

// A graph that our own recipe made and ONNX refuses is our defect, not the user's.
Status own_graph(Status status) {
  if (status.ok()) return status;
  return Error{ErrorKind::kInternal, "ONNX's checker refuses the exported graph: " + status.error().message};
}

struct Source {
  const hf::ModelSpec& spec;
  const hf::Checkpoint* weights;  ///< null: the structure alone
  DType dtype;
  FixedAxes fixed;
};

/// Tensors of the checkpoint's names and shapes without their data, and where a full export puts them.
Status attach_places(onnx::Model& model, const Source& source, std::map<std::string, onnx::ExternalRange>& places) {
  CALKIT_CHECK_OK(check_spec(source.spec, source.dtype));
  std::uint64_t end = 0;
  for (const GraphTensor& expected : graph_tensors(source.spec)) {
    const auto bytes = checked_product(expected.shape, dtype_bytes(source.dtype));
    const auto next = bytes ? checked_add(end, *bytes) : std::nullopt;
    const auto aligned = next ? checked_align_up(*next, onnx::kExternalAlignment) : std::nullopt;
    if (!aligned)
      return input_error("config.json", expected.name, "more bytes than a file can have", "less than 2^64 in all");
    onnx::Initializer made;
    made.name = expected.name;
    made.type = onnx::from_dtype(source.dtype);
    made.dims = expected.shape;
    made.bytes = *bytes;
    places[made.name] = {end, made.bytes};
    end = *aligned;
    model.graph.initializers.push_back(std::move(made));
  }
  model.metadata["calkit.weights"] = "none";
  return {};
}

/// Both graphs and the weights file, checked, in `folder`.
class Writer {
 public:
  Writer(const Source& source, const std::filesystem::path& folder) : source_(source), folder_(folder) {
    options_.external_name = kWeights;
    options_.shared = &places_;
    if (source.weights != nullptr)
      options_.written = [&source](const onnx::Initializer& tensor) {
        if (tensor.pieces.empty()) source.weights->release(tensor.name);
        for (const onnx::Piece& piece : tensor.pieces) source.weights->release(piece.name);
      };
  }
  Result<onnx::Model> write(Phase phase, const char* name) {
    onnx::Model model = build_structure(source_.spec, phase, source_.dtype, source_.fixed);
    if (source_.weights != nullptr)
      CALKIT_CHECK_OK(attach_weights(model, source_.spec, *source_.weights, source_.dtype, false));
    else
      CALKIT_CHECK_OK(attach_places(model, source_, places_));
    CALKIT_CHECK_OK(onnx::save(model, folder_ / name, options_), fmt::format("writing {}", name));
    CALKIT_CHECK_OK(own_graph(source_.weights != nullptr ? onnx::check_file(folder_ / name, true)
                                                         : onnx::check_structure(model, folder_)));
    return model;
  }
  /// Bytes up to the end of the last tensor.
  std::uint64_t weight_bytes() const {
    std::uint64_t end = 0;
    for (const auto& [name, range] : places_) end = std::max(end, range.offset + range.length);
    return end;
  }

 private:
  const Source& source_;
  const std::filesystem::path folder_;
  std::map<std::string, onnx::ExternalRange> places_;
  onnx::SaveOptions options_;
};

Status check_fixed(const FixedAxes& fixed) {
  for (const auto& [axis, extent] : {std::pair{"batch", fixed.batch}, {"tokens", fixed.tokens}, {"past", fixed.past}})
    if (extent && *extent < 1)
      return Error{ErrorKind::kUsage, fmt::format("the fixed {} is {}; allowed: 1 and more", axis, *extent)};
  return {};
}

/// @param config the file that /config holds; @param inputs the files that the graphs were made of, it first.
Result<ExportReport> write_export(const Source& source, const std::filesystem::path& config,
                                  std::vector<NamedDigest> inputs, const std::filesystem::path& out) {
  CALKIT_CHECK_OK(check_fixed(source.fixed));
  CALKIT_CHECK_OK(check_target(out));
  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the export folder");
  Writer writer(source, stage.path());
  CALKIT_TRY(const onnx::Model prefill, writer.write(Phase::kPrefill, "prefill.onnx"));
  CALKIT_TRY(const onnx::Model decode, writer.write(Phase::kDecode, "decode.onnx"));

  ContractParts parts{source.spec, source.dtype, prefill, decode, source.fixed, {}, {}, {}, {}, std::move(inputs)};
  CALKIT_TRY(parts.prefill_file, digest_of(stage.path(), "prefill.onnx"));
  CALKIT_TRY(parts.decode_file, digest_of(stage.path(), "decode.onnx"));
  parts.weights_file = {kWeights, {{}, writer.weight_bytes()}};
  if (source.weights != nullptr) {
    CALKIT_TRY(parts.weights_file, digest_of(stage.path(), kWeights));
  }
  CALKIT_TRY(parts.config, read_json(config));
  CALKIT_CHECK_OK(write_file(stage.path() / "contract.json", to_json(contract_value(parts)) + "\n"));
  CALKIT_CHECK_OK(stage.commit(), "putting the export in place");

  ExportReport report;
  report.prefill_path = (out / "prefill.onnx").string();
  report.decode_path = (out / "decode.onnx").string();
  report.contract_path = (out / "contract.json").string();
  if (source.weights != nullptr) report.weights_path = (out / kWeights).string();
  report.prefill_nodes = prefill.graph.nodes.size();
  report.decode_nodes = decode.graph.nodes.size();
  report.weight_bytes = parts.weights_file.digest.bytes;
  return report;
}

}  // namespace

Result<ExportReport> export_onnx(const std::filesystem::path& model_dir, const std::filesystem::path& out, DType dtype,
                                 const FixedAxes& fixed) {
  CALKIT_TRY(const hf::ModelSpec spec, hf::read_spec(model_dir), "reading the model");
  CALKIT_TRY(const hf::Checkpoint weights, hf::Checkpoint::open(model_dir), "reading the model");
  CALKIT_CHECK_OK(weights.check_against(spec), "reading the model");
  std::vector<NamedDigest> inputs(1);
  CALKIT_TRY(inputs[0], digest_of(model_dir, "config.json"));
  for (const std::string& file : weights.files()) {
    CALKIT_TRY(NamedDigest digest, digest_of(model_dir, file));
    inputs.push_back(std::move(digest));
  }
  return write_export({spec, &weights, dtype, fixed}, model_dir / "config.json", std::move(inputs), out);
}

Result<ExportReport> export_structure(const std::filesystem::path& config, const std::filesystem::path& out,
                                      DType dtype, const FixedAxes& fixed) {
  CALKIT_TRY(const Value document, read_json(config), "reading the model's config");
  CALKIT_TRY(const hf::ModelSpec spec, hf::parse_spec(Cursor(document, config.string())));
  std::vector<NamedDigest> inputs(1);
  CALKIT_TRY(inputs[0], digest_of(config.parent_path(), config.filename().string()));
  inputs[0].name = "config.json";
  return write_export({spec, nullptr, dtype, fixed}, config, std::move(inputs), out);
}

}  // namespace calkit::model
