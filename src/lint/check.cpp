#include "check.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"

namespace calkit::lint {

namespace {

constexpr std::size_t kMaxFindingsPerRule = 200;  // a report is read by people; the count of the rest is told

/// Cuts the first step off "/a/b": returns "a" and leaves "/b".
std::string_view take_step(std::string_view& pointer) {
  pointer.remove_prefix(1);
  const auto end = std::min(pointer.find('/'), pointer.size());
  const auto step = pointer.substr(0, end);
  pointer.remove_prefix(end);
  return step;
}

bool step_matches(std::string_view step, std::string_view pattern) {
  if (pattern == "*") return true;
  while (true) {
    const auto comma = std::min(pattern.find(','), pattern.size());
    if (pattern.substr(0, comma) == step) return true;
    if (comma == pattern.size()) return false;
    pattern.remove_prefix(comma + 1);
  }
}

/// "/params/7"; called for every item by every rule.
std::string item_pointer(std::string_view list, std::size_t index) {
  const std::string number = std::to_string(index);
  std::string out;
  out.reserve(list.size() + 1 + number.size());
  return out.append(list).append(1, '/').append(number);
}

void append(std::string& text, std::string more) {
  if (!text.empty()) text += "; ";
  text += more;
}

}  // namespace

bool pointer_matches(std::string_view pointer, std::string_view pattern) {
  while (!pointer.empty() && !pattern.empty())
    if (!step_matches(take_step(pointer), take_step(pattern))) return false;
  return true;
}

Check::Check(const Facts& facts, const Rule& rule) : facts_(facts), rule_(rule) {
  for (const auto& problem : facts.reading.problems) {
    if (problem.understood || problem.kind == calbin::ProblemKind::kUnknownKey) continue;
    const bool touches = std::any_of(rule.needs.begin(), rule.needs.end(),
                                     [&](std::string_view need) { return pointer_matches(problem.pointer, need); });
    if (!touches) continue;
    if (broken_.empty())
      not_evaluated_ =
          fmt::format("{} is missing or unreadable", problem.pointer.empty() ? "the description" : problem.pointer);
    broken_.insert(problem.pointer);
  }
  if (broken_.size() > 1) not_evaluated_ += fmt::format(", and {} more facts", broken_.size() - 1);
}

const manifest::ServiceManifest* Check::service() const {
  return facts_.inputs.service ? &*facts_.inputs.service : nullptr;
}

bool Check::usable(std::string_view pointer) const {
  if (broken_.empty()) return true;
  for (std::string_view above = pointer; !above.empty(); above = above.substr(0, above.rfind('/')))
    if (broken_.contains(above)) return false;
  const std::string below = std::string(pointer) + "/";
  const auto next = broken_.lower_bound(below);
  return !broken_.contains("") && (next == broken_.end() || !next->starts_with(below));
}

bool Check::usable_item(std::string_view list, std::size_t index) const {
  return broken_.empty() || usable(item_pointer(list, index));
}

void Check::add(Severity severity, std::string pointer, Said said) {
  if (findings_.size() >= kMaxFindingsPerRule) {
    ++unlisted_;
    return;
  }
  calbin::Source source{pointer, 0, 0, {}};
  if (facts_.canonical && !facts_.canonical->is_canonical) {
    source = facts_.canonical->source(pointer);
    const bool told = source.raw.empty() || said.found.find(source.raw) != std::string::npos;
    if (!told) said.found += fmt::format(" ({} says {})", facts_.file, printable(source.raw));
  } else if (facts_.document) {
    source.line = calbin::line_of(*facts_.document, pointer);
  }
  push(facts_.file, std::move(source.pointer), source.line, std::move(said), severity);
  findings_.back().canonical = std::move(pointer);
}

void Check::report_in(std::string file, std::string pointer, std::uint32_t line, Said said, Severity severity) {
  if (file == kDescriptionFile) return add(severity, std::move(pointer), std::move(said));
  if (findings_.size() >= kMaxFindingsPerRule) {
    ++unlisted_;
    return;
  }
  push(std::move(file), std::move(pointer), line, std::move(said), severity);
}

void Check::push(std::string file, std::string pointer, std::uint32_t line, Said said, Severity severity) {
  Finding finding;
  finding.rule = rule_.info.id;
  finding.severity = severity;
  finding.file = std::move(file);
  finding.pointer = std::move(pointer);
  finding.line = line;
  finding.message = std::move(said.message);
  finding.found = std::move(said.found);
  finding.limit = std::move(said.limit);
  finding.fix = std::move(said.fix);
  findings_.push_back(std::move(finding));
}

void Check::not_applicable(std::string reason) {
  append(not_applicable_, std::move(reason));
}
void Check::not_evaluated(std::string reason) {
  append(not_evaluated_, std::move(reason));
}
void Check::left_out(std::string reason) {
  append(left_out_, std::move(reason));
}

RuleOutcome Check::outcome() const {
  RuleOutcome out{rule_.info, RuleStatus::kPass, left_out_};
  if (unlisted_ > 0) append(out.reason, fmt::format("{} more findings are not listed", unlisted_));
  const bool failed = std::any_of(findings_.begin(), findings_.end(),
                                  [](const Finding& finding) { return finding.severity != Severity::kInfo; });
  if (!not_evaluated_.empty()) {
    // Part of the rule did not run: its findings stand, but it has not been evaluated.
    out.status = RuleStatus::kNotEvaluated;
    append(out.reason, not_evaluated_);
  } else if (failed) {
    out.status = RuleStatus::kFail;
  } else if (!not_applicable_.empty()) {
    out.status = RuleStatus::kNotApplicable;
    out.reason = not_applicable_;
  }
  return out;
}

std::vector<Finding> Check::take_findings() {
  return std::move(findings_);
}

std::string Check::TensorAt::name() const {
  return fmt::format("{} '{}' of '{}'", input ? "input" : "output", tensor.name, submodel.name);
}

void Check::each_tensor(const std::function<void(const TensorAt&)>& visit) {
  for (std::size_t i = 0; i < d().submodels.size(); ++i) {
    const auto& submodel = d().submodels[i];
    for (const bool input : {true, false}) {
      const auto& tensors = input ? submodel.inputs : submodel.outputs;
      const std::string list = item_pointer("/submodels", i) + (input ? "/inputs" : "/outputs");
      for (std::size_t k = 0; k < tensors.size(); ++k) {
        const TensorAt at{submodel, i, tensors[k], item_pointer(list, k), input};
        if (usable(at.pointer)) visit(at);
      }
    }
  }
}

void Check::each_region(const std::function<void(const calbin::Region&, const std::string&)>& visit) {
  for (std::size_t i = 0; i < d().memory.regions.size(); ++i)
    if (const auto pointer = item_pointer("/memory/regions", i); usable(pointer)) visit(d().memory.regions[i], pointer);
}

void Check::each_param(const std::function<void(const calbin::Param&, const std::string&)>& visit) {
  for (std::size_t i = 0; i < d().params.size(); ++i)
    if (const auto pointer = item_pointer("/params", i); usable(pointer)) visit(d().params[i], pointer);
}

void Check::each_submodel(const std::function<void(const calbin::Submodel&, const std::string&)>& visit) {
  for (std::size_t i = 0; i < d().submodels.size(); ++i) visit(d().submodels[i], item_pointer("/submodels", i));
}

const calbin::Region* Check::region(std::string_view id) const {
  const auto at = facts_.region_index.find(id);
  return at != facts_.region_index.end() && usable_item("/memory/regions", at->second) ? &d().memory.regions[at->second]
                                                                                       : nullptr;
}

const calbin::PackageFile* Check::file(std::string_view id) const {
  const auto at = facts_.file_index.find(id);
  return at != facts_.file_index.end() && usable_item("/files", at->second) ? &d().files[at->second] : nullptr;
}

std::vector<Check::Bound> Check::bound() const {
  std::vector<Bound> out;
  if (service() == nullptr) return out;
  for (const auto& [role, name] :
       {std::pair{"prefill", service()->prefill_model}, {"decode", service()->decode_model}}) {
    const auto* submodel = d().submodel(name);
    out.push_back({role, name, submodel,
                   submodel != nullptr ? fmt::format("/submodels/{}", submodel - d().submodels.data()) : "/submodels"});
  }
  return out;
}

bool Check::need_service() {
  if (service() == nullptr) not_applicable("no --service given");
  return service() != nullptr;
}

std::string range_text(std::uint64_t base, std::uint64_t size) {
  return fmt::format("{} + {} B", hex_u64(base), size);
}

bool wraps(std::uint64_t base, std::uint64_t size) {
  return !checked_add(base, size).has_value();
}

bool overlap(std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size) {
  if (wraps(a, a_size) || wraps(b, b_size)) return false;
  return a < b + b_size && b < a + a_size && a_size != 0 && b_size != 0;
}

bool contains(const calbin::Region& region, std::uint64_t base, std::uint64_t size) {
  return base >= region.base && range_inside(base - region.base, size, region.size);
}

}  // namespace calkit::lint
