// calbin.json and op lists: what is accepted reads back equal, and lint survives whatever the description says.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "calkit/calbin/iomap.h"
#include "calkit/calbin/oplist.h"
#include "calkit/calbin/reading.h"
#include "calkit/lint/lint.h"
#include "scratch_file.h"

namespace {

namespace fs = std::filesystem;
using calkit::Cursor;
using calkit::Value;

/// Accepted means understood: written and read again, it is the same.
void round_trip_oplist(const Value& document) {
  const auto read = calkit::calbin::parse_oplist(Cursor(document, "oplist.json"));
  if (!read.ok()) return;
  const Value written = calkit::calbin::to_value(*read);
  const auto again = calkit::calbin::parse_oplist(Cursor(written, "again"));
  if (!again.ok() || !(*again == *read)) std::abort();
}

/// A map of any submodel can be compared with any other.
void compare_map(const Value& document) {
  const auto map = calkit::calbin::parse_iomap(Cursor(document, "iomap.json"));
  if (!map.ok()) return;
  calkit::calbin::Submodel submodel;
  submodel.name = map->submodel;
  submodel.iomap[map->chip] = "iomap";
  if (calkit::calbin::compare_iomap(submodel, map->chip, *map).size() != map->rows.size()) std::abort();
}

/// The seal would refuse nearly every change before anything else is looked at, so the document is sealed first. What
/// the writer leaves out (extension keys, nulls) needs a seal of its own.
void round_trip_description(Value document) {
  document.set("seal", calkit::calbin::seal_of(document));
  auto read = calkit::calbin::parse_description(Cursor(document, "calbin.json"));
  if (!read.ok()) return;
  Value written = calkit::calbin::to_value(*read);
  read->seal = calkit::calbin::seal_of(written);
  written.set("seal", read->seal);
  const auto again = calkit::calbin::parse_description(Cursor(written, "again"));
  if (!again.ok() || !(*again == *read)) std::abort();
}

/// The package is the description alone; its files are absent. Each rule must end with a status, and so must the
/// report.
void lint_it(std::string_view text) {
  std::ofstream(calkit::fuzz::scratch_folder() / "calbin.json", std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  calkit::lint::Inputs inputs;
  inputs.package = calkit::fuzz::scratch_folder();
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
  round_trip_oplist(*document);
  compare_map(*document);
  if (document->is_object()) round_trip_description(*document);
  if (document->find("package") != nullptr) lint_it(text);
  return 0;
}
