#pragma once
/// Reading calbin.json without giving up at the first problem: what lint needs. parse_description() is this plus "no
/// problem allowed", so the strict reader and lint cannot disagree about what a good description is.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/calbin/package.h"

namespace calkit::calbin {

/// What a description may have at most, whoever reads it; a byte order mark passes (lint warns of it).
inline constexpr ReadLimits kDescriptionLimits = {.max_bytes = 100'000'000,
                                                  .max_depth = 64,
                                                  .max_entries = 1'000'000,
                                                  .max_string = 64 << 10,
                                                  .byte_order_mark = true};

/// What a submodel can be. The reader takes any text, so that lint can tell what stands there.
inline constexpr std::array<std::string_view, 3> kSubmodelTypes = {"prefill", "decode", "kv_update"};

enum class ProblemKind {
  kSchema,       ///< `schema` is not 1: nothing else was read
  kMissing,      ///< a required field is absent, or names something the description does not have
  kUnknownKey,   ///< no such field (keys that begin with `x-` are allowed)
  kWrongType,    ///< another JSON type, or a word that is not one of the allowed ones
  kOutOfRange,   ///< negative, above 2^53-1, above 64 bits, or outside the field's own bounds
  kDigest,       ///< not `sha256:` and 64 hex digits
  kDigestCase,   ///< upper-case hex: equal after decoding; parse_description() lets it pass
  kDuplicateId,  ///< two files, regions, schemes, tensors of a list or blocks of a chip have one id or name
  kOrigin,       ///< a fact of the provenance is absent, and no reason stands in its place: CB1101 tells
  kSeal,         ///< `seal` is not that of the document: it was changed after it was sealed
};

struct Problem {
  ProblemKind kind = ProblemKind::kMissing;
  std::string pointer;     ///< JSON pointer of the field; of a missing one: where it should be
  std::uint32_t line = 0;  ///< of the field, or of the object that lacks it
  std::string found, allowed, hint;
  bool understood =
      false;  ///< the value was taken over all the same (a too large but exact integer, an upper-case digest)
};

struct Reading {
  Description description;  ///< fields with a problem keep their default; list items keep their index
  std::vector<Problem> problems;
};
/// "sha256:<hex>" over the canonical text (RFC 8785; integers keep all digits) of a calbin.json without its member
/// `seal`. Extension keys (x-...) are covered. Whoever changes a document reseals it:
/// `document.set("seal", seal_of(document))`.
std::string seal_of(const Value& document);

/// Reads everything that can be read; never fails.
Reading read_description(const Cursor& root);

/// The line of a JSON pointer, or of its nearest parent that exists; 0 when the document was not read from a file.
std::uint32_t line_of(const Value& root, std::string_view pointer);

}  // namespace calkit::calbin
