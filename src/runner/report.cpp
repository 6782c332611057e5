// The runner's report as a document, as text and as evidence.
#include <fmt/format.h>

#include "calkit/runner/run.h"

namespace calkit::runner {
namespace {

std::uint64_t count(std::chrono::nanoseconds span) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0));
}

Value to_value(const Divergence& d) {
  return Value::object({{"prompt", d.prompt},
                        {"step", d.step},
                        {"expected", d.expected},
                        {"got", d.got},
                        {"margin", d.margin},
                        {"expected_logit", d.expected_logit},
                        {"device_expected_logit", d.device_expected_logit},
                        {"device_got_logit", d.device_got_logit},
                        {"excused", d.excused}});
}

Value to_value(const PromptResult& p) {
  return Value::object({{"id", p.id},
                        {"tokens", p.tokens},
                        {"max_abs", p.max_abs},
                        {"max_abs_id", p.max_abs_index},
                        {"nmse", p.nmse},
                        {"cosine", p.cosine},
                        {"top20_overlap", p.top20_overlap},
                        {"step_nmse", p.step_nmse},
                        {"step_max_abs", p.step_max_abs},
                        {"steps", p.steps},
                        {"steps_equal", p.equal},
                        {"steps_excused", p.excused},
                        {"steps_different", p.different}});
}

template <class T>
Value list_of(const std::vector<T>& items) {
  Value out = Value::array();
  for (const T& item : items) out.push(to_value(item));
  return out;
}

Value device_value(const device::RuntimeInfo& runtime) {
  return Value::object({{"kind", runtime.emulated ? "emulated" : "plugin"},
                        {"name", runtime.name},
                        {"runtime_version", runtime.runtime_version},
                        {"driver_version", runtime.driver_version},
                        {"firmware_version", runtime.firmware_version}});
}

Value configure_value(const RunReport& r) {
  return Value::object({{"load_ns", count(r.load_duration)},
                        {"configure_ns", count(r.configure.duration)},
                        {"param_bytes", r.configure.param_bytes},
                        {"kv_bytes", r.configure.kv_bytes},
                        {"workspace_bytes", r.configure.workspace_bytes},
                        {"io_bytes", r.configure.io_bytes},
                        {"host_bytes", r.configure.host_bytes}});
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g}", *value) : "undefined";
}

std::string summary_of(const RunReport& r) {
  const Comparison& c = r.comparison;
  const bool built_in = r.limits.source == "built in";
  return fmt::format("{} prompts against the {} ({}), logits NMSE {}, {} of {} steps equal, {} excused{}{}",
                     c.prompts.size(), r.expected_from, r.limits.dtype, number(c.nmse_max), c.equal, c.steps, c.excused,
                     built_in ? "" : ", limits from " + r.limits.source, r.runtime.emulated ? " [emulated]" : "");
}

}  // namespace

Value to_value(const RunReport& r) {
  const Comparison& c = r.comparison;
  return Value::object(
      {{"schema", "calkit.runner/1"},
       {"device", device_value(r.runtime)},
       {"package",
        Value::object({{"name", r.package.name}, {"version", r.package.version}, {"digest", r.package.digest}})},
       {"configure", configure_value(r)},
       {"expected_from", r.expected_from},
       {"limits", to_value(r.limits)},
       {"prompts_compared", c.prompts.size()},
       {"prompts_without_tokens", c.without_tokens},
       {"steps", c.steps},
       {"steps_equal", c.equal},
       {"steps_excused", c.excused},
       {"steps_different", c.different},
       {"non_finite", c.non_finite},
       {"logits_nmse_max", c.nmse_max},
       {"logits_max_abs", c.max_abs_max},
       {"logits_cosine_min", c.cosine_min},
       {"top20_overlap_min", c.overlap_min},
       {"step_top_logits_nmse_max", c.step_nmse_max},
       {"step_top_logits_max_abs", c.step_max_abs_max},
       {"worst_prompt", c.worst_prompt},
       {"first_divergence", c.first ? to_value(*c.first) : Value()},
       {"divergences", list_of(c.divergences)},
       {"prompts", list_of(c.prompts)},
       {"findings", Value::list(c.findings)}});
}

