// The gates, in the order of the method's stages, then the definition of done. Ids are never reused.
#include "calkit/gate/gate.h"

namespace calkit::gate {

const std::vector<Gate>& gates() {
  static const std::vector<Gate> table = {
      // id     stage  title                                                       status command           road without
      // it
      {"G00", "0", "the model suits a first adaptation", "C2", "triage", true, ""},
      {"G01", "1", "meaning frozen: source, tokenizer, logits, greedy tokens", "C2", "freeze-baseline", true, ""},
      {"G02", "2", "prefill and decode graphs in standard ONNX", "C2", "onnx-export", true, ""},
      {"G19", "2", "graphs normalised, each pass proven by running", "C2", "onnx-normalize", true, ""},
      {"G03", "2", "graphs accepted by the vendor's compiler", "C3", "", false, "the vendor's compiler"},
      {"G04", "3", "quantised against calibration data, accuracy held", "C3", "", false,
       "the vendor's quantised kernels"},
      {"G05", "4", "operators and shape families counted", "C2", "onnx-inventory", true, ""},
      {"G06", "4", "each operator has a kernel or a fallback", "C3", "", false, "the vendor's operator matrix"},
      {"G07", "5", "fused kernels equal the unfused graph", "C3", "", false, "the vendor's fused kernels"},
      {"G08", "6", "partition over the chiplets stated and costed", "C3", "", false,
       "the vendor's partition constraints"},
      {"G09", "7", "memory planned, package complete (emulated dialect)", "C2", "pack", true, ""},
      {"G10", "7", "package made by the vendor's compiler", "C3", "", false, "the vendor's compiler"},
      {"G11", "8", "static acceptance without a blocker", "C2", "calbin-lint", true, ""},
      {"G12", "9", "runtime boundary: right token by token", "C2", "runner", true, ""},
      {"G13", "9", "the same on a board", "C3", "runner", false, "a run on the vendor's runtime and board"},
      {"G14", "10", "service adapter: right answers, errors by scope", "C2", "", false, "a service step"},
      {"G15", "11", "load matrix measured, percentiles with n", "C2", "bench", true, ""},
      {"G16", "11", "load and unload in cycles without a leak", "C2", "soak", true, ""},
      {"G17", "11", "performance of the hardware", "C3", "bench", false, "a run on the vendor's runtime and board"},
      {"G18", "11", "1 h, 8 h and 24 h without a leak on a board", "C3", "", false, "long runs on a board"},
      {"D01", "done", "inputs, package and records in one bundle", "C2", "export", true, ""},
      {"D02", "done", "sync and async without hang, cross-talk or lifetime fault", "C1", "", false,
       "experiments with the SDK"},
      {"D03", "done", "a batch above 1 under load", "C3", "", false, "packages for batch 4 and more"},
      {"D04", "done", "power, P99 and accuracy traceable on hardware", "C3", "", false, "counters of a board"},
      {"D05", "done", "each C3 item has version, owner, deliverable, regression case", "C3", "", false,
       "the vendor's answers"},
  };
  return table;
}

std::string_view state_name(State state) {
  switch (state) {
    case State::kSatisfied:
      return "satisfied";
    case State::kFailed:
      return "failed";
    case State::kIncomplete:
      return "incomplete";
    case State::kStale:
      return "stale";
    case State::kMissing:
      return "missing";
    case State::kOpen:
      break;
  }
  return "open";
}

}  // namespace calkit::gate
