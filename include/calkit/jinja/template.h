#pragma once
/// Chat templates: a sandboxed interpreter of the Jinja that they use. What it renders equals Jinja2 3.1.6 byte for
/// byte, in the environment that Transformers sets up: trim_blocks, lstrip_blocks, break and continue, {% generation
/// %}, tojson in the order of the input, raise_exception, strftime_now; lists and dicts are immutable. No file, no
/// network, no clock but the pinned one. What it cannot evaluate is an error that names file, line and feature; it
/// never falls back to anything (docs/formats/chat-template.md).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "calkit/base/result.h"
#include "calkit/base/value.h"

namespace calkit::jinja {

/// What a template may use up before it is stopped with an error that names the limit.
struct Limits {
  std::uint64_t steps = 20'000'000;          ///< expressions, statements, items and 64-byte pieces of text looked at
  std::uint64_t value_bytes = 256ull << 20;  ///< of all values made along the way, freed ones included
  std::uint64_t output_bytes = 64ull << 20;  ///< of the rendered text
  std::uint32_t depth = 1000;                ///< nested expressions, statements and macro calls
};

struct RenderOptions {
  /// What strftime_now reads, as seconds since 1970 in UTC. Without it the name is not defined, as in an environment
  /// that supplies no clock.
  std::optional<std::int64_t> clock;
  Limits limits;
};

struct Rendered {
  std::string text;
  bool clock_read = false;  ///< strftime_now was called
};

class Template {
 public:
  /// kInput names `file`, the line and what is wrong or not supported. Time is linear in the text.
  static Result<Template> parse(std::string_view text, std::string_view file);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// @param context an object: the variables, members in their order.
  /// kInput: an operation that Jinja2 refuses too, raise_exception (the message holds the template's own words behind
  /// "the template says: "), a feature that is not supported, a limit.
  Result<Rendered> render(const Value& context, const RenderOptions& options = {}) const;

  /// The template names strftime_now somewhere: its text may depend on the day.
  bool mentions_clock() const;

 private:
  struct State;
  explicit Template(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit::jinja
