// A whole package, in memory, edited field by field: every rule ends with a status; what lint passes can be opened; a
// file or a description that was changed behind its hash or its seal never passes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "calkit/base/tree.h"
#include "calkit/calbin/package.h"
#include "calkit/lint/lint.h"
#include "package_builder.h"
#include "package_edits.h"
#include "scratch_file.h"

namespace {

using calkit::FileTree;
using calkit::Value;
using calkit::lint::Verdict;

constexpr char kDescription[] = "calbin.json";

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Good {
  Value document;
  std::map<std::string, std::string> files;
  calkit::lint::Inputs inputs;
};

Good make_good() {
  const calkit::testing_support::PackageShape shape{8, 8, 2, 1, 0};
  const auto folder = calkit::fuzz::scratch_folder() / "good";
  calkit::testing_support::good_package(shape).write(folder);
  Good out;
  const auto paths = calkit::list_tree(folder);
  must(paths.ok(), "the good package cannot be listed");
  for (const std::string& path : *paths) {
    const auto text = calkit::read_file(folder / path);
    must(text.ok(), "the good package cannot be read");
    out.files.emplace(path, *text);
  }
  const auto document = calkit::parse_json(out.files.at(kDescription), kDescription);
  must(document.ok(), "the good description cannot be read");
  out.document = *document;
  out.files.erase(kDescription);
  out.inputs.package = "good.calbin";
  out.inputs.service = calkit::testing_support::good_service(shape);
  return out;
}

calkit::lint::Report lint(calkit::lint::Inputs inputs, std::shared_ptr<const FileTree> tree) {
  inputs.tree = std::move(tree);
  const auto report = calkit::lint::run(inputs);
  must(report.ok(), "lint gave no report");
  must(report->rules.size() == calkit::lint::rules().size(), "a rule ended without a status");
  for (const auto& finding : report->findings)
    must(!finding.message.empty() && !finding.found.empty() && !finding.limit.empty() && !finding.fix.empty(),
         "a finding does not say what was found, allowed and to be done");
  return *report;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Good good = make_good();
  const auto edited = calkit::fuzz::edit_package(good.document, good.files, {data, size});
  auto files = edited.files;
  files.emplace(kDescription, edited.text);
  const auto tree = std::make_shared<const FileTree>(FileTree::memory("fuzz.calbin", std::move(files)));
  const auto report = lint(good.inputs, tree);
  if (report.verdict != Verdict::kPass) return 0;
  must(calkit::calbin::Package::open(tree).ok(), "lint passes a package that cannot be opened");
  if (edited.text_edited) return 0;
  const bool same = edited.document == good.document;
  must(edited.resealed || same || edited.document.find("seal") == nullptr,
       "lint passes a description that was changed behind its seal");
  if (!same) return 0;
  for (const auto& [path, bytes] : good.files) {
    const auto now = edited.files.find(path);
    must(now != edited.files.end() && now->second == bytes, "lint passes a file that was changed behind its hash");
  }
  return 0;
}
