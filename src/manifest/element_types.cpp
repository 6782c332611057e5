#include "element_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace calkit::manifest {
namespace {

constexpr std::array<std::string_view, 26> kTypes = {
    "FLOAT",      "UINT8",      "INT8",         "UINT16",         "INT16",      "INT32",          "INT64",
    "STRING",     "BOOL",       "FLOAT16",      "DOUBLE",         "UINT32",     "UINT64",         "COMPLEX64",
    "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",
    "INT4",       "FLOAT4E2M1", "FLOAT8E8M0",   "UINT2",          "INT2"};

}  // namespace

Result<std::vector<std::string>> words(const Cursor& at, std::string_view key) {
  std::vector<std::string> out;
  CALKIT_TRY(const Cursor list, at.at(key));
  CALKIT_TRY(const auto items, list.items());
  for (const Cursor& item : items) {
    CALKIT_TRY(std::string word, item.as_string());
    out.push_back(std::move(word));
  }
  if (out.empty()) return list.error("an empty list", "at least one");
  return out;
}

Result<std::vector<std::string>> types_of(const Cursor& at) {
  if (!at.find("types")) return std::vector<std::string>{};
  CALKIT_TRY(auto out, words(at, "types"));
  for (const std::string& type : out)
    if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
      return at.error(fmt::format("element type \"{}\"", type), "ONNX's names: FLOAT, BFLOAT16, INT64, ...");
  return out;
}

}  // namespace calkit::manifest
