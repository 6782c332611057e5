#include "index.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/document.h"
#include "calkit/bundle/bundle.h"

namespace calkit::bundle {
namespace {

constexpr const char* kDescription = "package/calbin.json";
constexpr const char* kBaselineSums = "baseline/SHA256SUMS";
constexpr const char* kConfig = "baseline/model-source/config.json";
constexpr const char* kTokenizer = "baseline/model-source/tokenizer/tokenizer.json";

std::string bare(std::string_view digest) {
  constexpr std::string_view kPrefix = "sha256:";
  return std::string(digest.starts_with(kPrefix) ? digest.substr(kPrefix.size()) : digest);
}

class Checker {
 public:
  explicit Checker(const Index& index) : index_(index) {}

  std::vector<std::string> run() {
    for (const char* path :
         {kDescription, kBaselineSums, kConfig, kTokenizer, "baseline/model-source/manifest.json", "service.yaml"})
      if (!index_.files.contains(path)) find(fmt::format("{} is missing", path));
    if (!any_under("onnx/", ".onnx")) find("onnx/ holds no .onnx file");
    if (index_.texts.contains(kBaselineSums)) check_baseline(index_.texts.at(kBaselineSums));
    if (index_.texts.contains(kDescription)) {
      const Status status = check_package(index_.texts.at(kDescription));
      if (!status.ok()) find(status.error().message);
    }
    return std::move(findings_);
  }

 private:
  void find(std::string text) { findings_.push_back(std::move(text)); }

  bool any_under(std::string_view folder, std::string_view ending) const {
    return std::any_of(index_.files.begin(), index_.files.end(),
                       [&](const auto& f) { return f.first.starts_with(folder) && f.first.ends_with(ending); });
  }

  void check_file(const std::string& path, const std::string& sha256, std::string_view listed_in) {
    const auto found = index_.files.find(path);
    if (found == index_.files.end())
      find(fmt::format("{} is missing, but {} lists it", path, listed_in));
    else if (found->second.sha256 != sha256)
      find(fmt::format("{}: sha256 is {}; {} says {}", path, found->second.sha256, listed_in, sha256));
  }

  void check_baseline(const std::string& text) {
    const auto sums = parse_sums(text, kBaselineSums);
    if (!sums.ok()) return find(sums.error().message);
    for (const auto& [path, sha256] : *sums) check_file("baseline/" + path, sha256, kBaselineSums);
    for (const auto& [path, digest] : index_.files) {
      if (!path.starts_with("baseline/") || path == kBaselineSums) continue;
      if (!sums->contains(path.substr(9))) find(fmt::format("{} is not listed in {}", path, kBaselineSums));
    }
  }

  // Reads the few fields it needs from the package's description; docs/formats/calbin.md has the whole table.
  Status check_package(const std::string& text) {
    CALKIT_TRY(const Value document, parse_json(text, kDescription));
    const Cursor root(document, kDescription);
    CALKIT_TRY(const Cursor list, root.at("files"));
    CALKIT_TRY(const auto files, list.items());
    for (const Cursor& file : files) CALKIT_CHECK_OK(check_package_file(file));
    CALKIT_TRY(const Cursor model, root.at("model"));
    CALKIT_CHECK_OK(check_same(model, "config_digest", kConfig));
    CALKIT_CHECK_OK(check_same(model, "tokenizer_digest", kTokenizer));
    return check_graphs(root);
  }

  // The digest that the package states and the file that the baseline froze. A missing file is found elsewhere.
  Status check_same(const Cursor& model, std::string_view key, const char* path) {
    CALKIT_TRY(const std::string stated, model.string(key));
    const auto frozen = index_.files.find(path);
    if (frozen != index_.files.end() && frozen->second.sha256 != bare(stated))
      find(fmt::format("the package was made from another model than the baseline froze: its {} is {}, {} is {}", key,
                       bare(stated), path, frozen->second.sha256));
    return {};
  }

  Status check_package_file(const Cursor& file) {
    CALKIT_TRY(const std::string path, file.string("path"));
    CALKIT_TRY(const std::string digest, file.string("digest"));
    const auto optional = file.find("optional");
    if (optional && optional->value().if_bool() != nullptr && *optional->value().if_bool() &&
        !index_.files.contains("package/" + path))
      return {};
    check_file("package/" + path, bare(digest), kDescription);
    return {};
  }

  Status check_graphs(const Cursor& root) {
    CALKIT_TRY(const Cursor provenance, root.at("provenance"));
    CALKIT_TRY(const Cursor inputs, provenance.at("input_onnx_digest"));
    CALKIT_TRY(const auto members, inputs.members());
    std::set<std::string> here;
    for (const auto& [path, digest] : index_.files)
      if (path.starts_with("onnx/")) here.insert(digest.sha256);
    for (const auto& [name, at] : members) {
      CALKIT_TRY(const std::string digest, at.as_string());
      if (!here.contains(bare(digest)))
        find(fmt::format("the package's {} graph ({}) is not in onnx/: it was compiled from other graphs", name,
                         bare(digest)));
    }
    return {};
  }

  const Index& index_;
  std::vector<std::string> findings_;
};

}  // namespace

bool is_document(const std::string& path) {
  return path == "bundle.json" || path == "SHA256SUMS" || path == kDescription || path == kBaselineSums;
}

std::string tree_digest(const Index& index, const std::string& folder) {
  const std::string prefix = folder + "/";
  Sha256 sha;
  for (const auto& [path, digest] : index.files)
    if (path.starts_with(prefix)) sha.update(fmt::format("{}  {}\n", digest.sha256, path.substr(prefix.size())));
  return sha.hex();
}

std::vector<std::string> check_parts(const Index& index) {
  return Checker(index).run();
}

}  // namespace calkit::bundle
