#pragma once
/// What `huggingface-cli download --local-dir` notes of each file it wrote (private to hf).
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace calkit::hf {

inline constexpr std::string_view kRecordFolder = ".cache/huggingface/download";
inline constexpr std::string_view kRecordEnding = ".metadata";

struct DownloadRecord {
  std::string revision;                ///< the commit the file came from
  std::optional<std::string> content;  ///< SHA-256 (64 digits) or git's name of the blob (40); nullopt: no digest
};
/// The record of one file; nullopt: there is none that can be read.
std::optional<DownloadRecord> read_download_record(const std::filesystem::path& model_dir, std::string_view name);

bool is_revision(std::string_view text);   ///< 40 hexadecimal digits
bool is_blob_name(std::string_view text);  ///< 40 or 64

}  // namespace calkit::hf
