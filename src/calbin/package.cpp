#include "calkit/calbin/package.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/hash.h"
#include "calkit/base/process.h"

namespace calkit::calbin {

namespace {

constexpr const char* kDescriptionFile = "calbin.json";

template <class Item>
const Item* by_id(const std::vector<Item>& items, std::string_view id) {
  const auto at = std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.id == id; });
  return at != items.end() ? &*at : nullptr;
}

}  // namespace

const PackageFile* Description::file(std::string_view id) const {
  return by_id(files, id);
}

const Region* Description::region(std::string_view id) const {
  return by_id(memory.regions, id);
}

const Submodel* Description::submodel(std::string_view exact_name) const {
  const auto at =
      std::find_if(submodels.begin(), submodels.end(), [&](const Submodel& s) { return s.name == exact_name; });
  return at != submodels.end() ? &*at : nullptr;
}

Result<std::string> digest_of(const Root& root, std::string_view relative) {
  constexpr std::uint64_t kPiece = 4ull << 20;
  CALKIT_TRY(const auto file, root.map(relative));
  Sha256 hash;
  for (std::uint64_t at = 0; at < file->size(); at += kPiece) {
    if (interrupted()) return interrupted_error();
    const std::uint64_t count = std::min(kPiece, file->size() - at);
    hash.update(file->bytes().subspan(at, count));
    file->release(at, count);  // pages go as they are read: memory stays bounded
  }
  return "sha256:" + hash.hex();
}

Result<Package> Package::open(const std::filesystem::path& dir) {
  const std::string name = (dir / kDescriptionFile).string();
  CALKIT_TRY(auto root, Root::open(dir), fmt::format("opening the package {}", dir.string()));
  CALKIT_TRY(const auto text, root.read(kDescriptionFile), fmt::format("opening the package {}", dir.string()));
  CALKIT_TRY(auto document, parse_json(text, name), fmt::format("opening the package {}", dir.string()));
  Package out;
  out.path_ = dir;
  out.document_ = std::make_shared<const Value>(std::move(document));
  CALKIT_TRY(out.description_, parse_description(Cursor(*out.document_, name)),
             fmt::format("opening the package {}", dir.string()));
  out.root_ = std::make_shared<const Root>(std::move(root));
  out.digest_ = "sha256:" + sha256_hex(text);
  return out;
}

Result<std::shared_ptr<const MappedFile>> Package::map(std::string_view file_id) const {
  const auto* file = description_.file(file_id);
  if (file == nullptr)
    return input_error((path_ / kDescriptionFile).string(), "/files", fmt::format("no file with id '{}'", file_id),
                       "an id of /files");
  CALKIT_TRY(auto mapped, root_->map(file->path), fmt::format("mapping file '{}' of the package", file_id));
  if (mapped->size() != file->size)
    return input_error((path_ / file->path).string(), "size", fmt::format("{} bytes", mapped->size()),
                       fmt::format("{} bytes, as calbin.json says", file->size), "the file was cut or replaced");
  return mapped;
}

Status Package::verify_files() const {
  for (const auto& file : description_.files) {
    const std::string name = (path_ / file.path).string();
    auto info = root_->stat(file.path);
    if (!info.ok()) {
      if (file.optional) continue;
      return std::move(info).error().during(fmt::format("verifying file '{}' of the package", file.id));
    }
    if (info->bytes != file.size)
      return input_error(name, "size", fmt::format("{} bytes", info->bytes),
                         fmt::format("{} bytes, as calbin.json says", file.size), "the file was cut or replaced");
    CALKIT_TRY(const auto digest, digest_of(*root_, file.path),
               fmt::format("verifying file '{}' of the package", file.id));
    if (digest != file.digest)
      return input_error(name, "digest", digest, file.digest + ", as calbin.json says",
                         "the file was changed after the package was made");
  }
  return {};
}

}  // namespace calkit::calbin
