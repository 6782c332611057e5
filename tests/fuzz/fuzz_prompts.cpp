// prompts.jsonl from outside: whatever is accepted has unique ids and is read back the same after it was written.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "calkit/base/document.h"
#include "calkit/frozen/baseline.h"
#include "calkit/frozen/writer.h"
#include "scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto prompts = calkit::frozen::read_prompts(calkit::fuzz::as_file(data, size));
  if (!prompts.ok()) return 0;
  std::set<std::string> ids;
  std::string again;
  for (const auto& prompt : *prompts) {
    if (!ids.insert(prompt.id).second) std::abort();
    again += calkit::to_json(calkit::frozen::to_value(prompt), {.sorted = false, .indent = -1}) + "\n";
  }
  const auto& path = calkit::fuzz::as_file(reinterpret_cast<const std::uint8_t*>(again.data()), again.size());
  const auto back = calkit::frozen::read_prompts(path);
  if (!back.ok() || back->size() != prompts->size()) std::abort();
  for (std::size_t i = 0; i < back->size(); ++i)
    if ((*back)[i].text != (*prompts)[i].text || (*back)[i].id != (*prompts)[i].id) std::abort();
  return 0;
}
