#pragma once
/// Seeded mutations of corpus items: bits, blocks, splices, dictionary words and the edge values of numbers.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <vector>

namespace calkit::fuzz {

using Bytes = std::vector<std::uint8_t>;

/// A dictionary in the form of AFL and libFuzzer: one `name="token"` or `"token"` a line, with \xNN, \\ and \".
/// A line of another form ends the process: it is the project's own file.
std::vector<Bytes> read_dictionary(const std::filesystem::path& path);

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::vector<Bytes> words, std::size_t most)
      : random_(seed), words_(std::move(words)), most_(most) {}

  /// A mutation of one corpus item, at most `most` bytes long. The corpus must not be empty.
  const Bytes& next(const std::vector<Bytes>& corpus);

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  void step(const std::vector<Bytes>& corpus);
  void change_byte();
  void erase_piece();
  void swap_pieces();
  void repeat_piece();
  void put(const std::uint8_t* data, std::size_t size);  ///< inserted or written over what is there
  void put_piece(const Bytes& from);
  void put_edge_number();
  void replace_digits();
  void splice(const Bytes& other);

  std::mt19937_64 random_;
  std::vector<Bytes> words_;
  std::size_t most_;
  Bytes bytes_;
};

}  // namespace calkit::fuzz
