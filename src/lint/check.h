#pragma once
/// One rule at work on one package: what it may see and how it reports.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "facts.h"

namespace calkit::lint {

class Check;

/// A row of the table.
struct Rule {
  RuleInfo info;
  /// The facts the rule reads: JSON pointers of calbin.json, `*` for an index, alternatives of a step separated by
  /// commas. Where one of them is missing or unreadable the rule is not evaluated (on that item), and CB0204 names it.
  std::vector<std::string_view> needs;
  void (*check)(Check&);
};
const std::vector<Rule>& rule_table();

/// True when one pointer is the other or lies above it, `*` and alternatives considered.
bool pointer_matches(std::string_view pointer, std::string_view pattern);

class Check {
 public:
  Check(const Facts& facts, const Rule& rule);

  const Facts& facts() const { return facts_; }
  const calbin::Description& d() const { return facts_.description(); }
  const manifest::ServiceManifest* service() const;

  /// False when a needed fact at, above or below this pointer is missing: skip the item.
  bool usable(std::string_view pointer) const;
  /// The same of one item of a list; costs nothing when all needed facts are there.
  bool usable_item(std::string_view list, std::size_t index) const;

  struct Said {
    std::string message, found, limit, fix;
  };
  void report(std::string pointer, Said said) { add(rule_.info.severity, std::move(pointer), std::move(said)); }
  void warn(std::string pointer, Said said) { add(Severity::kWarning, std::move(pointer), std::move(said)); }
  void inform(std::string pointer, Said said) { add(Severity::kInfo, std::move(pointer), std::move(said)); }
  /// In another file than the description; a place in calbin.json is told as report() tells it.
  void report_in(std::string file, std::string pointer, std::uint32_t line, Said said, Severity severity);
  const RuleInfo& rule() const { return rule_.info; }

  void not_applicable(std::string reason);
  void not_evaluated(std::string reason);
  void left_out(std::string reason);  ///< passes or fails on the rest
  void fail_run(Error error) { failure_ = std::move(error); }

  /// Ends the rule's work.
  RuleOutcome outcome() const;
  std::vector<Finding> take_findings();
  std::optional<Error>& failure() { return failure_; }

  // Walks that skip what is not usable for this rule.
  struct TensorAt {
    const calbin::Submodel& submodel;
    std::size_t submodel_index;
    const calbin::IoTensor& tensor;
    std::string pointer;
    bool input;
    std::string name() const;  ///< "output 'logits' of 'm-decode'"
  };
  void each_tensor(const std::function<void(const TensorAt&)>& visit);
  void each_region(const std::function<void(const calbin::Region&, const std::string& pointer)>& visit);
  void each_param(const std::function<void(const calbin::Param&, const std::string& pointer)>& visit);
  void each_submodel(const std::function<void(const calbin::Submodel&, const std::string& pointer)>& visit);
  /// The region of that id when all its needed facts are there; nullptr otherwise (CB0204 has told).
  const calbin::Region* region(std::string_view id) const;
  const calbin::PackageFile* file(std::string_view id) const;
  /// The submodels that the service manifest binds, by exact name; nullptr when there is no such name.
  struct Bound {
    const char* role;  ///< "prefill" or "decode"
    std::string wanted;
    const calbin::Submodel* submodel;
    std::string pointer;
  };
  std::vector<Bound> bound() const;
  /// Says "no --service given" and returns false without one.
  bool need_service();

 private:
  void add(Severity severity, std::string pointer, Said said);
  void push(std::string file, std::string pointer, std::uint32_t line, Said said, Severity severity);

  const Facts& facts_;
  const Rule& rule_;
  std::set<std::string, std::less<>> broken_;  ///< pointers of problems that touch this rule
  std::vector<Finding> findings_;
  std::uint64_t unlisted_ = 0;
  std::string not_applicable_, not_evaluated_, left_out_;
  std::optional<Error> failure_;
};

/// "0x1000 + 512 B".
std::string range_text(std::uint64_t base, std::uint64_t size);
/// Both ranges have a byte in common; ranges that wrap are CB0502's and never overlap here.
bool overlap(std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size);
bool contains(const calbin::Region& region, std::uint64_t base, std::uint64_t size);
bool wraps(std::uint64_t base, std::uint64_t size);

}  // namespace calkit::lint
