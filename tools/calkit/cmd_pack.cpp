#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/compile/pack.h"
#include "command.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string onnx, baseline, out, device_profile;
  std::int64_t slots = 0, tile = 0;
};

manifest::Figure bytes_figure(std::string name, std::uint64_t value) {
  return manifest::counted(std::move(name), value, "bytes", "summed over the memory plan");
}

/// What a service manifest for this package says, ready to be pasted.
std::string binding_text(const compile::PackReport& r) {
  return fmt::format(
      "schema: 1\narchitecture: {}\ncalbin_version: {}\nruntime_abi: {}\ncontext: {}\nbatch: {}\nvocab: {}\n"
      "models: {{prefill: {}, decode: {}}}\ntensors: {{token: \"{}\", position: \"{}\", logits: \"{}\"}}\n"
      "csr: {{current: \"{}\", past_current: \"{}\"}}\n",
      r.architecture, r.version, r.runtime_abi, r.context, r.batch, r.vocab, r.prefill_model, r.decode_model, r.token,
      r.position, r.logits, r.csr_current, r.csr_past_current);
}

std::string memory_text(const compile::PackReport& r) {
  const auto line = [](const char* name, std::uint64_t bytes) {
    return fmt::format("{:<11} {:>12}\n", name, format_bytes(bytes));
  };
  return line("parameters", r.param_bytes) + line("kv", r.kv_bytes) + line("workspace", r.workspace_bytes) +
         line("io", r.io_bytes) + line("guard", r.guard_bytes) + line("required", r.device_required);
}

Value details_of(const compile::PackReport& r, const std::string& out) {
  return Value::object({{"schema", "calkit.pack/1"},
                        {"package", out},
                        {"name", r.name},
                        {"version", r.version},
                        {"digest", r.digest},
                        {"device", "emulated"},
                        {"prefill_model", r.prefill_model},
                        {"decode_model", r.decode_model},
                        {"context", r.context},
                        {"batch", r.batch},
                        {"vocab", r.vocab},
                        {"slots", r.slots},
                        {"prefill_ops", r.prefill_ops},
                        {"decode_ops", r.decode_ops},
                        {"params", r.params},
                        {"goldens", r.goldens},
                        {"param_bytes", r.param_bytes},
                        {"kv_bytes", r.kv_bytes},
                        {"workspace_bytes", r.workspace_bytes},
                        {"io_bytes", r.io_bytes},
                        {"guard_bytes", r.guard_bytes},
                        {"device_required_bytes", r.device_required}});
}

Result<ExitCode> run(const Options& opt, const Common& common, Streams io) {
  auto evidence = manifest::start_evidence("pack", common.argv);
  compile::PackOptions options;
  options.onnx_dir = opt.onnx;
  options.baseline = opt.baseline;
  options.out = opt.out;
  options.slots = opt.slots;
  options.tile_rows = opt.tile;
  CALKIT_TRY(options.profile,
             opt.device_profile.empty() ? manifest::default_device_profile()
                                        : manifest::read_device_profile(opt.device_profile),
             "reading the device profile");
  CALKIT_TRY(const auto report, compile::pack(options), "packing " + opt.onnx);
  for (const auto& [role, path] : {std::pair{"onnx", opt.onnx}, std::pair{"baseline", opt.baseline}}) {
    CALKIT_TRY(auto input, manifest::evidence_file(role, path));
    evidence.inputs.push_back(std::move(input));
  }
  CALKIT_TRY(auto output, manifest::evidence_file("calbin", opt.out));
  evidence.outputs.push_back(std::move(output));
  evidence.figures = {bytes_figure("param_bytes", report.param_bytes), bytes_figure("kv_bytes", report.kv_bytes),
                      bytes_figure("workspace_bytes", report.workspace_bytes),
                      bytes_figure("io_bytes", report.io_bytes),
                      bytes_figure("device_required_bytes", report.device_required)};
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary =
      fmt::format("{} for the emulated device: {} + {} ops, {} parameters, {} of one chiplet", report.name,
                  report.prefill_ops, report.decode_ops, report.params, format_bytes(report.device_required));
  evidence.details = details_of(report, opt.out);
  const std::string text =
      fmt::format("package {} ({})\n\nmemory of the chip\n{}\nnames for the service manifest\n{}\n", opt.out,
                  report.digest, memory_text(report), binding_text(report));
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_pack(CLI::App& root) {
  auto opt = std::make_shared<Options>();
  CLI::App* app =
      add_command(root, "pack", "Lower exported graphs into a package for the emulated device.",
                  "  calkit pack onnx --baseline base --out tiny.calbin\n"
                  "  calkit pack onnx --baseline base --out tiny.calbin --slots 4    four sequences at a time\n"
                  "  calkit pack onnx --baseline base --out tiny.calbin --tile 16    logits in tiles of D0 = 16 rows",
                  [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("ONNX_DIR", opt->onnx, "folder that onnx-export wrote")->required();
  app->add_option("--baseline", opt->baseline, "frozen baseline of the same model")->type_name("DIR")->required();
  app->add_option("--out", opt->out, "package folder; NAME names the package and its submodels")
      ->type_name("NAME.calbin")
      ->required();
  app->add_option("--slots", opt->slots, "KV slots; without it, the targets' batch")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app->add_option("--tile", opt->tile, "rows of a logits tile (D0): 0, 16 or 32")
      ->type_name("ROWS")
      ->check(CLI::IsMember({0, 16, 32}))
      ->capture_default_str();
  app->add_option("--device-profile", opt->device_profile, "what one chiplet offers; without it, the built-in profile")
      ->type_name("FILE");
}

}  // namespace calkit::cli
