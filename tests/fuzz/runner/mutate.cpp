#include "mutate.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace calkit::fuzz {
namespace {

constexpr std::uint8_t kBytes[] = {0,   1,   0x7f, 0x80, 0xff, '"',  '{', '}', '[',
                                   ']', '-', '.',  '/',  '\\', '\n', '9', ' '};
constexpr std::string_view kNumbers[] = {"0",
                                         "-0",
                                         "1",
                                         "-1",
                                         "255",
                                         "65536",
                                         "2147483647",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "9007199254740991",
                                         "9007199254740992",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "010",
                                         "0x10",
                                         "1e3",
                                         "1e309",
                                         "0.1"};

[[noreturn]] void bad_line(const std::filesystem::path& path, const std::string& line) {
  std::fprintf(stderr, "%s: not a dictionary line: %s\n", path.c_str(), line.c_str());
  std::exit(2);
}

Bytes token_of(const std::filesystem::path& path, const std::string& line) {
  const std::size_t begin = line.find('"'), end = line.rfind('"');
  if (begin == std::string::npos || end <= begin + 1) bad_line(path, line);
  Bytes out;
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (line[i] != '\\') {
      out.push_back(static_cast<std::uint8_t>(line[i]));
    } else if (line[i + 1] == 'x' && i + 3 < end) {
      out.push_back(static_cast<std::uint8_t>(std::strtoul(line.substr(i + 2, 2).c_str(), nullptr, 16)));
      i += 3;
    } else {
      out.push_back(static_cast<std::uint8_t>(line[++i]));
    }
  }
  return out;
}

auto at(Bytes& bytes, std::size_t index) {
  return bytes.begin() + static_cast<std::ptrdiff_t>(index);
}

bool is_digit(std::uint8_t c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::vector<Bytes> read_dictionary(const std::filesystem::path& path) {
  std::vector<Bytes> words;
  std::ifstream in(path);
  if (!in) bad_line(path, "the file cannot be read");
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') words.push_back(token_of(path, line));
  return words;
}

const Bytes& Mutator::next(const std::vector<Bytes>& corpus) {
  bytes_ = corpus[below(corpus.size())];
  for (std::size_t steps = 1 + below(5); steps > 0; --steps) step(corpus);
  if (bytes_.size() > most_) bytes_.resize(most_);
  return bytes_;
}

void Mutator::step(const std::vector<Bytes>& corpus) {
  switch (below(12)) {
    case 0:
    case 1:
    case 2:
      return change_byte();
    case 3:
      return erase_piece();
    case 4:
      return repeat_piece();
    case 5:
      return swap_pieces();
    case 6:
      return put_piece(corpus[below(corpus.size())]);
    case 7:
      return splice(corpus[below(corpus.size())]);
    case 8:
      return put_edge_number();
    case 9:
      return replace_digits();
    case 10:
      if (!bytes_.empty()) bytes_.resize(bytes_.size() - below(std::min<std::size_t>(bytes_.size(), 32)));
      return;
    default:
      if (!words_.empty()) {
        const Bytes& word = words_[below(words_.size())];
        put(word.data(), word.size());
      }
  }
}

void Mutator::change_byte() {
  if (bytes_.empty()) return;
  std::uint8_t& byte = bytes_[below(bytes_.size())];
  const std::size_t kind = below(4);
  if (kind < 2)
    byte ^= static_cast<std::uint8_t>(1u << below(8));
  else
    byte = kind == 2 ? kBytes[below(std::size(kBytes))] : static_cast<std::uint8_t>(below(256));
}

void Mutator::erase_piece() {
  if (bytes_.empty()) return;
  const std::size_t begin = below(bytes_.size());
  const std::size_t count = std::min(1 + below(32), bytes_.size() - begin);
  bytes_.erase(at(bytes_, begin), at(bytes_, begin + count));
}

void Mutator::swap_pieces() {
  if (bytes_.size() < 4) return;
  const std::size_t length = 1 + below(std::min<std::size_t>(32, bytes_.size() / 2));
  const std::size_t first = below(bytes_.size() - 2 * length + 1);
  const std::size_t second = first + length + below(bytes_.size() - first - 2 * length + 1);
  std::swap_ranges(at(bytes_, first), at(bytes_, first + length), at(bytes_, second));
}

void Mutator::repeat_piece() {
  if (bytes_.empty()) return;
  const std::size_t begin = below(bytes_.size());
  const Bytes piece(at(bytes_, begin), at(bytes_, begin + std::min(1 + below(32), bytes_.size() - begin)));
  Bytes all;
  for (std::size_t times = 1 + below(below(8) == 0 ? 128 : 4); times > 0 && all.size() < most_; --times)
    all.insert(all.end(), piece.begin(), piece.end());
  bytes_.insert(at(bytes_, begin), all.begin(), all.end());
}

void Mutator::put(const std::uint8_t* data, std::size_t size) {
  const std::size_t to = bytes_.empty() ? 0 : below(bytes_.size() + 1);
  if (below(2) == 0 && to + size <= bytes_.size())
    std::copy(data, data + size, at(bytes_, to));
  else
    bytes_.insert(at(bytes_, to), data, data + size);
}

void Mutator::put_piece(const Bytes& from) {
  if (from.empty()) return;
  const std::size_t begin = below(from.size());
  const Bytes piece(from.begin() + static_cast<std::ptrdiff_t>(begin),
                    from.begin() + static_cast<std::ptrdiff_t>(begin + std::min(1 + below(64), from.size() - begin)));
  put(piece.data(), piece.size());
}

/// A little-endian 2-, 4- or 8-byte number near a power of two, or near the size of the input.
void Mutator::put_edge_number() {
  const std::size_t width = std::size_t{2} << below(3);
  std::uint64_t value = below(4) == 0 ? bytes_.size() : below(5) == 0 ? 0 : 1ull << below(64);
  value += below(3);
  value -= 1;
  std::uint8_t text[8];
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<std::uint8_t>(value >> (8 * i));
  if (width <= bytes_.size())
    std::copy(text, text + width, at(bytes_, below(bytes_.size() - width + 1)));
  else
    put(text, width);
}

void Mutator::replace_digits() {
  if (bytes_.empty()) return;
  const auto begin = std::find_if(at(bytes_, below(bytes_.size())), bytes_.end(), is_digit);
  const auto end = std::find_if_not(begin, bytes_.end(), is_digit);
  const std::string_view number = kNumbers[below(std::size(kNumbers))];
  if (begin != end) bytes_.insert(bytes_.erase(begin, end), number.begin(), number.end());
}

void Mutator::splice(const Bytes& other) {
  if (bytes_.empty() || other.empty()) return;
  bytes_.resize(below(bytes_.size() + 1));
  bytes_.insert(bytes_.end(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size())), other.end());
}

}  // namespace calkit::fuzz
