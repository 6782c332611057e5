#pragma once
/// Where a path lies, whatever its spelling.
#include <filesystem>

namespace calkit {

/// True when `path` is `folder` or lies below it: symlinks, `..` and a trailing slash are seen through; neither needs
/// to exist. Commands refuse an output inside one of their inputs with it.
bool lies_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace calkit
