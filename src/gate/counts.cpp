// When a passing record says enough to count.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calkit/gate/gate.h"

namespace calkit::gate {
namespace {

using manifest::Evidence;
using manifest::EvidenceFile;

// Figures without which a pass of that command says nothing.
struct Required {
  std::string_view command, figure;
  bool positive = false;
};
constexpr Required kRequired[] = {
    {"runner", "logits_nmse_max"}, {"runner", "prompts_compared", true},
    {"runner", "steps_equal"},     {"bench", "requests_succeeded", true},
    {"soak", "cycles", true},      {"soak", "heap_bytes_slope_per_cycle"},
};

// Artefacts that a record of that command must name: without them nobody knows what it is about.
struct Named {
  std::string_view command;
  std::vector<std::string_view> in, out;
};
const std::vector<Named>& named() {
  static const std::vector<Named> table = {
      {"triage", {"model-config"}, {}},
      {"freeze-baseline", {"model", "model-config"}, {"baseline"}},
      {"onnx-export", {"model"}, {"onnx"}},
      {"onnx-normalize", {"onnx"}, {"normalized"}},
      {"pack", {"baseline", "onnx"}, {"calbin"}},
      {"calbin-lint", {"calbin", "service"}, {}},
      {"runner", {"calbin", "baseline", "service"}, {}},
      {"bench", {"calbin", "service"}, {}},
      {"soak", {"calbin", "service"}, {}},
      {"export", {"calbin", "baseline", "onnx", "service"}, {"bundle"}},
  };
  return table;
}

bool has(const std::vector<EvidenceFile>& files, std::string_view role) {
  return std::any_of(files.begin(), files.end(),
                     [&](const EvidenceFile& f) { return f.role == role && !f.sha256.empty(); });
}

std::string unnamed_reason(const Evidence& record) {
  // The record of `freeze-baseline verify` reads a baseline and makes none.
  if (record.command == "freeze-baseline" && has(record.inputs, "baseline")) return {};
  if (record.command == "onnx-inventory" && !has(record.inputs, "graph") && !has(record.inputs, "onnx"))
    return "the record names no graph";
  if (record.command == "calbin-lint" && has(record.inputs, "calbin") && !has(record.inputs, "service"))
    return "the package was not held against a service manifest: run calbin-lint with --service";
  for (const Named& must : named()) {
    if (must.command != record.command) continue;
    for (const std::string_view role : must.in)
      if (!has(record.inputs, role)) return fmt::format("the record names no input {}", role);
    for (const std::string_view role : must.out)
      if (!has(record.outputs, role)) return fmt::format("the record names no output {}", role);
  }
  return {};
}

std::string device_reason(const Evidence& record) {
  const bool on_device = record.command == "runner" || record.command == "bench" || record.command == "soak";
  const std::string& kind = record.device.kind;
  if (!on_device || kind == "emulated" || kind == "plugin") return {};
  return fmt::format("the record's device is '{}': it must be emulated or plugin", kind);
}

/// A run of chosen rules proves what it ran, not the package.
std::string left_out_reason(const Evidence& record) {
  if (record.command != "calbin-lint") return {};
  const Value* policy = record.details.find("policy");
  const Value* left_out = policy == nullptr ? nullptr : policy->find("rules_left_out");
  if (left_out == nullptr || !left_out->is_array() || left_out->if_array()->empty()) return {};
  return fmt::format("{} rules were left out: run it without --select and --ignore", left_out->if_array()->size());
}

std::string limits_reason(const Evidence& record) {
  if (record.command != "runner") return {};
  constexpr const char* kFix = "run it without --thresholds";
  const Value* limits = record.details.find("limits");
  const Value* source = limits == nullptr ? nullptr : limits->find("source");
  const std::string* text = source == nullptr ? nullptr : source->if_string();
  if (text != nullptr && *text != "built in")
    return fmt::format("judged by the limits of {}, not by the built-in ones: {}", *text, kFix);
  if (has(record.inputs, "thresholds")) return fmt::format("judged by other limits than the built-in ones: {}", kFix);
  return {};
}

std::string unproven_reason(const Evidence& record) {
  if (record.command != "export") return {};
  const Value* allowed = record.details.find("unproven_allowed");
  const bool* value = allowed == nullptr ? nullptr : allowed->if_bool();
  if (value != nullptr && !*value) return {};
  return "the bundle's package was not proven: run calbin-lint and runner on it, then export without --allow-unproven";
}

}  // namespace

std::string unusable_figures_reason(const Evidence& record) {
  const auto number = [](const manifest::Figure& f) { return f.value && std::isfinite(*f.value); };
  if (record.verdict == manifest::EvidenceVerdict::kPass && !record.findings.empty())
    return fmt::format("the record says pass but has findings: {}", record.findings.front());
  if (std::none_of(record.figures.begin(), record.figures.end(), number))
    return "the record says pass but holds no figure that is a number";
  for (const manifest::Figure& figure : record.figures) {
    if (figure.value && !std::isfinite(*figure.value)) return fmt::format("figure {} is not finite", figure.name);
    if (!figure.value && figure.how.empty()) return fmt::format("figure {} is null without a reason", figure.name);
  }
  for (const Required& required : kRequired) {
    if (required.command != record.command) continue;
    const auto found = std::find_if(record.figures.begin(), record.figures.end(),
                                    [&](const manifest::Figure& f) { return f.name == required.figure; });
    if (found == record.figures.end()) return fmt::format("figure {} is missing", required.figure);
    if (!number(*found)) return fmt::format("figure {} is null: {}", required.figure, found->how);
    if (required.positive && *found->value <= 0) return fmt::format("figure {} is not above 0", required.figure);
  }
  return {};
}

std::string insufficient_reason(const Evidence& record) {
  for (const auto& reason : {unnamed_reason, device_reason, left_out_reason, limits_reason, unproven_reason})
    if (std::string why = reason(record); !why.empty()) return why;
  return {};
}

}  // namespace calkit::gate
