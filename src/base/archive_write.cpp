#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "calkit/base/archive.h"
#include "calkit/base/files.h"

namespace calkit {
namespace {

/// Where libarchive's output goes; its callbacks cannot return our errors, so the first one waits here.
struct Output {
  StagedFile* file = nullptr;
  std::optional<Error> error;
};

la_ssize_t write_some(archive*, void* context, const void* data, std::size_t length) {
  auto* out = static_cast<Output*>(context);
  const Status status = out->file->write(std::span(static_cast<const std::byte*>(data), length));
  if (!status.ok()) {
    out->error = status.error();
    return -1;
  }
  return static_cast<la_ssize_t>(length);
}

struct FreeWriter {
  void operator()(archive* a) const { archive_write_free(a); }
};
using Writer = std::unique_ptr<archive, FreeWriter>;

struct FreeEntry {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};

Error writer_error(archive* writer, const Output& out, const std::filesystem::path& path) {
  if (out.error) return *out.error;
  const char* text = archive_error_string(writer);
  return Error{ErrorKind::kIo, fmt::format("{}: cannot write: {}", path.string(), text ? text : "unknown reason")};
}

/// GNU tar warns about each file whose header says hdrcharset, so only archives that need raw names say it.
bool all_ascii(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  });
}

/// Everything that could differ between two machines is set here: names raw, one compression level, no padded last
/// block.
bool configure(archive* writer, bool raw_names) {
  return archive_write_set_format_pax_restricted(writer) == ARCHIVE_OK &&
         (!raw_names || archive_write_set_format_option(writer, "pax", "hdrcharset", "BINARY") == ARCHIVE_OK) &&
         archive_write_add_filter_zstd(writer) == ARCHIVE_OK &&
         archive_write_set_filter_option(writer, "zstd", "compression-level", "6") == ARCHIVE_OK &&
         archive_write_set_bytes_in_last_block(writer, 1) == ARCHIVE_OK;
}

Status add_file(archive* writer, const Output& out, const Root& root, const std::string& file,
                const std::filesystem::path& path) {
  CALKIT_TRY(const auto info, root.stat(file));
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), file.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_mtime(entry.get(), 0, 0);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(info.bytes));
  if (archive_write_header(writer, entry.get()) != ARCHIVE_OK) return writer_error(writer, out, path);
  std::uint64_t written = 0;
  CALKIT_CHECK_OK(root.read_chunks(file, [&](std::span<const std::byte> bytes) -> Status {
    const la_ssize_t wrote = archive_write_data(writer, bytes.data(), bytes.size());
    if (wrote < 0) return writer_error(writer, out, path);
    written += static_cast<std::uint64_t>(wrote);
    return {};
  }));
  if (written != info.bytes)
    return input_error((root.path() / file).string(), {}, "a file that changed while it was read", "a file at rest");
  return {};
}

}  // namespace

Status write_tar_zst(const std::filesystem::path& out, const std::filesystem::path& dir,
                     std::vector<std::string> files) {
  std::sort(files.begin(), files.end());
  CALKIT_TRY(const Root root, Root::open(dir));
  CALKIT_TRY(StagedFile staged, StagedFile::create(out));
  Output output{&staged, {}};
  const Writer writer(archive_write_new());
  if (!writer || !configure(writer.get(), !all_ascii(files)) ||
      archive_write_open2(writer.get(), &output, nullptr, write_some, nullptr, nullptr) != ARCHIVE_OK) {
    return writer_error(writer.get(), output, out);
  }
  for (const std::string& file : files) CALKIT_CHECK_OK(add_file(writer.get(), output, root, file, out));
  if (archive_write_close(writer.get()) != ARCHIVE_OK) return writer_error(writer.get(), output, out);
  return staged.commit();
}

}  // namespace calkit
