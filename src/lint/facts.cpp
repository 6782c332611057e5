#include "facts.h"

#include <fmt/format.h>

#include <system_error>

#include "calkit/base/hash.h"
#include "calkit/base/text.h"

namespace calkit::lint {

namespace fs = std::filesystem;

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Looks at each component without following links, so that a link, a missing file and a folder are told apart.
/// Nothing is opened this way: that goes through Root.
FileFacts look_at(const Facts& facts, const std::string& path) {
  FileFacts out;
  out.why = path_problem(path);
  if (!out.why.empty()) {
    out.state = FileState::kUnsafePath;
    return out;
  }
  fs::path at = facts.inputs.package;
  fs::file_status status;
  for (const auto& part : split(path, '/')) {
    at /= part;
    std::error_code error;
    status = fs::symlink_status(at, error);
    if (fs::is_symlink(status)) {
      out.state = FileState::kUnsafePath;
      out.why = "a part of it is a symbolic link";
      return out;
    }
    if (!fs::exists(status)) return out;
  }
  const auto info = facts.root->stat(path);
  if (info.ok()) {
    out.state = FileState::kPresent;
    out.bytes = info->bytes;
  } else {
    out.state = FileState::kNotRegular;
    out.why = fs::is_directory(status) ? "a folder" : info.error().message;
  }
  return out;
}

void read_oplist(const Facts& facts, OpListFacts& out) {
  auto text = facts.root->read(out.path);
  if (!text.ok()) {
    out.error = text.error().message;
    return;
  }
  auto document = parse_json(*text, out.path);
  if (!document.ok()) {
    out.error = document.error().message;
    return;
  }
  out.document = std::move(document).value();
  auto oplist = calbin::parse_oplist(Cursor(out.document, out.path));
  if (oplist.ok())
    out.oplist = std::move(oplist).value();
  else
    out.error = oplist.error().message;
}

void gather_oplists(Facts& facts) {
  const auto& d = facts.description();
  for (std::size_t i = 0; i < d.submodels.size(); ++i) {
    for (const auto& [chip, id] : d.submodels[i].oplist) {
      OpListFacts out;
      out.submodel = i;
      out.chip = chip;
      if (const auto at = facts.file_index.find(id); at != facts.file_index.end()) {
        out.path = d.files[at->second].path;
        if (facts.files[at->second].state == FileState::kPresent) read_oplist(facts, out);
      }
      facts.oplists.push_back(std::move(out));
    }
  }
}

}  // namespace

std::string path_problem(std::string_view path) {
  if (std::string reason = unsafe_path_reason(path); !reason.empty()) return reason;
  if (path.front() == '~') return "a shell reads '~' as a home folder";
  if (path.size() >= 2 && is_letter(path[0]) && path[1] == ':') return "it begins with a drive letter";
  return {};
}

Result<Facts> gather(const Inputs& inputs) {
  Facts facts;
  facts.inputs = inputs;
  if (inputs.profile) {
    facts.profile = *inputs.profile;
  } else {
    CALKIT_TRY(facts.profile, manifest::default_device_profile());
  }
  CALKIT_TRY(auto root, Root::open(inputs.package), fmt::format("opening the package {}", inputs.package.string()));
  facts.root = std::move(root);

  auto text = facts.root->read(kDescriptionFile);
  if (!text.ok()) {
    facts.unreadable = std::move(text).error();
    return facts;
  }
  facts.digest = "sha256:" + sha256_hex(*text);
  auto document = parse_json(*text, kDescriptionFile);
  if (!document.ok()) {
    facts.unreadable = std::move(document).error();
    return facts;
  }
  facts.document = std::move(document).value();
  facts.reading = calbin::read_description(Cursor(*facts.document, kDescriptionFile));
  facts.schema_known = facts.document->is_object();
  for (const auto& problem : facts.reading.problems)
    if (problem.kind == calbin::ProblemKind::kSchema) facts.schema_known = false;
  for (const auto& file : facts.description().files) {
    facts.file_index.emplace(file.id, facts.files.size());
    facts.files.push_back(look_at(facts, file.path));
  }
  const auto& regions = facts.description().memory.regions;
  for (std::size_t i = 0; i < regions.size(); ++i) facts.region_index.emplace(regions[i].id, i);
  gather_oplists(facts);
  return facts;
}

}  // namespace calkit::lint
