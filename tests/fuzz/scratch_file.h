#pragma once
/// For targets whose parser takes a path: one scratch file serves all runs of the process.
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

namespace calkit::fuzz {

/// Writes the input to the scratch file and returns its path.
inline const std::filesystem::path& as_file(const std::uint8_t* data, std::size_t size) {
  struct Scratch {
    std::filesystem::path path;
    Scratch() {
      std::string name = (std::filesystem::temp_directory_path() / "calkit-fuzz-XXXXXX").string();
      ::close(::mkstemp(name.data()));
      path = name;
    }
    ~Scratch() { std::filesystem::remove(path); }
  };
  static const Scratch file;
  if (FILE* out = std::fopen(file.path.c_str(), "wb")) {
    std::fwrite(data, 1, size, out);
    std::fclose(out);
  }
  return file.path;
}

}  // namespace calkit::fuzz
