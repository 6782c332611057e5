#pragma once
/// What the JSON and the YAML reader share: events in, a Value tree out, with the limits that both keep.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/document.h"

namespace calkit {

/// A 1-based place in the text.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

std::string at_line(std::string_view file, std::uint32_t line);  ///< "FILE:LINE"

/// An input error of a document reader.
Error read_error(ReadProblem problem, std::string_view file, std::string_view found, std::string_view allowed,
                 std::string hint = {});

/// Every function returns false once something was refused; error() then says what.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view file, const ReadLimits& limits) : file_(file), limits_(limits) {}

  bool scalar(Value value, Position at);
  bool begin(Value container, Position at);  ///< an empty array or object
  bool key(std::string name, Position at);
  bool end();
  /// True when the next event must be a key: inside an object, and no key waits for its value.
  bool wants_key() const { return !open_.empty() && open_.back()->is_object() && !pending_key_; }

  bool refuse(Error error) {
    error_ = std::move(error);
    return false;
  }
  bool refuse(ReadProblem problem, Position at, std::string_view found, std::string_view allowed,
              std::string hint = {}) {
    return refuse(read_error(problem, at_line(file_, at.line), found, allowed, std::move(hint)));
  }
  std::optional<Error>& error() { return error_; }
  Value take() { return std::move(root_); }

 private:
  Value* place(Value value, Position at);
  bool count_entry(Position at);
  bool check_length(const std::string& text, Position at);

  std::string_view file_;
  ReadLimits limits_;
  std::uint64_t entries_ = 0;
  Value root_;
  // Stable while open: a container is always its parent's last item, and the parent grows again only after it closed.
  std::vector<Value*> open_;
  std::optional<std::string> pending_key_;
  std::optional<Error> error_;
};

/// What a plain YAML scalar stands for; `problem` is set where YAML versions or readers disagree.
struct PlainScalar {
  Value value;
  std::string problem;
};
PlainScalar read_plain_scalar(std::string_view text);

/// kInput for bad UTF-8, a byte order mark, NUL, and more than max_bytes: what no reader of ours takes.
/// The text to parse: without the byte order mark when the limits let one pass.
Result<std::string_view> check_text(std::string_view text, std::string_view file, const ReadLimits& limits);

}  // namespace calkit
