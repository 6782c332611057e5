#include <fmt/format.h>

#include <utility>

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

Result<onnx::Model> make_graph(const hf::ModelSpec& spec, const hf::Checkpoint& weights, Phase phase, DType dtype) {
  onnx::Model model = build_structure(spec, phase, dtype);
  CALKIT_CHECK_OK(attach_weights(model, spec, weights, dtype, false));
  return model;
}

Result<NamedDigest> digest_of(const std::filesystem::path& dir, const std::string& name) {
  if (interrupted()) return interrupted_error();
  CALKIT_TRY(const FileDigest digest, hash_file(dir / name));
  return NamedDigest{name, digest};
}

// A graph that our own recipe made and ONNX refuses is our defect, not the user's.
Status check_own_graph(const std::filesystem::path& path) {
  Status status = onnx::check_file(path, true);
  if (status.ok()) return status;
  return Error{ErrorKind::kInternal, "ONNX's checker refuses the exported graph: " + status.error().message};
}

}  // namespace

Result<ExportReport> export_onnx(const std::filesystem::path& model_dir, const std::filesystem::path& out,
                                 DType dtype) {
  CALKIT_TRY(const hf::ModelSpec spec, hf::read_spec(model_dir), "reading the model");
  CALKIT_TRY(const hf::Checkpoint weights, hf::Checkpoint::open(model_dir), "reading the model");
  CALKIT_CHECK_OK(weights.check_against(spec), "reading the model");
  CALKIT_CHECK_OK(check_target(out));
  CALKIT_TRY(const onnx::Model prefill, make_graph(spec, weights, Phase::kPrefill, dtype));
  CALKIT_TRY(const onnx::Model decode, make_graph(spec, weights, Phase::kDecode, dtype));

  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the export folder");
  std::map<std::string, onnx::ExternalRange> placed;
  onnx::SaveOptions options;
  options.external_name = kWeights;
  options.shared = &placed;
  options.written = [&](const onnx::Initializer& tensor) { weights.release(tensor.name); };
  for (const auto& [name, model] : {std::pair{"prefill.onnx", &prefill}, std::pair{"decode.onnx", &decode}}) {
    CALKIT_CHECK_OK(onnx::save(*model, stage.path() / name, options), fmt::format("writing {}", name));
    CALKIT_CHECK_OK(check_own_graph(stage.path() / name));
  }

  ContractParts parts{spec, dtype, prefill, decode, {}, {}, {}, {}, {}};
  CALKIT_TRY(parts.prefill_file, digest_of(stage.path(), "prefill.onnx"));
  CALKIT_TRY(parts.decode_file, digest_of(stage.path(), "decode.onnx"));
  CALKIT_TRY(parts.weights_file, digest_of(stage.path(), kWeights));
  CALKIT_TRY(parts.config, read_json(model_dir / "config.json"));
  CALKIT_TRY(NamedDigest config, digest_of(model_dir, "config.json"));
  parts.inputs.push_back(std::move(config));
  for (const std::string& file : weights.files()) {
    CALKIT_TRY(NamedDigest digest, digest_of(model_dir, file));
    parts.inputs.push_back(std::move(digest));
  }
  CALKIT_CHECK_OK(write_file(stage.path() / "contract.json", to_json(contract_value(parts)) + "\n"));
  CALKIT_CHECK_OK(stage.commit(), "putting the export in place");

  ExportReport report;
  report.prefill_path = (out / "prefill.onnx").string();
  report.decode_path = (out / "decode.onnx").string();
  report.contract_path = (out / "contract.json").string();
  report.weights_path = (out / kWeights).string();
  report.prefill_nodes = prefill.graph.nodes.size();
  report.decode_nodes = decode.graph.nodes.size();
  report.weight_bytes = parts.weights_file.digest.bytes;
  return report;
}

}  // namespace calkit::model
