/// Family 11: a package says how it was made, with revisions that cannot move.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

const char* const kPlace = "/provenance";
constexpr std::size_t kSha1Digits = 40, kSha256Digits = 64;

bool emulated(const Check& check) {
  return check.d().compat.device == "emulated";
}

/// A fact is there; or a reason stands in its place, which only packages of the emulated device may have.
void need_fact(Check& check, const char* key, bool there) {
  const auto pointer = fmt::format("{}/{}", kPlace, key);
  if (there || !check.usable(pointer)) return;
  const auto& notes = check.d().provenance.notes;
  const auto note = notes.find(key);
  const bool explained = note != notes.end() && note->second.find_first_not_of(' ') != std::string::npos;
  if (explained && emulated(check)) return;
  check.report(pointer,
               {fmt::format("provenance.{} is not stated", key),
                explained ? fmt::format("only a reason: '{}'", printable(note->second)) : "nothing, and no reason",
                explained ? "the fact itself: reasons are for packages of the emulated device"
                          : "the fact, or for the emulated device the reason in provenance.notes",
                "have the producer record what the package was built from; without it nobody can build it again"});
}

void check_complete(Check& check) {
  if (!check.usable("/package/compat/device")) return;
  const auto& made = check.d().provenance;
  for (const char* part : {"compiler", "tvm", "kernel", "oplib"}) need_fact(check, part, made.commits.contains(part));
  const bool command = std::any_of(made.argv.begin(), made.argv.end(), [](const auto& word) { return !word.empty(); });
  need_fact(check, "argv", command);
  if (made.started && made.finished && *made.finished < *made.started)  // one form, so texts compare as times
    check.report(
        fmt::format("{}/finished", kPlace),
        {"the build ended before it began", fmt::format("'{}'", *made.finished),
         fmt::format("not before started '{}'", *made.started), "have the producer record both from one clock"});
  for (const auto& problem : check.facts().reading.problems)  // one that is no digest is CB0109's
    if (problem.kind == calbin::ProblemKind::kOrigin && problem.pointer == "/provenance/config_digest")
      need_fact(check, "config_digest", false);
  const auto pointer = fmt::format("{}/input_onnx_digest", kPlace);
  if (!check.usable(pointer) || !check.usable("/submodels")) return;
  for (const char* phase : {"prefill", "decode"}) {
    const auto& submodels = check.d().submodels;
    const bool used = std::any_of(submodels.begin(), submodels.end(), [&](const auto& s) { return s.type == phase; });
    if (used && !made.input_onnx_digest.contains(phase))
      check.report(pointer,
                   {fmt::format("the ONNX graph of the {} submodel is not stated", phase),
                    fmt::format("{} digests, none for {}", made.input_onnx_digest.size(), phase),
                    fmt::format("input_onnx_digest.{}", phase), "have the compiler record the graphs it read"});
  }
}

bool full_hash(std::string_view text) {
  return (text.size() == kSha1Digits || text.size() == kSha256Digits) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void check_revision(Check& check, const std::string& text, const std::string& pointer, const char* what) {
  std::string found;
  if (full_hash(text)) {
    if (text.find_first_not_of(text[0]) != std::string::npos) return;
    found = "one digit all over: a placeholder";
  } else if (text.find("dirty") != std::string::npos) {
    found = "a tree with changes that no commit has";
  } else if (text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
    found = fmt::format("{} hex digits{}", text.size(),
                        full_hash(std::string(text.size(), '0')) ? ", in capitals" : ": a shortened hash");
  } else {
    found = "a branch, a tag or another name that may move";
  }
  check.report(pointer, {fmt::format("{} is no fixed revision", what), fmt::format("'{}', {}", printable(text), found),
                         "40 or 64 lower-case hex digits of a commit",
                         "record the full hash of the commit that was built, from a clean tree"});
}

void check_revisions(Check& check) {
  for (const auto& [part, commit] : check.d().provenance.commits)
    if (const auto pointer = fmt::format("{}/{}", kPlace, part); check.usable(pointer))
      check_revision(check, commit, pointer, fmt::format("provenance.{}", part).c_str());
  if (const auto& revision = check.d().model.hf_revision; revision && check.usable("/model/hf_revision"))
    check_revision(check, *revision, "/model/hf_revision", "model.hf_revision");
}

void check_inputs_listed(Check& check) {
  if (!check.usable("/files") || !check.usable("/provenance/input_onnx_digest")) return;
  std::set<std::string> listed;
  for (const auto& file : check.d().files)
    if (file.role == "onnx") listed.insert(file.digest);
  if (listed.contains("")) return;  // CB0109 and CB0204 tell
  if (listed.empty()) return check.not_applicable("the package lists no ONNX file");
  for (const auto& [phase, digest] : check.d().provenance.input_onnx_digest)
    if (!listed.contains(digest))
      check.report(fmt::format("/provenance/input_onnx_digest/{}", phase),
                   {fmt::format("the ONNX graph {} was compiled from is not the one in the package", phase), digest,
                    fmt::format("the digest of one of the {} listed files of role onnx", listed.size()),
                    "list the graph that was compiled, or compile the one that is listed"});
}

/// "sha256:<hex>", or an image name with it behind an @.
bool pinned(std::string_view image) {
  constexpr std::string_view kAlgorithm = "sha256:";
  if (const auto at = image.rfind('@'); at != std::string_view::npos && at > 0) image.remove_prefix(at + 1);
  return image.starts_with(kAlgorithm) && image.size() == kAlgorithm.size() + kSha256Digits &&
         image.find_first_not_of("0123456789abcdef", kAlgorithm.size()) == std::string_view::npos;
}

void check_container(Check& check) {
  const char* at = "/provenance/container_digest";
  if (!check.usable(at) || !check.usable("/package/compat/device")) return;
  const std::string& image = check.d().provenance.container_digest;
  if (image.empty() ? emulated(check) : pinned(image)) return;
  check.report(
      at, {"the compiler's container is not pinned", image.empty() ? "none" : fmt::format("'{}'", printable(image)),
           "sha256:<64 hex digits>, or an image name with @sha256:<64 hex digits>",
           "build in a container and record its digest; a tag names another image tomorrow"});
}

}  // namespace

std::vector<Rule> provenance_rules() {
  return {
      {{"CB1101", "provenance-incomplete", Severity::kError, RuleClass::kPolicy,
        "commits, command, configuration and ONNX inputs of the build are stated", "7g §7a"},
       {"/provenance/compiler,tvm,kernel,oplib,argv,input_onnx_digest", "/package/compat/device", "/submodels/*/type"},
       &check_complete},
      {{"CB1102", "revision-mutable", Severity::kError, RuleClass::kPolicy, "revisions are full hashes of commits",
        "7g"},
       {"/provenance/compiler,tvm,kernel,oplib", "/model/hf_revision"},
       &check_revisions},
      {{"CB1103", "input-onnx-mismatch", Severity::kError, RuleClass::kIncompatible,
        "ONNX graphs in the package are the ones that were compiled", "7g"},
       {"/provenance/input_onnx_digest", "/files/*/role"},
       &check_inputs_listed},
      {{"CB1104", "container-unpinned", Severity::kWarning, RuleClass::kPolicy,
        "the container of the build is named by its digest", "§6.1", Maturity::kPreview},
       {"/provenance/container_digest", "/package/compat/device"},
       &check_container},
  };
}

}  // namespace calkit::lint
