#pragma once
/// What the writer and the reader of evidence records agree on.
#include <string>
#include <string_view>

namespace calkit::manifest {

inline constexpr std::string_view kEvidenceSchema = "calkit.evidence/1";
inline constexpr std::string_view kDigestPrefix = "sha256:";
inline constexpr std::size_t kNameDigits = 8;  ///< hex digits of the content's SHA-256 in a record's file name

/// "<command>-<YYYYMMDDTHHMMSSZ>-<8 hex>.json": the hex digits, or empty if the name is no record's.
std::string_view record_digits(std::string_view file_name);

bool is_lower_hex(std::string_view text, std::size_t length);
bool is_command_name(std::string_view text);  ///< lower-case letters, digits and dashes
bool is_utc_time(std::string_view text);      ///< "2026-01-31T12:00:00Z"

}  // namespace calkit::manifest
