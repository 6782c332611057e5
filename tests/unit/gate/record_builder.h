#pragma once
// Evidence records for tests: a whole good road for one build, to be bent one property at a time.
#include <string>
#include <vector>

#include "calkit/manifest/evidence.h"

namespace calkit::gate::test {

inline std::string digest(char c) {
  return std::string(64, c);
}

inline manifest::Evidence make_record(const std::string& command,
                                      std::vector<std::pair<std::string, std::string>> inputs,
                                      std::vector<std::pair<std::string, std::string>> outputs = {}) {
  manifest::Evidence r;
  r.command = command;
  r.file = "evidence/" + command + "-20260101T000000Z-00000000.json";
  r.verdict = manifest::EvidenceVerdict::kPass;
  r.summary = command + " was fine";
  r.figures.push_back({"checked", 1.0, "things", 1, "counted"});
  for (auto& [role, sha] : inputs) r.inputs.push_back({role, role, sha, 1});
  for (auto& [role, sha] : outputs) r.outputs.push_back({role, role, sha, 1});
  return r;
}

inline void on_emulator(manifest::Evidence& r) {
  r.device.kind = "emulated";
  r.device.name = "emu";
}

/// All records of one road: model m, baseline b, onnx o, package `calbin`, service s.
inline std::vector<manifest::Evidence> road(char calbin = 'c') {
  const std::string m = digest('1'), b = digest('2'), o = digest('3'), c = digest(calbin), s = digest('5'),
                    config = digest('6');
  std::vector<manifest::Evidence> out;
  out.push_back(make_record("triage", {{"model-config", config}}));
  out.push_back(make_record("freeze-baseline", {{"model", m}, {"model-config", config}}, {{"baseline", b}}));
  out.push_back(make_record("onnx-export", {{"model", m}}, {{"onnx", o}}));
  out.push_back(make_record("onnx-normalize", {{"onnx", o}}, {{"normalized", digest('7')}}));
  out.push_back(make_record("onnx-inventory", {{"onnx", o}}));
  out.push_back(make_record("pack", {{"onnx", o}, {"baseline", b}}, {{"calbin", c}}));
  out.push_back(make_record("calbin-lint", {{"calbin", c}, {"service", s}}));
  auto runner = make_record("runner", {{"calbin", c}, {"service", s}, {"baseline", b}});
  runner.figures = {{"logits_nmse_max", 1e-12, "1", 3, "x"},
                    {"prompts_compared", 3.0, "prompts", 3, "x"},
                    {"steps_equal", 48.0, "steps", 48, "x"}};
  on_emulator(runner);
  out.push_back(runner);
  auto bench = make_record("bench", {{"calbin", c}, {"service", s}});
  bench.figures = {{"requests_succeeded", 8.0, "requests", 8, "x"}};
  on_emulator(bench);
  out.push_back(bench);
  auto soak = make_record("soak", {{"calbin", c}, {"service", s}});
  soak.figures = {{"cycles", 30.0, "cycles", 30, "x"}, {"heap_bytes_slope_per_cycle", 0.0, "B", 30, "x"}};
  on_emulator(soak);
  out.push_back(soak);
  auto bundle =
      make_record("export", {{"calbin", c}, {"baseline", b}, {"onnx", o}, {"service", s}}, {{"bundle", digest('9')}});
  bundle.details = Value::object({{"schema", "calkit.export/1"}, {"unproven_allowed", false}});
  out.push_back(bundle);
  return out;
}

inline manifest::Evidence& record_of(std::vector<manifest::Evidence>& records, const std::string& command) {
  for (auto& r : records)
    if (r.command == command) return r;
  return records.front();
}

}  // namespace calkit::gate::test
