#include "calkit/hf/triage.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/text.h"
#include "triage_rules.h"

namespace calkit::hf {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kNote:
      break;
  }
  return "note";
}

bool TriageReport::passed() const {
  return std::none_of(rules.begin(), rules.end(),
                      [](const TriageRule& rule) { return rule.verdict == Verdict::kFail; });
}

Result<TriageReport> triage(const std::filesystem::path& model_dir, const manifest::ProductTargets& targets,
                            const manifest::DeviceProfile& device) {
  CALKIT_TRY(const Facts facts, collect_facts(model_dir));
  TriageReport report;
  if (const Value* type = facts.find("model_type"); type != nullptr && type->if_string() != nullptr)
    report.model_type = *type->if_string();
  report.parameters = facts.parameters;
  report.weight_bytes = facts.weight_bytes;
  report.chiplet_usable_bytes = device.usable_bytes();
  report.headers_sha256 = facts.headers_sha256;
  report.headers_bytes = facts.headers_bytes;
  report.rules = structure_rules(facts);
  for (TriageRule& rule : capacity_rules(facts, targets, device, report)) report.rules.push_back(std::move(rule));
  return report;
}

Value to_value(const TriageReport& report, const manifest::ProductTargets& targets,
               const manifest::DeviceProfile& device) {
  Value rules = Value::array();
  for (const TriageRule& rule : report.rules)
    rules.push(Value::object({{"id", rule.id},
                              {"text", rule.text},
                              {"found", rule.found},
                              {"allowed", rule.allowed},
                              {"source", rule.source},
                              {"verdict", verdict_name(rule.verdict)},
                              {"status", rule.status}}));
  return Value::object({{"schema", "calkit.triage/1"},
                        {"model_type", report.model_type},
                        {"parameters", report.parameters},
                        {"weight_bytes", report.weight_bytes},
                        {"kv_bytes", report.kv_bytes},
                        {"chiplet_usable_bytes", report.chiplet_usable_bytes},
                        {"headers_sha256", "sha256:" + report.headers_sha256},
                        {"device_profile", Value::object({{"name", device.name}, {"assumed", device.assumed}})},
                        {"targets", manifest::to_value(targets)},
                        {"rules", rules}});
}

std::string to_text(const TriageReport& report) {
  std::size_t id = 4, found = 5;
  for (const TriageRule& rule : report.rules) {
    id = std::max(id, rule.id.size());
    found = std::max(found, rule.found.size());
  }
  std::string out = fmt::format("{:<{}}  verdict  status  {:<{}}  allowed\n", "rule", id, "found", found);
  for (const TriageRule& rule : report.rules)
    out += fmt::format("{:<{}}  {:<7}  {:<6}  {:<{}}  {}\n", rule.id, id, verdict_name(rule.verdict), rule.status,
                       rule.found, found, rule.allowed);
  return out;
}

}  // namespace calkit::hf