std::string to_text(const RunReport& r) {
  const Comparison& c = r.comparison;
  std::string out;
  const auto line = [&](std::string_view name, const std::string& text) {
    out += fmt::format("{:<10} {}\n", name, text);
  };
  line("device", fmt::format("{}{}", r.runtime.name,
                             r.runtime.emulated ? " (emulated: no figure here is hardware performance)" : ""));
  line("package", fmt::format("{} {}", r.package.name, r.package.version));
  line("configure", fmt::format("{:.1f} ms; parameters {} B, KV {} B, workspace {} B, I/O {} B",
                                static_cast<double>(count(r.configure.duration)) / 1e6, r.configure.param_bytes,
                                r.configure.kv_bytes, r.configure.workspace_bytes, r.configure.io_bytes));
  line("limits", fmt::format("{}: NMSE {}, margin {}, excused {} % ({})", r.limits.dtype, r.limits.nmse,
                             r.limits.margin, r.limits.excused_share * 100, r.limits.source));
  line("prefill",
       fmt::format("{} prompts: NMSE {} (worst '{}'), max abs {:.3g}, cosine >= {}, top-20 overlap >= {:.2f}",
                   c.prompts.size(), number(c.nmse_max), c.worst_prompt, c.max_abs_max,
                   c.cosine_min ? fmt::format("{:.9f}", *c.cosine_min) : "undefined", c.overlap_min));
  line("decode", fmt::format("{} steps: {} equal, {} excused, {} different; top-20 logits NMSE {}, max abs {:.3g}",
                             c.steps, c.equal, c.excused, c.different, number(c.step_nmse_max), c.step_max_abs_max));
  if (c.without_tokens > 0) line("skipped", fmt::format("{} prompts without tokens", c.without_tokens));
  if (c.first) line("first", describe(*c.first));
  for (const std::string& finding : c.findings) line("finding", finding);
  return out;
}

void record(const RunReport& r, manifest::Evidence& evidence) {
  const Comparison& c = r.comparison;
  evidence.device = {r.runtime.emulated ? "emulated" : "plugin", r.runtime.name, r.runtime.runtime_version,
                     r.runtime.driver_version, r.runtime.firmware_version};
  const auto figure = [&](std::string name, std::optional<double> value, std::string unit, std::uint64_t n,
                          std::string how) {
    evidence.figures.push_back(
        {std::move(name), value, std::move(unit), n, value ? std::move(how) : "undefined: nothing finite to measure"});
  };
  const std::string source = fmt::format("against the {}", r.expected_from);
  const auto prompts = c.prompts.size();
  figure("prompts_compared", static_cast<double>(prompts), "prompts", prompts, source);
  figure("logits_nmse_max", c.nmse_max, "1", prompts, "prefill, last position, " + source);
  figure("logits_max_abs", c.max_abs_max, "logit", prompts, "prefill, last position, " + source);
  figure("logits_cosine_min", c.cosine_min, "1", prompts, "prefill, last position, " + source);
  figure("top20_overlap_min", c.overlap_min, "1", prompts, "prefill, last position, " + source);
  figure("step_top_logits_nmse_max", c.step_nmse_max, "1", c.steps, "stored top logits of each step, " + source);
  figure("steps_equal", static_cast<double>(c.equal), "steps", c.steps, "greedy token along the reference's tokens");
  figure("steps_excused", static_cast<double>(c.excused), "steps", c.steps,
         fmt::format("flips at a reference margin of {} or less", r.limits.margin));
  figure("steps_different", static_cast<double>(c.different), "steps", c.steps,
         "greedy token along the reference's tokens");
  figure("non_finite", static_cast<double>(c.non_finite), "logits", prompts, "NaN or infinite logits of the device");
  figure("configure_ns", static_cast<double>(count(r.configure.duration)), "ns", 1, "steady clock around configure");
  const device::ConfigureReport& held = r.configure;
  figure("device_bytes", static_cast<double>(held.param_bytes + held.kv_bytes + held.workspace_bytes + held.io_bytes),
         "B", 1, "parameters, KV, workspace and I/O as the device reports them at configure");
  evidence.findings = c.findings;
  evidence.verdict = c.findings.empty() ? manifest::EvidenceVerdict::kPass : manifest::EvidenceVerdict::kFail;
  evidence.summary = c.findings.empty() ? summary_of(r) : fmt::format("{}: {}", summary_of(r), c.findings.front());
  evidence.details = to_value(r);
}

}  // namespace calkit::runner
