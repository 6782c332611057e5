#include <fmt/format.h>

#include "calkit/base/text.h"
#include "calkit/passes/normalize.h"

namespace calkit::passes {
namespace {

Value proof_value(const PassReport& pass) {
  if (!pass.proof)
    return Value::object({{"feeds", Value::array()}, {"outputs", Value::array()}, {"reason", "nothing was changed"}});
  Value feeds = Value::array(), outputs = Value::array();
  for (const std::string& feed : pass.proof->feeds) feeds.push(feed);
  for (const OutputProof& output : pass.proof->outputs)
    outputs.push(Value::object({{"output", output.output},
                                {"values", output.values},
                                {"identical", output.identical},
                                {"max_abs", output.max_abs},
                                {"nmse", output.nmse}}));
  return Value::object({{"feeds", std::move(feeds)}, {"outputs", std::move(outputs)}});
}

Value pass_value(const PassReport& pass) {
  Value changes = Value::array();
  for (const Change& change : pass.changes)
    changes.push(Value::object({{"what", change.what}, {"count", change.count}}));
  return Value::object({{"name", pass.name},
                        {"changes", std::move(changes)},
                        {"nodes", Value::array({pass.nodes_before, pass.nodes_after})},
                        {"initializers", Value::array({pass.initializers_before, pass.initializers_after})},
                        {"proof", proof_value(pass)},
                        {"holds", pass.holds}});
}

Value digest_value(const std::string& sha256) {
  return sha256.empty() ? Value() : Value("sha256:" + sha256);
}

std::string pass_line(const PassReport& pass) {
  std::string what;
  for (const Change& change : pass.changes)
    what += fmt::format("{}{} {}", what.empty() ? "" : ", ", change.count, change.what);
  if (!pass.proof) return fmt::format("  {:<14}  nothing to do\n", pass.name);
  std::string proof =
      pass.proof->identical() ? "every output identical" : fmt::format("NMSE at most {:.2g}", pass.proof->worst_nmse());
  return fmt::format("  {:<14}  {}; {} over {} feeds{}\n", pass.name, what, proof, pass.proof->feeds.size(),
                     pass.holds ? "" : ": NOT THE SAME");
}

Value custom_value(const CustomUse& use) {
  return Value::object({{"op", use.op},
                        {"nodes", use.nodes},
                        {"function", use.own_function ? "of the model" : "of the description"},
                        {"description", manifest::to_value(use.description)}});
}

std::string custom_line(const CustomUse& use) {
  std::string out =
      fmt::format("  custom operator {}: {} node{}, run as the function of {}", printable(use.op, 200), use.nodes,
                  use.nodes == 1 ? "" : "s", use.own_function ? "the model" : "its description");
  if (const auto* op = use.description.op)
    out += fmt::format("; {}, NMSE at most {:.2g}, broadcasting {}: {}", op->status, op->nmse,
                       op->broadcasts ? "numpy" : "none", printable(op->semantics, 200));
  return out + "\n";
}

}  // namespace

Value to_value(const Report& report) {
  Value graphs = Value::array(), steps = Value::array();
  for (const GraphReport& graph : report.graphs) {
    Value passes = Value::array(), custom = Value::array();
    for (const CustomUse& use : graph.custom) custom.push(custom_value(use));
    for (const PassReport& pass : graph.passes) passes.push(pass_value(pass));
    graphs.push(Value::object({{"name", graph.name},
                               {"raw", graph.raw.empty() ? Value() : Value(graph.raw)},
                               {"raw_sha256", digest_value(graph.raw_sha256)},
                               {"normalized", graph.normalized.empty() ? Value() : Value(graph.normalized)},
                               {"normalized_sha256", digest_value(graph.normalized_sha256)},
                               {"opset", Value::array({graph.opset_before, graph.opset_after})},
                               {"custom_operators", std::move(custom)},
                               {"passes", std::move(passes)}}));
  }
  for (const StepProof& step : report.steps)
    steps.push(Value::object({{"feed", step.feed},
                              {"tokens", step.tokens},
                              {"decode_steps", step.steps},
                              {"logits_nmse", step.logits_nmse},
                              {"logits_max_abs", step.logits_max_abs},
                              {"same_top_token", step.same_top},
                              {"holds", step.holds}}));
  return Value::object({{"schema", "calkit.onnx-passes/1"},
                        {"feeds_from", report.feeds_from},
                        {"graphs", std::move(graphs)},
                        {"prefill_equals_decode", std::move(steps)}});
}

std::string to_text(const Report& report) {
  std::string out;
  for (const GraphReport& graph : report.graphs) {
    out += fmt::format("{}: opset {}{}\n", printable(graph.name, 200), graph.opset_before,
                       graph.opset_after == graph.opset_before ? "" : fmt::format(" -> {}", graph.opset_after));
    for (const CustomUse& use : graph.custom) out += custom_line(use);
    for (const PassReport& pass : graph.passes) out += pass_line(pass);
    if (!graph.normalized.empty()) out += fmt::format("  {}\n", printable(graph.normalized, 400));
  }
  for (const StepProof& step : report.steps)
    out += fmt::format("prefill of {} tokens = prefill of {} + {} decode steps: NMSE {:.2g}, {} top token{}\n",
                       step.tokens, step.tokens - step.steps, step.steps, step.logits_nmse,
                       step.same_top ? "same" : "another", step.holds ? "" : ": NOT THE SAME");
  return out;
}

}  // namespace calkit::passes
