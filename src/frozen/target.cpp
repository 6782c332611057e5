// Which folder a command may replace.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/frozen/writer.h"
#include "layout.h"
#include "sums.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

Error keep_it(const fs::path& out, const std::string& found) {
  return input_error(out.string(), "--out", "a folder with other files in it: " + found,
                     "a new or empty folder, or an earlier baseline and nothing else",
                     "choose another folder, or empty this one");
}

bool is_of_a_baseline(const std::string& path) {
  return path == kProduct || path == fmt::format("{}/{}", kSourceDir, kManifest) ||
         path.starts_with(fmt::format("{}/", kReferenceDir));
}

}  // namespace

Status check_target(const fs::path& out) {
  std::error_code ignored;
  if (!fs::is_directory(out, ignored) || fs::is_empty(out, ignored)) return {};
  auto there = list_tree(out);
  if (!there.ok()) return keep_it(out, there.error().message);
  if (std::erase(*there, kSums) == 0) return keep_it(out, fmt::format("no {}", kSums));
  CALKIT_TRY(const auto text, read_file(out / kSums), "looking at --out");
  const Sums sums = parse_sums(text, kSums);
  std::vector<std::string> listed;
  for (const SumLine& line : sums.lines) listed.push_back(line.path);
  std::sort(listed.begin(), listed.end());
  for (const std::string& file : *there)
    if (!std::binary_search(listed.begin(), listed.end(), file))
      return keep_it(out, fmt::format("{} is not in its {}", file, kSums));
  for (const std::string& file : listed)
    if (!std::binary_search(there->begin(), there->end(), file))
      return keep_it(out, fmt::format("{}, which its {} lists, is missing", file, kSums));
  if (!sums.faults.empty()) return keep_it(out, sums.faults.front());
  if (std::none_of(listed.begin(), listed.end(), is_of_a_baseline))
    return keep_it(out, fmt::format("its {} lists no file of a baseline", kSums));
  return {};
}

}  // namespace calkit::frozen
