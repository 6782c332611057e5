#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/base/files.h"
#include "calkit/base/text.h"
#include "calkit/tensor/npz.h"
#include "npy.h"
#include "zip_format.h"

namespace calkit {
namespace {

struct Member {
  std::string name;  ///< as in the archive, ".npy" included
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, bytes = 0, offset = 0;
};

struct Directory {
  std::uint64_t entries = 0, offset = 0, bytes = 0;
  std::uint64_t end = 0;  ///< where the records behind the directory begin
};

/// Reads the archive strictly: every byte of the file belongs to one member, the directory or the end record.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  Status visit(const NpzVisitor& visitor) {
    CALKIT_TRY(const Directory directory, find_directory());
    CALKIT_TRY(std::vector<Member> members, read_directory(directory));
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.offset < b.offset; });
    std::set<std::string> names;
    std::uint64_t at = 0;
    for (const Member& member : members) {
      if (member.offset != at)
        return bad(member.name, fmt::format("its header at byte {}", member.offset), fmt::format("byte {}", at),
                   "bytes in front of, between or inside members are not taken");
      CALKIT_TRY(const auto data, member_data(member, directory.offset));
      at = static_cast<std::uint64_t>(data.data() - bytes_.data()) + data.size();
      std::string name = member.name.substr(0, member.name.size() - 4);
      CALKIT_TRY(Tensor tensor, npy::parse(data, fmt::format("{}: member '{}'", file_, name)));
      if (!names.insert(name).second) return bad(member.name, "a second member of that name", "each name once");
      CALKIT_CHECK_OK(visitor(name, std::move(tensor)));
    }
    if (at != directory.offset)
      return bad("central directory", fmt::format("at byte {}", directory.offset), fmt::format("byte {}", at),
                 "bytes between the last member and the directory are not taken");
    return {};
  }

 private:
  Result<Directory> find_directory() const {
    if (bytes_.size() < zip::kEndBytes || get32(bytes_.size() - zip::kEndBytes) != zip::kEnd)
      return bad("end record", "other bytes at the end of the file", "a ZIP end record without a comment",
                 "the file is cut, is no .npz, or has bytes behind its end");
    const std::size_t at = bytes_.size() - zip::kEndBytes;
    Directory out{get16(at + 10), get32(at + 16), get32(at + 12), at};
    if (get16(at + 4) != 0 || get16(at + 6) != 0 || get16(at + 8) != get16(at + 10) || get16(at + 20) != 0)
      return bad("end record", "several disks or a comment", "one disk, no comment");
    if (out.entries == zip::kMax16 || out.offset == zip::kMax32 || out.bytes == zip::kMax32) {
      CALKIT_TRY(out, find_directory64(at));
    }
    const auto end = checked_add(out.offset, out.bytes);
    if (!end || *end != out.end)
      return bad("central directory", fmt::format("bytes {} + {}", out.offset, out.bytes),
                 fmt::format("an end at byte {}", out.end));
    if (out.entries > out.bytes / zip::kCentralBytes)
      return bad("end record", fmt::format("{} members", out.entries),
                 fmt::format("what fits {} bytes of directory", out.bytes));
    return out;
  }

  Result<Directory> find_directory64(std::size_t end) const {
    if (end < zip::kLocatorBytes + zip::kEnd64Bytes || get32(end - zip::kLocatorBytes) != zip::kEnd64Locator)
      return bad("ZIP64 end locator", "none", "one before the end record");
    const std::size_t at = end - zip::kLocatorBytes - zip::kEnd64Bytes;
    if (get64(end - zip::kLocatorBytes + 8) != at || get32(at) != zip::kEnd64 ||
        get64(at + 4) != zip::kEnd64Bytes - 12 || get64(at + 24) != get64(at + 32))
      return bad("ZIP64 end record", "not where the locator says, or several disks",
                 fmt::format("one of {} bytes directly before its locator", zip::kEnd64Bytes));
    return Directory{get64(at + 32), get64(at + 48), get64(at + 40), at};
  }

  Result<std::vector<Member>> read_directory(const Directory& directory) const {
    std::vector<Member> out;
    out.reserve(directory.entries);
    std::size_t at = directory.offset;
    for (std::uint64_t i = 0; i < directory.entries; ++i) {
      if (!range_inside(at, zip::kCentralBytes, directory.end) || get32(at) != zip::kCentral)
        return bad(fmt::format("central header {}", i), "other bytes or the end", "a central header");
      const std::size_t name = get16(at + 28), extra = get16(at + 30), comment = get16(at + 32);
      if (!range_inside(at + zip::kCentralBytes, name + extra + comment, directory.end) || comment != 0)
        return bad(fmt::format("central header {}", i), "fields beyond the directory, or a comment", "neither");
      Member member;
      member.name = text(at + zip::kCentralBytes, name);
      member.flags = get16(at + 8);
      member.method = get16(at + 10);
      member.crc = get32(at + 16);
      member.packed = get32(at + 20);
      member.bytes = get32(at + 24);
      member.offset = get32(at + 42);
      CALKIT_CHECK_OK(widen(member, at + zip::kCentralBytes + name, extra, true));
      CALKIT_CHECK_OK(check(member));
      out.push_back(std::move(member));
      at += zip::kCentralBytes + name + extra;
    }
    if (at != directory.end) return bad("central directory", "bytes behind the last header", "none");
    return out;
  }

  /// Takes the 64-bit values of the ZIP64 extra field for the 32-bit ones that are all ones.
  Status widen(Member& member, std::size_t at, std::size_t length, bool with_offset) const {
    const std::size_t end = at + length;
    while (end - at >= 4) {
      const std::size_t field = get16(at + 2);
      if (field > end - at - 4) return bad(member.name, "an extra field beyond its header", "fields inside");
      if (get16(at) == zip::kZip64Extra) {
        std::size_t value = at + 4;
        std::size_t left = field;
        for (std::uint64_t* target : {&member.bytes, &member.packed, with_offset ? &member.offset : nullptr}) {
          if (target == nullptr || *target != zip::kMax32) continue;
          if (left < 8) return bad(member.name, "a ZIP64 field that is too short", "8 bytes for each value");
          *target = get64(value);
          value += 8;
          left -= 8;
        }
      }
      at += 4 + field;
    }
    if (at != end) return bad(member.name, "an extra field that is cut", "whole fields");
    return {};
  }

  Status check(const Member& member) const {
    if (!member.name.ends_with(".npy") || invalid_utf8_at(member.name) != std::string_view::npos)
      return bad(member.name, "another kind of member", "names that end in .npy");
    if (member.method != 0)
      return bad(member.name, fmt::format("compression method {}", member.method), "0 (stored)",
                 "save it with numpy.savez, not savez_compressed");
    if ((member.flags & ~zip::kUtf8Flag) != 0)
      return bad(member.name, fmt::format("flags {:#x}", member.flags), "none but UTF-8 names",
                 "encrypted members and members with trailing sizes are not taken; save to a regular file");
    if (member.packed != member.bytes)
      return bad(member.name, fmt::format("{} packed and {} plain bytes", member.packed, member.bytes), "equal sizes");
    return {};
  }

  /// The data of a member whose local header agrees with the directory and whose CRC is right.
  Result<std::span<const std::byte>> member_data(const Member& member, std::uint64_t limit) const {
    const std::uint64_t at = member.offset;
    if (!range_inside(at, zip::kLocalBytes, limit) || get32(at) != zip::kLocal)
      return bad(member.name, "no local header", fmt::format("one at byte {}", at));
    const std::size_t name = get16(at + 26), extra = get16(at + 28);
    if (!range_inside(at + zip::kLocalBytes, name + extra, limit))
      return bad(member.name, "a local header beyond the members", "one inside");
    Member local = member;
    local.packed = get32(at + 18);
    local.bytes = get32(at + 22);
    CALKIT_CHECK_OK(widen(local, at + zip::kLocalBytes + name, extra, false));
    if (text(at + zip::kLocalBytes, name) != member.name || get16(at + 6) != member.flags ||
        get16(at + 8) != member.method || get32(at + 14) != member.crc || local.packed != member.packed ||
        local.bytes != member.bytes)
      return bad(member.name, "a local header with another name, size, CRC or method",
                 "what the central directory says");
    const std::uint64_t begin = at + zip::kLocalBytes + name + extra;
    if (!range_inside(begin, member.bytes, limit))
      return bad(member.name, fmt::format("{} bytes at {}", member.bytes, begin),
                 fmt::format("an end before byte {}", limit));
    const auto data = bytes_.subspan(begin, member.bytes);
    const auto crc = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    if (crc != member.crc)
      return bad(member.name, fmt::format("CRC {:08x}", crc), fmt::format("{:08x}", member.crc), "the file is damaged");
    return data;
  }

  std::uint16_t get16(std::size_t at) const { return zip::get<std::uint16_t>(bytes_, at); }
  std::uint32_t get32(std::size_t at) const { return zip::get<std::uint32_t>(bytes_, at); }
  std::uint64_t get64(std::size_t at) const { return zip::get<std::uint64_t>(bytes_, at); }
  std::string text(std::size_t at, std::size_t length) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, length};
  }

  Error bad(std::string_view field, std::string_view found, std::string_view allowed, std::string hint = {}) const {
    return input_error(file_, printable(field, 80), found, allowed, std::move(hint));
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
};

}  // namespace

Status visit_npz(std::span<const std::byte> bytes, std::string_view file, const NpzVisitor& visitor) {
  return Reader(bytes, file).visit(visitor);
}

Result<std::map<std::string, Tensor>> parse_npz(std::span<const std::byte> bytes, std::string_view file) {
  std::map<std::string, Tensor> out;
  CALKIT_CHECK_OK(visit_npz(bytes, file, [&](const std::string& name, Tensor tensor) -> Status {
    out.emplace(name, std::move(tensor));
    return {};
  }));
  return out;
}

Result<std::map<std::string, Tensor>> read_npz(const std::filesystem::path& path) {
  CALKIT_TRY(const auto map, MappedFile::open(path));
  return parse_npz(map->bytes(), path.string());
}

}  // namespace calkit
