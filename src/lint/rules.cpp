/// The table of rules. Ids are never reused; a page in docs/rules explains each; tests hold both sides of each
/// boundary.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/hash.h"
#include "families.h"
#include "pages.h"

namespace calkit::lint {

namespace {

std::vector<Rule> make_table() {
  std::vector<Rule> table;
  for (const auto& family :
       {file_rules,     description_rules,   submodel_rules, contract_rules,   binding_rules,   layout_rules,
        memory_rules,   region_rules,        size_rules,     capacity_rules,   oplist_rules,    param_rules,
        alias_rules,    lifetime_rules,      unit_rules,     chip_rules,       partition_rules, command_rules,
        elf_rules,      provenance_rules,    golden_rules,   quant_rules,      runtime_rules,   name_rules,
        baseline_rules, param_content_rules, leak_rules,     golden_use_rules, scale_rules})
    for (auto& rule : family()) table.push_back(std::move(rule));
  for (auto& rule : table) rule.info.beyond_device = beyond_device(rule.info.id);
  std::sort(table.begin(), table.end(), [](const Rule& a, const Rule& b) { return a.info.id < b.info.id; });
  return table;
}

}  // namespace

const std::vector<Rule>& rule_table() {
  static const std::vector<Rule> table = make_table();
  return table;
}

std::vector<RuleInfo> rules() {
  std::vector<RuleInfo> out;
  for (const auto& rule : rule_table()) out.push_back(rule.info);
  return out;
}

std::string_view rule_page(std::string_view id) {
  for (const auto& page : pages())
    if (page.id == id) return page.text;
  return {};
}

std::string ruleset_digest() {
  Sha256 hash;
  for (const auto& rule : rule_table())
    hash.update(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", rule.info.id, rule.info.name, severity_name(rule.info.severity),
                            class_name(rule.info.rule_class), maturity_name(rule.info.maturity), rule.info.summary));
  return "sha256:" + hash.hex();
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
    case Severity::kBlocker:
      break;
  }
  return "blocker";
}

std::string_view maturity_name(Maturity maturity) {
  return maturity == Maturity::kStable ? "stable" : "preview";
}

std::string_view class_name(RuleClass rule_class) {
  switch (rule_class) {
    case RuleClass::kMalformed:
      return "malformed";
    case RuleClass::kInvalid:
      return "invalid";
    case RuleClass::kIncompatible:
      return "incompatible";
    case RuleClass::kPolicy:
      break;
  }
  return "policy";
}

}  // namespace calkit::lint
