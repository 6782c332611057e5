#include "verify.h"

#include <fmt/format.h>

#include <map>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "layout.h"
#include "sums.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

class Verifier {
 public:
  explicit Verifier(const fs::path& dir) : dir_(dir) {}

  Result<VerifyReport> run_files() {
    CALKIT_CHECK_OK(files());
    return std::move(report_);
  }

  Result<VerifyReport> run() {
    CALKIT_CHECK_OK(files());
    if (hashes_.contains(std::string(kShard)))
      fault(kShard, "a part of a freeze", "a whole baseline: `calkit freeze-baseline merge` puts the shards together");
    const std::size_t before = report_.findings.size();
    source();
    if (report_.findings.size() == before) derived();  // from files that are the frozen ones
    reference();
    return std::move(report_);
  }

 private:
  void fault(std::string text) { report_.findings.push_back(std::move(text)); }
  void fault(std::string_view file, std::string_view found, std::string_view wanted) {
    fault(fmt::format("{}: found {}; wanted {}", file, found, wanted));
  }

  Status files() {
    CALKIT_TRY(const auto text, read_file(dir_ / kSums), "opening the baseline");
    Sums sums = parse_sums(text, kSums);
    for (auto& problem : sums.faults) fault(std::move(problem));
    CALKIT_TRY(const auto there, list_tree(dir_), "listing the baseline");
    std::map<std::string, std::string> wanted;
    for (const SumLine& line : sums.lines) wanted.emplace(line.path, line.sha256);
    for (const std::string& file : there) {
      if (file == kSums) continue;
      ++report_.files;
      const auto entry = wanted.find(file);
      if (entry == wanted.end()) {
        fault(file, "a file that SHA256SUMS does not list", "only the files that were frozen");
        continue;
      }
      CALKIT_TRY(const auto digest, hash_file(dir_ / file), "hashing the baseline");
      if (digest.sha256 != entry->second) fault(file, "sha256 " + digest.sha256, entry->second + ", as in SHA256SUMS");
      hashes_[file] = digest.sha256;
      sizes_[file] = digest.bytes;
      wanted.erase(entry);
    }
    for (const auto& [file, digest] : wanted) fault(file, "no such file", "sha256 " + digest + ", as in SHA256SUMS");
    return {};
  }

  void source() {
    auto read = read_model_source(dir_);
    if (!read.ok()) return fault(read.error().message);
    source_ = std::move(read).value();
    copies();
    auto tokenizer = hf::Tokenizer::load(dir_ / kSourceDir / kTokenizerDir / "tokenizer.json");
    if (!tokenizer.ok()) return fault(tokenizer.error().message);
    tokenizer_ = std::move(tokenizer).value();
  }

  // What manifest.json derives from the checkpoint's files, derived again.
  void derived() {
    if (!source_) return;
    std::map<std::string, std::uint64_t> copies;
    const std::string configs = fmt::format("{}/", kSourceDir), more = fmt::format("{}{}/", configs, kTokenizerDir);
    for (const auto& [file, bytes] : sizes_)
      if (file.starts_with(configs))
        copies.emplace(file.substr(file.starts_with(more) ? more.size() : configs.size()), bytes);
    verify_source(*source_, tokenizer_ ? &*tokenizer_ : nullptr, dir_ / kSourceDir, copies, report_.findings);
  }

  // What manifest.json says of the checkpoint's files against the copies and against weights.sha256.
  void copies() {
    std::vector<SumLine> weights;
    for (const Value& input : *source_->manifest.find("inputs")->if_array()) {
      const Cursor at(input, std::string(kManifest));
      const auto path = at.string("path");
      const auto digest_at = at.at("sha256");
      const auto digest = digest_at.ok() ? read_digest(*digest_at) : Result<std::string>(digest_at.error());
      if (!path.ok() || !digest.ok()) return fault((path.ok() ? digest.error() : path.error()).message);
      if (is_weight_file(*path)) weights.push_back({*digest, *path});
      const bool config = *path == "config.json" || *path == "generation_config.json";
      if (!config && !is_tokenizer_file(*path)) continue;
      const std::string copy =
          config ? fmt::format("{}/{}", kSourceDir, *path) : fmt::format("{}/{}/{}", kSourceDir, kTokenizerDir, *path);
      const auto found = hashes_.find(copy);
      if (found == hashes_.end())
        fault(copy, "no such file", "the copy of a file that manifest.json lists");
      else if (found->second != *digest)
        fault(copy, "sha256 " + found->second, *digest + ", as in manifest.json");
    }
    const std::string list = fmt::format("{}/{}", kSourceDir, kWeightSums);
    const auto text = read_file(dir_ / list);
    if (!text.ok()) return fault(text.error().message);
    if (*text != sums_text(weights)) fault(list, "other lines", "the weight files of manifest.json with their digests");
  }

  void reference() {
    auto read = read_reference(dir_);
    if (!read.ok()) return fault(read.error().message);
    report_.prompts = read->items.size();
    if (source_ && tokenizer_) verify_items(*read, *source_, *tokenizer_, report_.findings);
    if (source_) verify_chats(*read, *source_, dir_ / kSourceDir / kTokenizerDir, report_.findings);
    if (source_) dtype(*read);
    // A shard has no probes and no noise but in one of them.
    if (!hashes_.contains(std::string(kShard)))
      verify_documents(dir_, *read, source_ ? &source_->spec : nullptr, report_.findings);
  }

  void dtype(const Reference& read) {
    const Value* stated = source_->manifest.find("reference");
    const Value* name = stated == nullptr ? nullptr : stated->find("dtype");
    if (name == nullptr || name->if_string() == nullptr || *name->if_string() != read.dtype)
      fault(fmt::format("{}/{}", kSourceDir, kManifest), name == nullptr ? "no reference dtype" : name->describe(),
            fmt::format("\"{}\", as the logits are", read.dtype));
  }

  const fs::path& dir_;
  VerifyReport report_;
  std::map<std::string, std::string> hashes_;
  std::map<std::string, std::uint64_t> sizes_;
  std::optional<ModelSource> source_;
  std::optional<hf::Tokenizer> tokenizer_;
};

}  // namespace

Result<VerifyReport> verify(const fs::path& baseline_dir) {
  return Verifier(baseline_dir).run();
}

Result<VerifyReport> verify_files(const fs::path& dir) {
  return Verifier(dir).run_files();
}

Status require_verified(const std::filesystem::path& baseline_dir) {
  CALKIT_TRY(const auto report, verify(baseline_dir), "verifying the baseline");
  if (report.findings.empty()) return {};
  const std::size_t more = report.findings.size() - 1;
  return Error(ErrorKind::kInput,
               fmt::format("{}: the baseline does not verify: {}{}", baseline_dir.string(), report.findings.front(),
                           more == 0 ? "" : fmt::format(" (and {} more)", more)),
               "see `calkit freeze-baseline verify`; freeze it again");
}

}  // namespace calkit::frozen
