#include <fmt/format.h>

#include "calkit/base/process.h"
#include "calkit/base/text.h"
#include "facts.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

constexpr std::string_view kCard = "README.md";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\"'";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The value of a top-level `license:` line. Cards are written for other YAML readers than our strict one, so no more is
// read.
std::optional<std::string> licence_of_card(std::string_view card) {
  bool inside = false;
  for (const std::string& line : split(card, '\n')) {
    const bool fence = trimmed(line) == "---";
    if (!inside && !fence) return std::nullopt;  // no front matter
    if (inside && fence) return std::nullopt;
    inside = true;
    constexpr std::string_view kKey = "license:";
    if (!line.starts_with(kKey)) continue;
    const auto value = trimmed(std::string_view(line).substr(kKey.size()));
    if (!value.empty()) return std::string(value);
  }
  return std::nullopt;
}

}  // namespace

Result<Identity> read_identity(const hf::ModelFiles& files, const std::filesystem::path& model_dir) {
  Identity out;
  out.licence.why = "no model card (README.md)";
  if (files.has(kCard)) {
    CALKIT_TRY(const auto card, files.read(kCard), "reading the model card");
    out.licence.value = licence_of_card(card);
    out.licence.why = out.licence.value ? "README.md front matter" : "README.md states no license in its front matter";
  }
  const std::string nowhere = "no file of the model folder states it";
  out.repository.why = out.revision.why = nowhere;
  if (const auto hub = hf::hub_identity(model_dir)) {
    out.repository.value = hub->repository;
    out.revision.value = hub->revision;
    if (hub->repository) out.repository.why = hub->source;
    if (hub->revision) out.revision.why = hub->source;
    out.notes = hub->notes;
  }
  return out;
}

Result<std::vector<FileFact>> hash_files(const hf::ModelFiles& files) {
  std::vector<FileFact> out;
  for (const std::string& name : files.names()) {
    CALKIT_TRY(const auto digest, files.hash(name), fmt::format("hashing {}", name));
    out.push_back({name, digest.sha256, digest.bytes});
  }
  return out;
}

std::string digest_of(const std::vector<FileFact>& files) {
  Sha256 sha;
  for (const FileFact& file : files) sha.update(fmt::format("{}  {}\n", file.sha256, file.name));
  return sha.hex();
}

const FileFact* find_file(const std::vector<FileFact>& files, std::string_view name) {
  for (const FileFact& file : files)
    if (file.name == name) return &file;
  return nullptr;
}

Result<Value> describe_tensors(const hf::Checkpoint& checkpoint) {
  Value out(Value::Array{});
  for (const hf::TensorInfo& info : checkpoint.tensors()) {
    if (interrupted()) return interrupted_error();
    CALKIT_TRY(const auto tensor, checkpoint.tensor(info.name), "hashing the tensors");
    out.push(Value::object({{"name", info.name},
                            {"dtype", dtype_name(info.dtype)},
                            {"shape", Value::list(info.shape)},
                            {"file", info.file},
                            {"bytes", info.bytes},
                            {"sha256", digest_text(sha256_hex(std::span(tensor.raw(), tensor.bytes())))}}));
    checkpoint.release(info.name);
  }
  return out;
}

}  // namespace calkit::frozen
