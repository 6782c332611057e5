#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "calkit/gate/gate.h"

namespace calkit::gate {
namespace {

using manifest::Evidence;
using manifest::EvidenceFile;
using manifest::EvidenceVerdict;

// Artefacts whose identity ties records together. Other roles (csv, html, peer, bundle ...) do not.
constexpr std::string_view kChainRoles[] = {"calbin", "baseline", "onnx", "model", "model-config", "service"};

std::string bare(std::string_view digest) {
  constexpr std::string_view kPrefix = "sha256:";
  return std::string(digest.starts_with(kPrefix) ? digest.substr(kPrefix.size()) : digest);
}

std::string digest_of(const std::vector<EvidenceFile>& files, std::string_view role) {
  for (const EvidenceFile& file : files)
    if (file.role == role) return bare(file.sha256);
  return {};
}

// What goes in comes before what comes out: pack's calbin is an output, lint's an input, and no command has both.
std::string digest_of(const Evidence& record, std::string_view role) {
  const std::string in = digest_of(record.inputs, role);
  return in.empty() ? digest_of(record.outputs, role) : in;
}

std::string short_hash(const std::string& digest) {
  return digest.substr(0, 12);
}

std::string file_name(const Evidence& record) {
  return std::filesystem::path(record.file).filename().string();
}

void take(Chain& chain, const Evidence& record, std::initializer_list<std::string_view> roles) {
  for (const std::string_view role : roles) {
    const std::string digest = digest_of(record, role);
    if (!digest.empty()) chain.try_emplace(std::string(role), digest);
  }
}

// From the records of `command` about the chain's `by`, newest first. The newest alone may not name all roles: that of
// `freeze-baseline verify` knows no model.
void take_from(Chain& chain, const std::vector<Evidence>& records, std::string_view command, const std::string& by,
               std::initializer_list<std::string_view> roles) {
  const auto want = chain.find(by);
  if (want == chain.end()) return;
  for (auto it = records.rbegin(); it != records.rend(); ++it)
    if (it->command == command && digest_of(*it, by) == want->second) take(chain, *it, roles);
}

std::string newest_package(const std::vector<Evidence>& records) {
  for (auto it = records.rbegin(); it != records.rend(); ++it)
    if (it->command == "pack" && it->verdict == EvidenceVerdict::kPass && !digest_of(*it, "calbin").empty())
      return digest_of(*it, "calbin");
  for (auto it = records.rbegin(); it != records.rend(); ++it)
    if (it->command == "calbin-lint" && !digest_of(*it, "calbin").empty()) return digest_of(*it, "calbin");
  return {};
}

bool is_c3(const Gate& gate) {
  return std::string_view(gate.status) == "C3";
}

Row decide(const Gate& gate, const Evidence& record) {
  Row row;
  row.gate = &gate;
  row.record = file_name(record);
  row.emulated = record.device.kind == "emulated";
  row.note = record.summary;
  if (is_c3(gate) && record.device.kind != "plugin") {
    row.state = State::kOpen;
    row.note = fmt::format("needs vendor: {}; {} run showed: {}", gate.without, record.device.kind, record.summary);
    return row;
  }
  const std::string unusable = unusable_figures_reason(record);
  if (record.verdict == EvidenceVerdict::kIncomplete) {
    row.state = State::kIncomplete;
  } else if (record.verdict == EvidenceVerdict::kFail) {
    row.state = State::kFailed;
  } else if (!unusable.empty()) {
    row.state = State::kFailed;
    row.note = unusable;
  } else if (const std::string insufficient = insufficient_reason(record); !insufficient.empty()) {
    row.state = State::kIncomplete;
    row.note = insufficient;
  } else {
    row.state = State::kSatisfied;
  }
  return row;
}

Row without_record(const Gate& gate, const Evidence* other, const std::string& why_stale) {
  Row row;
  row.gate = &gate;
  if (other != nullptr && !is_c3(gate)) {
    row.state = State::kStale;
    row.record = file_name(*other);
    row.emulated = other->device.kind == "emulated";
    row.note = why_stale;
    return row;
  }
  const bool never = std::string_view(gate.command).empty();
  row.state = is_c3(gate) || never ? State::kOpen : State::kMissing;
  if (is_c3(gate))
    row.note = fmt::format("needs vendor: {}", gate.without);
  else if (never)
    row.note = fmt::format("not yet: {}", gate.without);
  else
    row.note = fmt::format("run `calkit {}`", gate.command);
  return row;
}

// Why the targets that triage judged by are not those of the frozen baseline; "" if they are, or nobody says.
std::string other_targets_reason(const Evidence& record, const std::vector<Evidence>& records, const Chain& chain) {
  const auto baseline = chain.find("baseline");
  if (record.command != "triage" || baseline == chain.end()) return {};
  const auto text = [](const Value& targets, const char* key) {
    const Value* value = targets.find(key);
    return value == nullptr ? std::string("missing") : value->describe();
  };
  for (auto it = records.rbegin(); it != records.rend(); ++it) {
    if (it->command != "freeze-baseline" || digest_of(it->outputs, "baseline") != baseline->second) continue;
    for (const char* key : {"context", "batch", "kv_dtype"})
      if (text(record.targets, key) != text(it->targets, key))
        return fmt::format("judged by the product target {} {}, the baseline's is {}", key, text(record.targets, key),
                           text(it->targets, key));
    return {};
  }
  return {};
}

Row judge_gate(const Gate& gate, const std::vector<Evidence>& records, const Chain& chain) {
  const Evidence* other = nullptr;
  std::string why_stale;
  for (auto it = records.rbegin(); it != records.rend() && *gate.command != '\0'; ++it) {
    if (it->command != gate.command) continue;
    std::string reason = off_chain_reason(*it, chain);
    if (reason.empty()) reason = other_targets_reason(*it, records, chain);
    // A board's record decides a C3 gate even when an emulated run came later.
    const bool wrong_device =
        is_c3(gate) && it->device.kind != "plugin" &&
        std::any_of(records.begin(), records.end(), [&](const Evidence& r) {
          return r.command == gate.command && r.device.kind == "plugin" && off_chain_reason(r, chain).empty();
        });
    if (reason.empty() && !wrong_device) return decide(gate, *it);
    if (!reason.empty() && other == nullptr) {
      other = &*it;
      why_stale = reason;
    }
  }
  return without_record(gate, other, why_stale);
}

bool required(const Gate& gate, Require require) {
  return gate.on_road || (require == Require::kC3 && is_c3(gate));
}

void conclude(Report& report) {
  std::size_t wanted = 0, satisfied = 0;
  bool failed = false;
  for (const Row& row : report.rows) {
    if (!required(*row.gate, report.require)) continue;
    ++wanted;
    if (row.state == State::kSatisfied) {
      ++satisfied;
      continue;
    }
    failed = failed || row.state == State::kFailed;
    report.findings.push_back(fmt::format("{} (stage {}, {}) is {}: {}", row.gate->id, row.gate->stage, row.gate->title,
                                          state_name(row.state), row.note));
  }
  report.verdict = failed                ? EvidenceVerdict::kFail
                   : satisfied == wanted ? EvidenceVerdict::kPass
                                         : EvidenceVerdict::kIncomplete;
  std::size_t open = 0;
  for (const Row& row : report.rows) open += is_c3(*row.gate) && row.state != State::kSatisfied ? 1 : 0;
  report.summary =
      fmt::format("{} of {} required gates satisfied, {} C3 gates open for the vendor", satisfied, wanted, open);
  if (!report.findings.empty()) report.summary += "; " + report.findings.front();
}

}  // namespace

Chain find_chain(const std::vector<Evidence>& records, const Chain& known) {
  Chain chain;
  for (const auto& [role, digest] : known) chain[role] = bare(digest);
  if (const std::string package = newest_package(records); !package.empty()) chain.try_emplace("calbin", package);
  take_from(chain, records, "pack", "calbin", {"baseline", "onnx"});
  take_from(chain, records, "runner", "calbin", {"baseline", "service"});
  take_from(chain, records, "calbin-lint", "calbin", {"service"});
  // Without a package yet, the newest baseline and graphs are what the ledger is about.
  for (auto it = records.rbegin(); it != records.rend(); ++it) {
    if (it->verdict != EvidenceVerdict::kPass) continue;
    if (it->command == "freeze-baseline") take(chain, *it, {"baseline"});
    if (it->command == "onnx-export") take(chain, *it, {"onnx"});
  }
  take_from(chain, records, "freeze-baseline", "baseline", {"model", "model-config"});
  take_from(chain, records, "onnx-export", "onnx", {"model", "model-config"});
  return chain;
}

std::string off_chain_reason(const Evidence& record, const Chain& chain) {
  for (const std::string_view role : kChainRoles) {
    const auto want = chain.find(std::string(role));
    if (want == chain.end()) continue;
    const std::string found = digest_of(record, role);
    if (!found.empty() && found != want->second)
      return fmt::format("made with {} {}, this ledger is about {}", role, short_hash(found), short_hash(want->second));
  }
  return {};
}

bool within(const Value* figure, double limit) {
  if (figure == nullptr) return false;
  const auto value = figure->if_number();
  return value && std::isfinite(*value) && *value <= limit;
}

Report judge(const std::vector<Evidence>& all, Require require, const Chain& known) {
  std::vector<Evidence> records;
  std::copy_if(all.begin(), all.end(), std::back_inserter(records),
               [](const Evidence& r) { return r.command != "gate"; });
  Report report;
  report.require = require;
  report.records = records.size();
  report.chain = find_chain(records, known);
  for (const Gate& gate : gates()) report.rows.push_back(judge_gate(gate, records, report.chain));
  conclude(report);
  return report;
}

}  // namespace calkit::gate
