#pragma once
/// calbin-lint: the rules that a compiled package must keep, from one table (docs/rules has a page for each).
/// Rules read; they never repair. A rule whose facts are missing is not evaluated, and says so.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/tree.h"
#include "calkit/base/value.h"
#include "calkit/calbin/reading.h"
#include "calkit/calbin/runtime_abi.h"
#include "calkit/manifest/service.h"
#include "calkit/manifest/support_matrix.h"
#include "calkit/manifest/targets.h"

namespace calkit::lint {

enum class Severity { kInfo, kWarning, kError, kBlocker };
/// What a finding makes of the package: it cannot be read; it contradicts itself; it does not fit the service, the
/// device or the runtime; it breaks a policy.
enum class RuleClass { kMalformed, kInvalid, kIncompatible, kPolicy };
std::string_view severity_name(Severity severity);
std::string_view class_name(RuleClass rule_class);

/// A preview rule reports as any other but never fails a run; it becomes stable in a later minor release.
enum class Maturity { kStable, kPreview };
std::string_view maturity_name(Maturity maturity);

struct RuleInfo {
  std::string_view id;    ///< "CB0501"; never reused
  std::string_view name;  ///< "tensor-outside-region"
  Severity severity = Severity::kError;
  RuleClass rule_class = RuleClass::kInvalid;
  std::string_view summary;  ///< one sentence: what must hold
  std::string_view origin;   ///< code of the method's sentence, "8e"
  Maturity maturity = Maturity::kStable;
  std::string_view beyond_device = {};  ///< why a device may take what this rule refuses; empty: it refuses it too
};
/// The family of a rule id: "CB0501" belongs to number "05", name "memory".
struct Family {
  std::string_view number, name;
};
Family family_of(std::string_view id);

/// All rules, sorted by id.
std::vector<RuleInfo> rules();
/// The page of a rule (docs/rules/CBnnnn.md), or empty for an unknown id.
std::string_view rule_page(std::string_view id);
/// "sha256:..." over ids, names, severities, classes, maturities and summaries: two reports with one digest used the
/// same rules.
std::string ruleset_digest();

struct Inputs {
  std::filesystem::path package;
  std::optional<manifest::ServiceManifest> service;
  std::string service_digest;                      ///< "sha256:..." of the service manifest's file, for the report
  std::optional<manifest::DeviceProfile> profile;  ///< nullopt: the profile built into the library
  std::string runtime_abi = calbin::kEmulatedRuntimeAbi;  ///< what the runtime speaks
  std::optional<manifest::SupportMatrix> support;         ///< nullopt: the matrix built into the library
  std::optional<std::filesystem::path> baseline;          ///< a frozen baseline, for the rules that compare with it
  std::shared_ptr<const FileTree> tree;                   ///< the package's files; null: `package` is opened
  ByteProgress progress;                                  ///< of hashing; empty: nobody wants to know
  ReadLimits limits = calbin::kDescriptionLimits;         ///< of the description and the op lists
  std::filesystem::path dialects;                         ///< folder of further dialects; empty: the shipped ones alone
};

/// An entry of a waiver file (docs/formats/waivers.md).
struct Waiver {
  std::string rule, fingerprint, reason, owner;
  std::string expires;  ///< "2027-01-31": the last day it holds
  std::string added_by_tool_version;
};
/// An entry that no longer does anything.
struct StaleWaiver {
  Waiver waiver;
  bool expired = false;  ///< false: no finding of this package has its fingerprint
};

struct Finding {
  std::string rule;
  Severity severity = Severity::kError;  ///< at most the rule's own
  std::string file;                      ///< relative to the package
  std::string pointer;                   ///< JSON pointer inside `file`; empty: the file itself
  std::string canonical;                 ///< JSON pointer in the canonical form; empty: the finding is about a file
  std::uint32_t line = 0;                ///< 0: no line to point at
  std::optional<std::uint64_t> byte;     ///< offset inside a binary `file`
  std::string message, found, limit, fix;
  std::string symbol;            ///< the pointer with names for indices: "/submodels/mini-decode/outputs/logits/base"
  std::string submodel;          ///< its name, when the finding is about one
  std::string fingerprint;       ///< "sha256:..."; the same for the same fault wherever it stands in a list or a folder
  std::optional<Waiver> waiver;  ///< who waived it; nullopt: it is live
};

enum class RuleStatus { kPass, kFail, kNotApplicable, kNotEvaluated };
std::string_view status_name(RuleStatus status);
struct RuleOutcome {
  RuleInfo rule;
  RuleStatus status = RuleStatus::kPass;
  std::string reason;  ///< why not applicable or not evaluated; on a pass or fail: what part was left out
};

/// How findings are judged. Blockers are always evaluated and always fail, whatever stands here.
struct Policy {
  Severity fail_on = Severity::kError;  ///< the mildest severity that fails
  bool strict = false;                  ///< unknown keys and unlisted files are errors
  bool links_are_errors = false;        ///< and so are files with more than one name (CB0107)
  bool preview = false;                 ///< preview rules count like stable ones
  bool allow_stale_waivers = false;
  std::string profile = "ci";  ///< the name that set the above
};

/// kIncomplete: a blocker or error rule could not be evaluated, so there is no verdict.
enum class Verdict { kPass, kFail, kIncomplete };
struct Report {
  std::string package;             ///< the name of its folder or archive
  std::string package_digest;      ///< "sha256:..." of calbin.json; empty if it could not be read
  std::optional<FileDigest> tree;  ///< tree_digest() of all files; nullopt: one is a link or could not be hashed
  std::string service_digest, profile;
  std::string dialect, dialect_version, dialect_digest;  ///< of the producer's form; empty if none could be chosen
  std::string waivers_digest;                            ///< empty: no waiver file
  std::vector<std::string> submodels;                    ///< names, in the order of the description
  std::vector<std::string> unselected;                   ///< ids of rules that were left out by choice
  std::vector<StaleWaiver> stale;  ///< entries of the waiver file that are expired or match nothing
  Policy policy;
  std::vector<RuleOutcome> rules;  ///< every rule, sorted by id
  std::vector<Finding> findings;   ///< sorted by rule, file, line, pointer
  Verdict verdict = Verdict::kIncomplete;

  /// True when the finding can fail the run: not waived, and not of a preview rule unless those count.
  bool counts(const Finding& finding) const;
  std::uint64_t count(Severity severity) const;  ///< of findings that count
  std::uint64_t count(RuleStatus status) const;
  std::string summary() const;  ///< "52 rules: 40 passed, ...": one line
};

/// Runs every rule and judges by the default policy (policy.h judges by another). kInput: no such folder.
/// kInterrupted: a signal came while hashing.
Result<Report> run(const Inputs& inputs);

/// The report for people; ends with a line feed unless empty. output.h has the other formats.
std::string to_text(const Report& report, bool colour);
/// Schema calkit.lint-report/2. No times, no paths of this machine: the same package gives the same bytes.
Value to_value(const Report& report);

}  // namespace calkit::lint
