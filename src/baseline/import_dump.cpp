// A peer's dump as a frozen reference.
#include <fmt/format.h>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/baseline/import.h"
#include "calkit/frozen/writer.h"
#include "check.h"

namespace calkit::baseline {
namespace {

namespace fs = std::filesystem;

Result<Value> describe_dump(const fs::path& dump, const std::string& dtype, ImportReport& report) {
  Value files = Value::array();
  CALKIT_TRY(const auto paths, list_tree(dump), "hashing the dump");
  for (const std::string& path : paths) {
    CALKIT_TRY(const auto digest, hash_file(dump / path), "hashing the dump");
    files.push(Value::object({{"path", path}, {"bytes", digest.bytes}, {"sha256", "sha256:" + digest.sha256}}));
  }
  Value meta;
  if (std::error_code ignored; fs::exists(dump / "meta.json", ignored)) {
    CALKIT_TRY(meta, read_json(dump / "meta.json"), "reading what the dump says of itself");
  } else {
    report.notes.push_back("the dump has no meta.json: who made it, and with which versions, is not recorded");
  }
  return Value::object({{"schema", "calkit.reference-source/1"},
                        {"kind", "dump"},
                        {"dtype", dtype},
                        {"meta", std::move(meta)},
                        {"files", std::move(files)}});
}

// A prompt with ids has an answer: nothing could be held against the reference otherwise.
Status check_answers(const fs::path& dump, const frozen::Reference& reference) {
  for (const auto& item : reference.items) {
    if (item.ids.empty()) continue;
    for (const auto& [empty, name] : {std::pair(item.logits.empty(), fmt::format("logits_{}.npz", reference.dtype)),
                                      std::pair(item.greedy.empty(), fmt::format("greedy_{}.jsonl", reference.dtype))})
      if (empty)
        return input_error((dump / name).string(), item.prompt.id, "nothing for this prompt, which has token ids",
                           "logits and a greedy run for each prompt with ids", "make the dump again");
  }
  return {};
}

}  // namespace

Result<ImportReport> import_dump(const fs::path& dump, const std::string& dtype, const fs::path& out) {
  CALKIT_CHECK_OK(check_target(out));
  ImportReport report;
  CALKIT_TRY(const auto reference, frozen::read_reference(dump, dtype), "reading the dump " + dump.string());
  CALKIT_CHECK_OK(check_answers(dump, reference));
  CALKIT_TRY(const Value source, describe_dump(dump, reference.dtype, report));
  CALKIT_TRY(StagedDir stage, StagedDir::create(out), "creating the reference's folder");
  CALKIT_CHECK_OK(frozen::write_reference(stage.path(), reference, {}), "writing the reference");
  CALKIT_CHECK_OK(write_file(stage.path() / "reference/source.json", to_json(source) + "\n"));
  CALKIT_CHECK_OK(frozen::seal(stage.path()), "sealing the reference");
  CALKIT_CHECK_OK(stage.commit(), "committing the reference");
  report.prompts = reference.items.size();
  for (const auto& item : reference.items) report.greedy_steps += item.greedy.size();
  report.dtype = reference.dtype;
  report.source = "dump " + dump.string();
  return report;
}

}  // namespace calkit::baseline
