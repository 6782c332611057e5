#include "command.h"

namespace calkit::cli {

void add_triage(CLI::App& root);
void add_freeze_baseline(CLI::App& root);
void add_onnx_export(CLI::App& root);
void add_onnx_contract(CLI::App& root);
void add_onnx_normalize(CLI::App& root);
void add_onnx_fuse(CLI::App& root);
void add_onnx_reduce(CLI::App& root);
void add_onnx_inventory(CLI::App& root);
void add_pack(CLI::App& root);
void add_calbin_lint(CLI::App& root);
void add_manifest(CLI::App& root);
void add_runner(CLI::App& root);
void add_bench(CLI::App& root);
void add_soak(CLI::App& root);
void add_export(CLI::App& root);
void add_gate(CLI::App& root);

// In the order of the road; help and the documentation test walk this list.
const std::vector<Registration>& registrations() {
  static const std::vector<Registration> list = {
      {"triage", add_triage},
      {"freeze-baseline", add_freeze_baseline},
      {"onnx-export", add_onnx_export},
      {"onnx-contract", add_onnx_contract},
      {"onnx-normalize", add_onnx_normalize},
      {"onnx-fuse", add_onnx_fuse},
      {"onnx-reduce", add_onnx_reduce},
      {"onnx-inventory", add_onnx_inventory},
      {"pack", add_pack},
      {"manifest", add_manifest},
      {"calbin-lint", add_calbin_lint},
      {"runner", add_runner},
      {"bench", add_bench},
      {"soak", add_soak},
      {"export", add_export},
      {"gate", add_gate},
  };
  return list;
}

}  // namespace calkit::cli
