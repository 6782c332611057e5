#pragma once
/// NumPy's .npy (version 1.0, little-endian, C order) and .npz (ZIP without compression).
///   .npy: "\x93NUMPY" 1 0, uint16 header length, a Python dict literal {'descr','fortran_order','shape'}, padding,
///   '\n', data.
/// BF16 has no NumPy descr: it is written widened to float32 (exactly), as the goldens do.
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/tensor/tensor.h"

namespace calkit {

/// Writes members in the given order, stored, with fixed times: equal content gives equal bytes.
Status write_npz(const std::filesystem::path& path, const std::vector<std::pair<std::string, Tensor>>& members);
/// Reads all members. kInput for: a repeated member, compression, object dtype, big-endian, Fortran order, rank > 8, a
/// size that disagrees with the shape, CRC, prefix or trailing junk, `|V2` (BF16 whose type was lost).
Result<std::map<std::string, Tensor>> read_npz(const std::filesystem::path& path);
/// The same from memory; `file` is the name used in messages.
Result<std::map<std::string, Tensor>> parse_npz(std::span<const std::byte> bytes, std::string_view file);
/// The same one member at a time, in the order of the file: memory holds one tensor. Ends with the first error, which
/// may be the visitor's.
using NpzVisitor = std::function<Status(const std::string& name, Tensor tensor)>;
Status visit_npz(std::span<const std::byte> bytes, std::string_view file, const NpzVisitor& visitor);

/// Writes members one at a time without holding them all in memory. The file appears under its name at finish(); a
/// writer that is destroyed before leaves nothing behind.
class NpzWriter {
 public:
  static Result<NpzWriter> create(const std::filesystem::path& path);
  ~NpzWriter();
  NpzWriter(NpzWriter&&) noexcept;
  NpzWriter& operator=(NpzWriter&&) noexcept;
  Status add(const std::string& name, const Tensor& tensor);
  Status finish();  ///< writes the central directory and commits the file; the last call

 private:
  struct State;
  explicit NpzWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit
