#pragma once
/// A good small package for tests: every field is there, lint accepts it and the emulated device runs it. Tests change
/// one thing and expect the exact outcome. Its model is a table: logits = row of the last token.
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "calkit/calbin/oplist.h"
#include "calkit/calbin/package.h"
#include "calkit/manifest/service.h"

namespace calkit::testing_support {

struct TestPackage {
  calbin::Description description;
  calbin::OpList prefill, decode;
  std::map<std::string, calbin::OpList> more_oplists;  ///< path -> op list, of the chips after the first
  std::map<std::string, std::string> files;            ///< path -> bytes; the op lists are added by write()

  std::function<void(Value&)> edit_document;                      ///< has the last word on calbin.json as a tree
  std::function<void(std::string&)> edit_text;                    ///< and as a text
  std::function<void(const std::filesystem::path&)> edit_folder;  ///< after everything was written
  bool rehash = true;    ///< sizes and digests of listed files are those of the bytes written
  bool restride = true;  ///< strides of row-major tensors are those of shape and dtype
  bool reseal = true;    ///< the seal is that of the document written, as far as the edited text can be read

  calbin::Region& region(const std::string& id);
  calbin::Param& param(const std::string& name);
  calbin::PackageFile& file(const std::string& id);
  calbin::Submodel& prefill_model() { return description.submodels[0]; }
  calbin::Submodel& decode_model() { return description.submodels[1]; }

  /// Writes the package as the folder `dir`, which is made.
  void write(const std::filesystem::path& dir) const;
};

struct PackageShape {
  std::int64_t vocab = 32, context = 64, max_tokens = 16, slots = 2;
  std::int64_t tile = 0;   ///< rows of the logits' tile; 0: none
  std::int64_t chips = 1;  ///< 2: the table is cut into columns over the chips; the emulated device has one chip
  bool full = false;       ///< with everything that only real boards need (package_parts.h)
};
/// "mini", with submodels mini-prefill and mini-decode.
TestPackage good_package(const PackageShape& shape = {});
/// The service manifest that fits it.
manifest::ServiceManifest good_service(const PackageShape& shape = {});
/// The logits the package gives after `token`: f32 [vocab].
float table_value(std::int64_t token, std::int64_t column);

}  // namespace calkit::testing_support
