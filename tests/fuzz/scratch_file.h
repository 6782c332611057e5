#pragma once
/// For targets whose parser takes a path: one scratch file or folder serves all runs of the process. It lies in memory
/// where the system has a place for that.
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

namespace calkit::fuzz {

/// A folder that is removed when the process ends well.
inline const std::filesystem::path& scratch_folder() {
  struct Scratch {
    std::filesystem::path path;
    Scratch() {
      const std::filesystem::path memory = "/dev/shm";
      const bool usable = ::access(memory.c_str(), W_OK) == 0;
      std::string name = ((usable ? memory : std::filesystem::temp_directory_path()) / "calkit-fuzz-XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) ::abort();
      path = name;
    }
    ~Scratch() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Scratch folder;
  return folder.path;
}

/// Writes the input to the scratch file and returns its path.
inline const std::filesystem::path& as_file(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path file = scratch_folder() / "input";
  if (FILE* out = std::fopen(file.c_str(), "wb")) {
    std::fwrite(data, 1, size, out);
    std::fclose(out);
  }
  return file;
}

}  // namespace calkit::fuzz
