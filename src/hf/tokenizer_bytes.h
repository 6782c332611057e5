#pragma once
/// The byte-level alphabet: each of the 256 bytes is written as one printable character in vocabularies.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace calkit::hf {

/// The character that stands for a byte, as UTF-8.
const std::string& byte_symbol(std::uint8_t byte);
/// A text of raw bytes in the alphabet of the vocabulary.
std::string to_symbols(std::string_view bytes);
/// The bytes that a vocabulary entry stands for, or nullopt if one of its characters is not of the alphabet.
std::optional<std::string> from_symbols(std::string_view token);
/// Text with every maximal ill-formed part replaced by U+FFFD, as Rust's from_utf8_lossy does.
std::string replace_invalid_utf8(std::string_view bytes);

/// How many bytes at the end begin a character that more bytes may complete; 0 to 3.
std::size_t unfinished_tail(std::string_view bytes);

}  // namespace calkit::hf
