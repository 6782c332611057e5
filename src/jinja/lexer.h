#pragma once
/// Template text as tokens, with Jinja's rules for white space around tags (private to jinja).
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"

namespace calkit::jinja {

enum class Tok : std::uint8_t {
  kData,
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  Tok kind = Tok::kEnd;
  std::string text;  ///< of a string: unescaped; of a number: without underscores
  int line = 1;
};

/// `file` is named in errors.
Result<std::vector<Token>> lex(std::string_view source, const std::string& file);

/// "FILE:LINE: MESSAGE" of kind kInput.
Error template_error(const std::string& file, int line, const std::string& message, std::string hint = {});

}  // namespace calkit::jinja
