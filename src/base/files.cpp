#include "calkit/base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "calkit/base/checked.h"
#include "fd.h"

namespace calkit {

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  CALKIT_TRY(const Fd fd, open_regular(path));
  return read_whole(fd.get(), path.string(), max_bytes);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  CALKIT_TRY(const Fd fd, open_regular(path));
  return from_fd(fd.get(), path.string());
}

Result<std::shared_ptr<const MappedFile>> MappedFile::from_fd(int fd, const std::string& name) {
  CALKIT_TRY(const std::uint64_t size, regular_size(fd, name));
  std::shared_ptr<MappedFile> file(new MappedFile());
  if (size > 0) {  // an empty mapping is an error to mmap, an empty file is not one to us
    void* data = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return system_error(name, "map", errno);
    file->data_ = static_cast<const std::byte*>(data);
    file->size_ = size;
  }
  return std::shared_ptr<const MappedFile>(std::move(file));
}

std::shared_ptr<const MappedFile> MappedFile::part_of(std::shared_ptr<const MappedFile> whole, std::uint64_t offset,
                                                      std::uint64_t length) {
  assert(range_inside(offset, length, whole->size()));
  std::shared_ptr<MappedFile> part(new MappedFile());
  part->data_ = whole->data_ + offset;
  part->size_ = length;
  part->whole_ = std::move(whole);
  part->whole_offset_ = offset;
  return part;
}

std::shared_ptr<const MappedFile> MappedFile::in_memory(std::shared_ptr<const std::string> bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->data_ = reinterpret_cast<const std::byte*>(bytes->data());
  file->size_ = bytes->size();
  file->memory_ = std::move(bytes);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ && !whole_ && !memory_) ::munmap(const_cast<std::byte*>(data_), static_cast<std::size_t>(size_));
}

void MappedFile::release(std::uint64_t offset, std::uint64_t length) const {
  if (!data_ || memory_ || offset >= size_ || length == 0) return;
  if (whole_) return whole_->release(whole_offset_ + offset, std::min(length, size_ - offset));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  const std::uint64_t end = offset + std::min(length, size_ - offset);
  ::madvise(const_cast<std::byte*>(data_) + begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
}

Status write_file(const std::filesystem::path& path, std::string_view content) {
  CALKIT_TRY(auto file, StagedFile::create(path));
  CALKIT_CHECK_OK(file.write(content));
  return file.commit();
}

}  // namespace calkit
