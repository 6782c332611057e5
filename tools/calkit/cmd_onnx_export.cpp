#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/hf/model_files.h"
#include "calkit/model/graph.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string model, config, out, dtype = "fp32";
  bool no_weights = false;
  model::FixedAxes fixed;
};

Status add_source(const Options& opt, manifest::Evidence& evidence) {
  if (opt.no_weights) {
    CALKIT_TRY(auto input, manifest::evidence_file("config", opt.config));
    evidence.inputs.push_back(std::move(input));
    return {};
  }
  CALKIT_TRY(const auto files, hf::ModelFiles::open(opt.model));
  CALKIT_TRY(const auto input, files.hash_all(), "hashing " + opt.model);
  evidence.inputs.push_back({"model", opt.model, input.sha256, input.bytes});
  return {};
}

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("onnx-export", common.argv);
  const DType dtype = opt.dtype == "bf16" ? DType::kBF16 : DType::kF32;
  if (opt.model.empty() == opt.config.empty() || opt.no_weights != opt.model.empty())
    return Error(ErrorKind::kUsage, "onnx-export takes MODEL_DIR, or --config FILE with --no-weights",
                 "see calkit onnx-export --help");
  const std::string& source = opt.no_weights ? opt.config : opt.model;
  CALKIT_TRY(const auto report,
             opt.no_weights ? model::export_structure(opt.config, opt.out, dtype, opt.fixed)
                            : model::export_onnx(opt.model, opt.out, dtype, opt.fixed),
             "exporting " + source);
  if (common.evidence_dir != "none") {
    CALKIT_CHECK_OK(add_source(opt, evidence));
    CALKIT_TRY(auto output, manifest::evidence_file("onnx", opt.out));
    evidence.outputs.push_back(std::move(output));
  }
  evidence.figures = {
      manifest::counted("prefill_nodes", report.prefill_nodes, "nodes", "counted in the graph"),
      manifest::counted("decode_nodes", report.decode_nodes, "nodes", "counted in the graph"),
      manifest::counted("weights_bytes", report.weight_bytes, "bytes",
                        opt.no_weights ? "counted from the shapes; not written" : "size of weights.bin")};
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary = fmt::format("{} graphs, {} prefill and {} decode nodes, {} of weights{}, ONNX's full check passed",
                                 dtype_name(dtype), report.prefill_nodes, report.decode_nodes,
                                 format_bytes(report.weight_bytes), opt.no_weights ? " left out" : "");
  evidence.details = Value::object({{"schema", "calkit.onnx-export/1"},
                                    {"dtype", dtype_name(dtype)},
                                    {"prefill", report.prefill_path},
                                    {"decode", report.decode_path},
                                    {"weights", opt.no_weights ? Value() : Value(report.weights_path)},
                                    {"contract", report.contract_path},
                                    {"prefill_nodes", report.prefill_nodes},
                                    {"decode_nodes", report.decode_nodes},
                                    {"weights_bytes", report.weight_bytes}});
  const std::string text =
      fmt::format("prefill:  {}\ndecode:   {}\nweights:  {}\ncontract: {}\n", report.prefill_path, report.decode_path,
                  opt.no_weights ? "left out" : report.weights_path, report.contract_path);
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_onnx_export(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app =
      add_command(root, "onnx-export", "Build the prefill and decode graphs in standard ONNX from a checkpoint.",
                  "  calkit onnx-export MODEL_DIR --out onnx\n"
                  "  calkit onnx-export MODEL_DIR --out onnx-bf16 --dtype bf16    keep BF16 weights and activations\n"
                  "  calkit onnx-export --config config.json --no-weights --out structure",
                  [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("MODEL_DIR", opt->model, "folder of the checkpoint: config.json and safetensors");
  app->add_option("--config", opt->config, "config.json alone, with --no-weights")->type_name("FILE");
  app->add_flag("--no-weights", opt->no_weights, "the graphs' structure, without the file of the weights");
  app->add_option("--out", opt->out, "folder to write; an earlier export in it is replaced")
      ->type_name("DIR")
      ->required();
  app->add_option("--dtype", opt->dtype, "element type of weights, activations and KV cache: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->type_name("T")
      ->capture_default_str();
  const auto fix = [app](const char* name, std::optional<std::int64_t>& axis, const char* text) {
    app->add_option(name, axis, text)->check(whole_number(1, 1u << 20))->type_name("N");
  };
  fix("--batch", opt->fixed.batch, "state axis B as this number; without it B is dynamic");
  fix("--seq", opt->fixed.tokens, "state axis S of prefill as this number; without it S is dynamic");
  fix("--past", opt->fixed.past, "state axis P of decode as this number; without it P is dynamic");
}

}  // namespace calkit::cli
