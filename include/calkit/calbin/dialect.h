#pragma once
/// Dialects: how one producer's description of a package becomes the canonical one. A dialect is data (docs/formats/
/// dialects.md): a list of mappings from the producer's keys to fields of calbin.json, read by a closed set of parsers.
/// It translates and never repairs: what a parser cannot read is carried over for the rules to see.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"
#include "calkit/calbin/reading.h"

namespace calkit::calbin {

enum class Parser {
  kText,         ///< a string
  kRawText,      ///< a string, or the spelling of a number
  kInt,          ///< an integer, times `scale`
  kNumber,       ///< any number
  kBool,         ///< true or false
  kHexU64,       ///< "0x..." in any case -> lower case without leading zeros
  kU64,          ///< an integer >= 0 -> "0x..."
  kQuantity,     ///< "16 MiB" -> bytes, by `units`
  kBitmaskList,  ///< [0, 1] -> "0x3"
  kShapeString,  ///< "1x32" -> [1, 32]; "scalar" -> []
  kEnum,         ///< one word for another
  kSemver,       ///< "v1.2.3" -> "1.2.3"
  kDigest,       ///< 64 hex digits -> "sha256:..."
  kTime,         ///< seconds since 1970 -> "2026-01-02T03:04:05Z"
  kItems,        ///< a list of things: as many items, which other mappings fill
  kKey,          ///< the name under which an object keeps one of a list of things
  kCopy,         ///< the value as it is, whatever it holds
};
std::string_view parser_name(Parser parser);

/// A JSON pointer whose steps may be `*`: every place of a list.
struct Pattern {
  std::string text;
  std::vector<std::string> steps;
};

struct Mapping {
  Pattern from, to;
  Parser parse = Parser::kCopy;
  std::vector<std::pair<std::string, std::uint64_t>> units;  ///< of kQuantity
  bool unit_required = true;                                 ///< of kQuantity; false: a bare integer is bytes
  std::vector<std::pair<std::string, std::string>> words;    ///< of kEnum: producer's, canonical
  std::uint64_t scale = 1;                                   ///< of kInt
  bool assumed = false;                                      ///< the producer has not confirmed this key
  std::string quirk;                                         ///< what to know about this key; changes nothing
};

struct Dialect {
  std::string id, version, digest;  ///< digest: "sha256:..." of the dialect's own file
  std::string source;               ///< the file it was read from, for messages
  std::string file;                 ///< the producer's description: JSON, or YAML by its ending
  std::vector<Pattern> has;         ///< what must be there for the dialect to match
  bool canonical = false;           ///< the file is the canonical form itself
  bool unmapped_is_error = false;
  std::vector<Pattern> ignored;
  std::vector<Mapping> map;
};

/// Reads a dialect, schema calkit.dialect/1. kInput names line and key.
Result<Dialect> parse_dialect(std::string_view yaml, std::string_view file);
/// Every `to` is a field of calbin.json and every word of an `enum` one that this field takes. kInput names line and
/// key.
Status check_dialect_targets(std::string_view yaml, std::string_view file);
/// The dialects the library ships: calkit-emu and calrt-0.7.
const Result<std::vector<Dialect>>& shipped_dialects();
/// The shipped ones and every *.yaml of `dir`, in the order of their names. kInput: two with one id and version.
Result<std::vector<Dialect>> dialects_with(const std::filesystem::path& dir);

/// A file of the package by its relative path.
using ReadFile = std::function<Result<std::string>(std::string_view relative)>;

struct Source {
  std::string pointer;                 ///< in the producer's file
  std::uint32_t line = 0, column = 0;  ///< of the value; of an absent one: of the nearest thing around it
  std::string raw;                     ///< the value's text; empty: absent
};
struct UnmappedKey {
  std::string pointer;
  std::uint32_t line = 0;
  std::string nearest;  ///< a key the dialect knows, or empty
};

/// A description in the canonical form, and where each value came from.
class Canonical {
 public:
  Value document;    ///< lines and columns are those of `file`
  std::string file;  ///< the producer's description, relative to the package
  std::string file_digest;
  std::string dialect, dialect_version, dialect_digest;
  bool byte_order_mark = false;      ///< the file begins with one
  bool is_canonical = false;         ///< `file` holds the canonical form itself
  std::vector<std::string> assumed;  ///< the producer's keys that were read by an assumed mapping, as patterns
  std::vector<std::pair<std::string, std::string>> quirks;  ///< producer's key, note
  std::vector<UnmappedKey> unmapped;
  bool unmapped_is_error = false;
  std::vector<std::size_t> used;  ///< mappings that found something, by their place in the dialect

  /// Where the value of this canonical pointer is, or should be, in the producer's file.
  Source source(std::string_view canonical) const;
  /// Every canonical value that was translated.
  std::map<std::string, Source> source_map() const;

 private:
  friend class Translation;
  friend Canonical translate(Value producer, const Dialect& dialect);
  struct Origin {
    std::string pointer;
    const Value* value = nullptr;  ///< inside `producer_`
    bool whole = false;            ///< what lies below has the same pointer below it
  };
  std::shared_ptr<const Value> producer_;  ///< nullptr when the file is canonical itself
  std::map<std::string, Origin, std::less<>> origins_;
  std::vector<std::pair<Pattern, Pattern>> pairs_;  ///< to, from
};

/// Finds the one dialect that fits and translates. kInput when none or two fit, telling why for each, and when the
/// description cannot be parsed.
/// @param place what messages put before the names of files; empty: the names alone.
Result<Canonical> translate(const ReadFile& read, const std::vector<Dialect>& dialects, std::string_view place = {},
                            const ReadLimits& limits = kDescriptionLimits);
/// The same for one dialect and a description at hand.
Canonical translate(Value producer, const Dialect& dialect);

/// The other way: the producer's file for a canonical description. translate() of it gives the description again;
/// kInput names a field that this dialect cannot say.
Result<Value> to_dialect(const Value& canonical, const Dialect& dialect);

}  // namespace calkit::calbin
