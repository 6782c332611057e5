// calbin.json and op lists: what is accepted reads back equal, and lint survives whatever the description says.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "calkit/calbin/oplist.h"
#include "calkit/calbin/reading.h"
#include "calkit/lint/lint.h"

namespace {

namespace fs = std::filesystem;
using calkit::Cursor;
using calkit::Value;

/// Accepted means understood: written and read again, it is the same.
template <class Thing>
void round_trip(const calkit::Result<Thing>& read, calkit::Result<Thing> (*parse)(const Cursor&)) {
  if (!read.ok()) return;
  const Value written = calkit::calbin::to_value(*read);
  const auto again = parse(Cursor(written, "again"));
  if (!again.ok() || !(*again == *read)) std::abort();
}

const fs::path& scratch_folder() {
  static const fs::path folder = [] {
    std::string pattern = (fs::temp_directory_path() / "calkit-fuzz-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(scratch_folder(), ignored);
    });
    return fs::path(pattern);
  }();
  return folder;
}

/// The package is the description alone; its files are absent. Each rule must end with a status, and so must the
/// report.
void lint_it(std::string_view text) {
  std::ofstream(scratch_folder() / "calbin.json", std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  calkit::lint::Inputs inputs;
  inputs.package = scratch_folder();
  const auto report = calkit::lint::run(inputs);
  if (!report.ok() || report->rules.size() != calkit::lint::rules().size()) std::abort();
  if (calkit::lint::to_text(*report, false).empty()) std::abort();
  if (calkit::to_json(calkit::lint::to_value(*report)).empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = calkit::parse_json(text, "calbin.json");
  if (!document.ok()) return 0;
  const Cursor root(*document, "calbin.json");
  round_trip(calkit::calbin::parse_oplist(root), &calkit::calbin::parse_oplist);
  round_trip(calkit::calbin::parse_description(root), &calkit::calbin::parse_description);
  if (document->find("package") != nullptr) lint_it(text);
  return 0;
}
