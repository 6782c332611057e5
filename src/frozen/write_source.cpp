#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/frozen/writer.h"
#include "calkit/hf/model_files.h"
#include "layout.h"
#include "sums.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

struct Input {
  std::string name, sha256;
};

Result<std::vector<Input>> inputs_of(const ModelSource& source) {
  const Cursor root(source.manifest, std::string(kManifest));
  CALKIT_TRY(const auto list, root.at("inputs"));
  CALKIT_TRY(const auto items, list.items());
  std::vector<Input> out;
  for (const Cursor& item : items) {
    Input input;
    CALKIT_TRY(input.name, item.string("path"));
    CALKIT_TRY(const auto digest, item.at("sha256"));
    CALKIT_TRY(input.sha256, read_digest(digest));
    out.push_back(std::move(input));
  }
  return out;
}

Status make_folder(const fs::path& dir) {
  std::error_code failed;
  fs::create_directories(dir, failed);
  if (failed) return Error{ErrorKind::kIo, fmt::format("{}: cannot be made: {}", dir.string(), failed.message()), {}};
  return {};
}

// The file may have changed since it was hashed: what is frozen must be what the manifest says.
Status copy_checked(const hf::ModelFiles& files, const Input& input, const fs::path& to) {
  CALKIT_TRY(const auto text, files.read(input.name));
  const std::string found = sha256_hex(text);
  if (found != input.sha256)
    return input_error(files.shown(input.name), {}, "sha256 " + found, "sha256 " + input.sha256 + ", as hashed before",
                       "the model folder changed while it was frozen: run again");
  CALKIT_CHECK_OK(make_folder(to.parent_path()));
  return write_file(to, text);
}

}  // namespace

Status write_model_source(const fs::path& staged_dir, const fs::path& model_dir, const ModelSource& source) {
  const fs::path dir = staged_dir / kSourceDir;
  CALKIT_CHECK_OK(make_folder(dir / kTokenizerDir));
  CALKIT_TRY(const auto files, hf::ModelFiles::open(model_dir));
  CALKIT_TRY(const auto inputs, inputs_of(source));
  std::vector<SumLine> weights;
  for (const Input& input : inputs) {
    if (input.name == "config.json" || input.name == "generation_config.json")
      CALKIT_CHECK_OK(copy_checked(files, input, dir / input.name), "copying " + input.name);
    if (is_tokenizer_file(input.name))
      CALKIT_CHECK_OK(copy_checked(files, input, dir / kTokenizerDir / input.name), "copying " + input.name);
    if (is_weight_file(input.name)) weights.push_back({input.sha256, input.name});
  }
  CALKIT_CHECK_OK(write_file(dir / kWeightSums, sums_text(weights)));
  return write_file(dir / kManifest, to_json(source.manifest) + "\n");
}

}  // namespace calkit::frozen
