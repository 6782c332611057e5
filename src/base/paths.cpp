#include "calkit/base/paths.h"

#include <algorithm>
#include <system_error>

namespace calkit {
namespace {

namespace fs = std::filesystem;

fs::path plain(const fs::path& path) {
  std::error_code error;
  fs::path full = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) full = fs::absolute(path, error).lexically_normal();
  return full.has_filename() ? full : full.parent_path();
}

}  // namespace

bool lies_inside(const fs::path& path, const fs::path& folder) {
  const fs::path inner = plain(path), outer = plain(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace calkit
