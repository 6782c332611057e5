#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/hf/model_files.h"
#include "calkit/model/graph.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string model, out, dtype = "fp32";
};

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("onnx-export", common.argv);
  const DType dtype = opt.dtype == "bf16" ? DType::kBF16 : DType::kF32;
  CALKIT_TRY(const auto report, model::export_onnx(opt.model, opt.out, dtype), "exporting " + opt.model);
  if (common.evidence_dir != "none") {
    CALKIT_TRY(const auto files, hf::ModelFiles::open(opt.model));
    CALKIT_TRY(auto input, files.hash_all(), "hashing " + opt.model);
    evidence.inputs.push_back({"model", opt.model, input.sha256, input.bytes});
    CALKIT_TRY(auto output, manifest::evidence_file("onnx", opt.out));
    evidence.outputs.push_back(std::move(output));
  }
  evidence.figures = {manifest::counted("prefill_nodes", report.prefill_nodes, "nodes", "counted in the graph"),
                      manifest::counted("decode_nodes", report.decode_nodes, "nodes", "counted in the graph"),
                      manifest::counted("weights_bytes", report.weight_bytes, "bytes", "size of weights.bin")};
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary =
      fmt::format("{} graphs, {} prefill and {} decode nodes, {} of weights, ONNX's full check passed",
                  dtype_name(dtype), report.prefill_nodes, report.decode_nodes, format_bytes(report.weight_bytes));
  evidence.details = Value::object({{"schema", "calkit.onnx-export/1"},
                                    {"dtype", dtype_name(dtype)},
                                    {"prefill", report.prefill_path},
                                    {"decode", report.decode_path},
                                    {"weights", report.weights_path},
                                    {"contract", report.contract_path},
                                    {"prefill_nodes", report.prefill_nodes},
                                    {"decode_nodes", report.decode_nodes},
                                    {"weights_bytes", report.weight_bytes}});
  const std::string text = fmt::format("prefill:  {}\ndecode:   {}\nweights:  {}\ncontract: {}\n", report.prefill_path,
                                       report.decode_path, report.weights_path, report.contract_path);
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_onnx_export(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app =
      add_command(root, "onnx-export", "Build the prefill and decode graphs in standard ONNX from a checkpoint.",
                  "  calkit onnx-export MODEL_DIR --out onnx\n"
                  "  calkit onnx-export MODEL_DIR --out onnx-bf16 --dtype bf16    keep BF16 weights and activations",
                  [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("MODEL_DIR", opt->model, "folder of the checkpoint: config.json and safetensors")->required();
  app->add_option("--out", opt->out, "folder to write; an earlier export in it is replaced")
      ->type_name("DIR")
      ->required();
  app->add_option("--dtype", opt->dtype, "element type of weights, activations and KV cache: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->type_name("T")
      ->capture_default_str();
}

}  // namespace calkit::cli
