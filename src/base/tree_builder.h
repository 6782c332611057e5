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

/// Every function returns false once something was refused; error() then says what.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view file, std::uint32_t max_depth) : file_(file), max_depth_(max_depth) {}

  bool scalar(Value value, Position at) { return place(std::move(value), at) != nullptr; }
  bool begin(Value container, Position at);  ///< an empty array or object
  bool key(std::string name) {
    pending_key_ = std::move(name);
    return true;
  }
  bool end();
  /// True when the next event must be a key: inside an object, and no key waits for its value.
  bool wants_key() const { return !open_.empty() && open_.back()->is_object() && !pending_key_; }

  bool refuse(Error error) {
    error_ = std::move(error);
    return false;
  }
  bool refuse(Position at, std::string_view found, std::string_view allowed, std::string hint = {}) {
    return refuse(input_error(at_line(file_, at.line), {}, found, allowed, std::move(hint)));
  }
  std::optional<Error>& error() { return error_; }
  Value take() { return std::move(root_); }

 private:
  Value* place(Value value, Position at);

  std::string_view file_;
  std::uint32_t max_depth_;
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
Status check_text(std::string_view text, std::string_view file, const ReadLimits& limits);

}  // namespace calkit
