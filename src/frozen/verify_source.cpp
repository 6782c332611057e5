// manifest.json against what follows from the frozen files: the digests alone prove nothing of a folder that was sealed
// again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calkit/base/checked.h"
#include "diff_documents.h"
#include "facts.h"
#include "layout.h"
#include "verify.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

const std::string kFile = fmt::format("{}/{}", kSourceDir, kManifest);

Result<hf::TensorInfo> read_tensor(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"name", "dtype", "shape", "file", "bytes", "sha256"}));
  hf::TensorInfo out;
  CALKIT_TRY(out.name, at.string("name"));
  CALKIT_TRY(const auto type, at.at("dtype"));
  CALKIT_TRY(const auto type_name, type.as_string());
  const auto dtype = dtype_from_name(type_name);
  if (!dtype) return type.error(type.value().describe(), "an element type, as \"bf16\"");
  out.dtype = *dtype;
  CALKIT_TRY(const auto shape, at.at("shape"));
  CALKIT_TRY(out.shape, shape.as_ints());
  CALKIT_TRY(out.file, at.string("file"));
  CALKIT_TRY(const auto bytes, at.integer("bytes", 0));
  out.bytes = static_cast<std::uint64_t>(bytes);
  if (checked_product(out.shape, dtype_bytes(out.dtype)) != out.bytes)
    return at.error(fmt::format("{} bytes for shape {} in {}", out.bytes, shape_text(out.shape), type_name),
                    "as many bytes as the shape needs");
  return out;
}

class SourceChecker {
 public:
  SourceChecker(const ModelSource& source, std::vector<std::string>& findings) : source_(source), findings_(findings) {}

  void files(const std::map<std::string, std::uint64_t>& copies) {
    const Cursor root(source_.manifest, kFile);
    const auto list = root.at("inputs");
    const auto items = list.ok() ? list->items() : Result<std::vector<Cursor>>(list.error());
    if (!items.ok()) return fault(items.error().message);
    for (const Cursor& item : *items) {
      const auto path = item.string("path");
      const auto bytes = item.integer("bytes", 0);
      if (!path.ok() || !bytes.ok()) return fault((path.ok() ? bytes.error() : path.error()).message);
      if (!input_bytes_.emplace(*path, static_cast<std::uint64_t>(*bytes)).second)
        fault(item.error(fmt::format("\"{}\" a second time", *path), "each file once").message);
      const auto copy = copies.find(*path);
      if (copy != copies.end() && copy->second != static_cast<std::uint64_t>(*bytes))
        fault(
            item.error(fmt::format("{} bytes for {}", *bytes, *path), fmt::format("{}, as its copy has", copy->second))
                .message);
    }
  }

  void tensors() {
    const Status status = read_tensors();
    if (!status.ok()) return fault(status.error().message);
    const Status fit = hf::check_tensors(tensors_, source_.spec, kFile);
    if (!fit.ok()) fault(fit.error().message);
    std::map<std::string, std::uint64_t> per_file;
    for (const hf::TensorInfo& tensor : tensors_) per_file[tensor.file] += tensor.bytes;
    std::vector<std::string> files;
    for (const auto& [file, bytes] : per_file) {
      files.push_back(file);
      const auto input = input_bytes_.find(file);
      if (input == input_bytes_.end())
        fault(kFile, fmt::format("/tensors in a file {}", file), "files that /inputs lists");
      else if (input->second <= bytes)
        fault(kFile, fmt::format("/tensors of {} bytes in {}", bytes, file),
              fmt::format("fewer than the {} bytes of the file", input->second));
    }
    same("weights", weights_value(tensors_, files));
  }

  void tokenizer(const hf::Tokenizer& tokenizer, const fs::path& dir) {
    const auto configs = hf::ModelFiles::open(dir), files = hf::ModelFiles::open(dir / kTokenizerDir);
    if (!configs.ok() || !files.ok()) return fault((configs.ok() ? files.error() : configs.error()).message);
    const auto facts = read_tokenizer_facts(*configs, *files, tokenizer, source_.spec);
    if (!facts.ok()) return fault(facts.error().message);
    same("tokenizer", tokenizer_value(tokenizer, source_.spec, source_.tokenizer_sha256, *facts));
    same("stop_ids", Value::list(stop_ids(source_.spec, *facts)));
  }

  void cache() { same("kv_bytes_per_token", kv_value(source_.spec)); }

 private:
  void fault(std::string text) { findings_.push_back(std::move(text)); }
  void fault(std::string_view file, std::string_view found, std::string_view wanted) {
    fault(fmt::format("{}: found {}; wanted {}", file, found, wanted));
  }

  Status read_tensors() {
    const Cursor root(source_.manifest, kFile);
    CALKIT_TRY(const auto list, root.at("tensors"));
    CALKIT_TRY(const auto items, list.items());
    std::map<std::string, std::string> digests;
    for (const Cursor& item : items) {
      CALKIT_TRY(auto tensor, read_tensor(item));
      CALKIT_TRY(const auto at, item.at("sha256"));
      CALKIT_TRY(digests[tensor.name], read_digest(at));
      if (!tensors_.empty() && tensors_.back().name >= tensor.name)
        return item.error(fmt::format("tensor \"{}\" behind \"{}\"", tensor.name, tensors_.back().name),
                          "tensors sorted by name, each once");
      tensors_.push_back(std::move(tensor));
    }
    const auto head = digests.find("lm_head.weight");
    if (source_.spec.tied_embeddings && head != digests.end() && head->second != digests["model.embed_tokens.weight"])
      return list.error("a lm_head.weight whose digest is not that of the embedding",
                        "equal ones, since tie_word_embeddings is true");
    return {};
  }

  void same(const std::string& key, const Value& derived) {
    const Value* stated = source_.manifest.find(key);
    if (stated == nullptr) return fault(kFile, "no /" + key, derived.describe());
    std::vector<FieldChange> changes;
    diff_documents(*stated, derived, kFile, changes);
    const auto text = [](const std::optional<Value>& value) {
      return value ? to_json(*value, {.sorted = false, .indent = -1}) : std::string("nothing");
    };
    for (const FieldChange& change : changes)
      fault(kFile, fmt::format("/{}{}: {}", key, change.pointer, text(change.a)),
            text(change.b) + ", as the frozen files give it");
  }

  const ModelSource& source_;
  std::vector<std::string>& findings_;
  std::map<std::string, std::uint64_t> input_bytes_;
  std::vector<hf::TensorInfo> tensors_;
};

}  // namespace

void verify_source(const ModelSource& source, const hf::Tokenizer* tokenizer, const fs::path& source_dir,
                   const std::map<std::string, std::uint64_t>& copies, std::vector<std::string>& findings) {
  SourceChecker check(source, findings);
  check.files(copies);
  check.tensors();
  check.cache();
  if (tokenizer != nullptr) check.tokenizer(*tokenizer, source_dir);
}

}  // namespace calkit::frozen
