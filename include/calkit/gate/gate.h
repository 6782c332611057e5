#pragma once
/// The ledger: which stage of the method is satisfied by which evidence record.
///   A record counts only if its verdict is pass, its figures are numbers, and its artefacts are those of the package
///   in question: pack's package = lint's, runner's, bench's, soak's, export's; freeze's baseline = pack's, runner's,
///   export's; and likewise the ONNX folder, the model and the service manifest. A record of another artefact is stale:
///   shown, not counted. Emulated evidence never satisfies a gate of status C3.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/value.h"
#include "calkit/manifest/evidence.h"

namespace calkit::gate {

/// One row of the table of gates; the table is built in.
struct Gate {
  const char* id;     ///< "G08"
  const char* stage;  ///< "8", or "done" for a sentence of the definition of done
  const char* title;
  const char* status;   ///< C0..C4
  const char* command;  ///< whose record satisfies it; "" if no command of this version does
  bool on_road;         ///< counted by --require c2
  const char* without;  ///< what is missing while no record satisfies it
};
const std::vector<Gate>& gates();

enum class State {
  kSatisfied,
  kFailed,      ///< the newest record of this artefact is no pass, or lacks a number
  kIncomplete,  ///< the newest record of this artefact came to no verdict, or its pass does not say enough
  kStale,       ///< there are records, of another artefact
  kMissing,     ///< no record
  kOpen,        ///< needs the vendor, or a step that this version does not have
};
std::string_view state_name(State state);

struct Row {
  const Gate* gate = nullptr;
  State state = State::kMissing;
  std::string record;     ///< file name of the record that decided; empty: none
  std::string note;       ///< the record's summary, or why it does not count
  bool emulated = false;  ///< the record's device
};

/// Digests of the artefacts the ledger is about, by role: calbin, baseline, onnx, model, model-config
/// (config.json, which triage reads), service.
using Chain = std::map<std::string, std::string>;
/// @param known digests that are certain, such as those of the files at hand. Without a calbin among them: that of the
/// newest passing pack, else of the newest lint.
Chain find_chain(const std::vector<manifest::Evidence>& records, const Chain& known = {});

/// "" if the record is about the artefacts of the chain; else which role differs.
std::string off_chain_reason(const manifest::Evidence& record, const Chain& chain);
/// "" if a passing record may count: every figure is finite or null with a reason, at least one is a number, and those
/// that the command must have are numbers. A null is never a pass.
std::string unusable_figures_reason(const manifest::Evidence& record);
/// "" if a passing record says enough to count for its gate: the artefacts that its command must name, a device where
/// it must have run on one, the built-in limits (runner), a proven package (export).
std::string insufficient_reason(const manifest::Evidence& record);
/// True only for a finite number that is not above the limit: null, text, NaN and a missing figure are not.
bool within(const Value* figure, double limit);

enum class Require { kC2, kC3 };
struct Report {
  Require require = Require::kC2;
  Chain chain;
  std::vector<Row> rows;
  std::uint64_t records = 0;
  manifest::EvidenceVerdict verdict = manifest::EvidenceVerdict::kIncomplete;
  std::vector<std::string> findings;  ///< why the verdict is not pass
  std::string summary;
};
/// @param records oldest first, as read_evidence_dir gives them. Records of `gate` itself are left out.
/// @param known as find_chain takes them.
Report judge(const std::vector<manifest::Evidence>& records, Require require, const Chain& known = {});

/// The report document, schema calkit.gate/1 (docs/cli/gate.md).
Value to_value(const Report& report);
std::string to_text(const Report& report);
void record(const Report& report, manifest::Evidence& evidence);

}  // namespace calkit::gate
