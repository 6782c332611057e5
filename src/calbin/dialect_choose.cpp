/// Which dialect a package is written in: exactly one may fit.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "dialect_parts.h"

namespace calkit::calbin {

namespace {

bool exists(const Value& at, const std::vector<std::string>& steps, std::size_t step = 0) {
  if (step == steps.size()) return true;
  if (steps[step] != "*") {
    const Value* member = at.find(steps[step]);
    return member != nullptr && exists(*member, steps, step + 1);
  }
  if (const auto* items = at.if_array())
    for (const auto& item : *items)
      if (exists(item, steps, step + 1)) return true;
  if (const auto* members = at.if_object())
    for (const auto& member : *members)
      if (exists(member.second, steps, step + 1)) return true;
  return false;
}

/// A description file of the package: absent, there but no document, or a document.
struct FileRead {
  std::optional<Error> absent, unreadable;
  Value document;
  std::string digest;
  bool byte_order_mark = false;
};

FileRead read_one(const ReadFile& read, const std::string& file, std::string_view place, const ReadLimits& limits) {
  FileRead out;
  auto text = read(file);
  if (!text.ok()) {
    out.absent = std::move(text).error();
    return out;
  }
  out.digest = "sha256:" + sha256_hex(*text);
  const bool yaml = file.ends_with(".yaml") || file.ends_with(".yml");
  const std::string name = place.empty() ? file : fmt::format("{}/{}", place, file);
  out.byte_order_mark = text->starts_with("\xEF\xBB\xBF");
  auto document = yaml ? parse_yaml(*text, name, limits) : parse_json(*text, name, limits);
  if (document.ok())
    out.document = std::move(document).value();
  else
    out.unreadable = std::move(document).error();
  return out;
}

/// Why a dialect does not fit; empty when it does. A file that is there but cannot be parsed fits: its own fault is the
/// better message.
std::string misfit(const Dialect& dialect, const FileRead& description) {
  if (description.absent) return description.absent->message;
  if (description.unreadable) return {};
  for (const auto& pattern : dialect.has)
    if (!exists(description.document, pattern.steps)) return fmt::format("{} has no {}", dialect.file, pattern.text);
  return {};
}

std::string title(const Dialect& dialect) {
  return fmt::format("{} version {}", dialect.id, dialect.version);
}

}  // namespace

Result<Canonical> translate(const ReadFile& read, const std::vector<Dialect>& dialects, std::string_view place,
                            const ReadLimits& limits) {
  std::map<std::string, FileRead> files;
  std::vector<const Dialect*> fitting;
  std::string reasons, names;
  for (const auto& dialect : dialects) {
    if (!files.contains(dialect.file)) files.emplace(dialect.file, read_one(read, dialect.file, place, limits));
    const std::string why = misfit(dialect, files.at(dialect.file));
    if (why.empty()) {
      fitting.push_back(&dialect);
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", title(dialect), dialect.file);
    } else {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", title(dialect), why);
    }
  }
  if (fitting.empty())
    return Error(ErrorKind::kInput, fmt::format("no dialect fits this package: {}", reasons),
                 "check that this is a package; a producer's form that nobody described needs a dialect file");
  FileRead& description = files.at(fitting[0]->file);
  const bool one_file = std::all_of(fitting.begin(), fitting.end(),
                                    [&](const Dialect* other) { return other->file == fitting[0]->file; });
  if (one_file && description.unreadable) return std::move(*description.unreadable);
  if (fitting.size() > 1)
    return Error(ErrorKind::kInput, fmt::format("{} dialects fit this package: {}", fitting.size(), names),
                 "remove the description that does not belong, or the dialect that is too broad");
  if (description.unreadable) return std::move(*description.unreadable);
  Canonical out = translate(std::move(description.document), *fitting[0]);
  out.file_digest = description.digest;
  out.byte_order_mark = description.byte_order_mark;
  return out;
}

}  // namespace calkit::calbin
