#include <fmt/format.h>
#include <zlib.h>

#include <set>

#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/tensor/npz.h"
#include "npy.h"
#include "zip_format.h"

namespace calkit {
namespace {

struct Entry {
  std::string name;
  std::uint32_t crc = 0;
  std::uint64_t bytes = 0, offset = 0;
};

std::uint16_t name_flags(const std::string& name) {
  for (const char c : name)
    if (static_cast<unsigned char>(c) >= 0x80) return zip::kUtf8Flag;
  return 0;
}

std::uint32_t low32(std::uint64_t value) {
  return value >= zip::kMax32 ? zip::kMax32 : static_cast<std::uint32_t>(value);
}

/// The ZIP64 extra field: the values that do not fit their 32-bit place, in this order.
std::string zip64_extra(std::initializer_list<std::uint64_t> values) {
  std::string out;
  if (values.size() == 0) return out;
  zip::put(out, zip::kZip64Extra);
  zip::put(out, static_cast<std::uint16_t>(8 * values.size()));
  for (const std::uint64_t value : values) zip::put(out, value);
  return out;
}

/// The fields that a local header and a central one share, from "version needed" to the length of the name.
void put_common(std::string& out, const Entry& entry, bool zip64) {
  zip::put<std::uint16_t>(out, zip64 ? 45 : 20);
  zip::put(out, name_flags(entry.name));
  zip::put<std::uint16_t>(out, 0);  // stored
  zip::put<std::uint16_t>(out, 0);  // time
  zip::put(out, zip::kDate1980);
  zip::put(out, entry.crc);
  zip::put(out, low32(entry.bytes));
  zip::put(out, low32(entry.bytes));
  zip::put(out, static_cast<std::uint16_t>(entry.name.size()));
}

std::string local_header(const Entry& entry) {
  const bool big = entry.bytes >= zip::kMax32;
  const std::string extra = big ? zip64_extra({entry.bytes, entry.bytes}) : std::string();
  std::string out;
  zip::put(out, zip::kLocal);
  put_common(out, entry, big);
  zip::put(out, static_cast<std::uint16_t>(extra.size()));
  return out + entry.name + extra;
}

std::string central_header(const Entry& entry) {
  const bool big = entry.bytes >= zip::kMax32, far = entry.offset >= zip::kMax32;
  std::string extra;
  if (big && far) extra = zip64_extra({entry.bytes, entry.bytes, entry.offset});
  if (big && !far) extra = zip64_extra({entry.bytes, entry.bytes});
  if (!big && far) extra = zip64_extra({entry.offset});
  std::string out;
  zip::put(out, zip::kCentral);
  zip::put<std::uint16_t>(out, 0x0314);  // made by: unix, 2.0, so that the mode below counts
  put_common(out, entry, big || far);
  zip::put(out, static_cast<std::uint16_t>(extra.size()));
  zip::put<std::uint16_t>(out, 0);               // comment
  zip::put<std::uint16_t>(out, 0);               // disk
  zip::put<std::uint16_t>(out, 0);               // internal attributes
  zip::put<std::uint32_t>(out, 0100644u << 16);  // mode
  zip::put(out, low32(entry.offset));
  return out + entry.name + extra;
}

std::string end_records(std::uint64_t entries, std::uint64_t offset, std::uint64_t bytes) {
  std::string out;
  if (entries >= zip::kMax16 || offset >= zip::kMax32 || bytes >= zip::kMax32) {
    const std::uint64_t at = offset + bytes;
    zip::put(out, zip::kEnd64);
    zip::put<std::uint64_t>(out, zip::kEnd64Bytes - 12);
    zip::put<std::uint16_t>(out, 45);
    zip::put<std::uint16_t>(out, 45);
    zip::put<std::uint32_t>(out, 0);
    zip::put<std::uint32_t>(out, 0);
    zip::put(out, entries);
    zip::put(out, entries);
    zip::put(out, bytes);
    zip::put(out, offset);
    zip::put(out, zip::kEnd64Locator);
    zip::put<std::uint32_t>(out, 0);
    zip::put(out, at);
    zip::put<std::uint32_t>(out, 1);
  }
  const auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(entries, zip::kMax16));
  zip::put(out, zip::kEnd);
  zip::put<std::uint16_t>(out, 0);
  zip::put<std::uint16_t>(out, 0);
  zip::put(out, count);
  zip::put(out, count);
  zip::put(out, low32(bytes));
  zip::put(out, low32(offset));
  zip::put<std::uint16_t>(out, 0);  // comment
  return out;
}

/// Hands the stored bytes of a tensor to `sink`, BF16 widened piece by piece.
template <class Sink>
Status stream_data(const Tensor& tensor, Sink sink) {
  if (tensor.dtype() != DType::kBF16) return sink(std::span(tensor.raw(), tensor.bytes()));
  const auto values = tensor.data<BF16>();
  std::vector<float> piece;
  for (std::size_t begin = 0; begin < values.size(); begin += 16384) {
    piece.clear();
    for (const BF16 v : values.subspan(begin, std::min<std::size_t>(16384, values.size() - begin)))
      piece.push_back(to_float(v));
    CALKIT_CHECK_OK(sink(std::as_bytes(std::span<const float>(piece))));
  }
  return {};
}

std::uint32_t crc_of(std::uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

struct NpzWriter::State {
  StagedFile file;
  std::vector<Entry> entries;
  std::set<std::string> names;
};

NpzWriter::NpzWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
NpzWriter::~NpzWriter() = default;
NpzWriter::NpzWriter(NpzWriter&&) noexcept = default;
NpzWriter& NpzWriter::operator=(NpzWriter&&) noexcept = default;

Result<NpzWriter> NpzWriter::create(const std::filesystem::path& path) {
  CALKIT_TRY(StagedFile file, StagedFile::create(path));
  return NpzWriter(std::make_unique<State>(State{std::move(file), {}, {}}));
}

Status NpzWriter::add(const std::string& name, const Tensor& tensor) {
  if (name.empty() || name.size() > 1024 || name.find('\0') != std::string::npos ||
      invalid_utf8_at(name) != std::string_view::npos)
    return Error{ErrorKind::kInput,
                 fmt::format("npz member name of {} bytes; allowed: 1 to 1024 bytes of UTF-8", name.size())};
  if (!state_->names.insert(name).second)
    return Error{ErrorKind::kInput, fmt::format("npz member '{}' is added twice", name)};
  CALKIT_TRY(const std::string head, npy::header(tensor.dtype(), tensor.shape()),
             fmt::format("writing npz member '{}'", name));
  Entry entry{name + ".npy", 0, head.size(), state_->file.size()};
  entry.crc = crc_of(0, std::as_bytes(std::span<const char>(head)));
  CALKIT_CHECK_OK(stream_data(tensor, [&](std::span<const std::byte> bytes) -> Status {
    if (!bytes.empty()) entry.crc = crc_of(entry.crc, bytes);
    entry.bytes += bytes.size();
    return {};
  }));
  CALKIT_CHECK_OK(state_->file.write(local_header(entry)));
  CALKIT_CHECK_OK(state_->file.write(head));
  CALKIT_CHECK_OK(stream_data(tensor, [&](std::span<const std::byte> bytes) { return state_->file.write(bytes); }));
  state_->entries.push_back(std::move(entry));
  return {};
}

Status NpzWriter::finish() {
  const std::uint64_t offset = state_->file.size();
  std::string central;
  for (const Entry& entry : state_->entries) central += central_header(entry);
  CALKIT_CHECK_OK(state_->file.write(central));
  CALKIT_CHECK_OK(state_->file.write(end_records(state_->entries.size(), offset, central.size())));
  return state_->file.commit();
}

Status write_npz(const std::filesystem::path& path, const std::vector<std::pair<std::string, Tensor>>& members) {
  CALKIT_TRY(NpzWriter writer, NpzWriter::create(path));
  for (const auto& [name, tensor] : members) CALKIT_CHECK_OK(writer.add(name, tensor));
  return writer.finish();
}

}  // namespace calkit
