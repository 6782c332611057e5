#pragma once
/// A mutated package, told by bytes: the input is a program of small edits to a good package's description and files.
///   flags, then edits of four bytes each: kind, place (two bytes), argument. docs/fuzzing.md has the kinds.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "calkit/base/value.h"

namespace calkit::fuzz {

struct EditedPackage {
  Value document;
  std::map<std::string, std::string> files;  ///< without calbin.json
  std::string text;                          ///< calbin.json
  bool rehashed = false, resealed = false;
  bool text_edited = false;  ///< after the document was written: `document` no longer tells what it holds
};
/// Applies the program; the first two bits of the flags ask for new hashes and a new seal.
EditedPackage edit_package(const Value& document, const std::map<std::string, std::string>& files,
                           std::span<const std::uint8_t> program);

}  // namespace calkit::fuzz
