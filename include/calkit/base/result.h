#pragma once
/// Result<T>: a value or an Error. Fallible functions return it; nothing in the library throws on purpose, prints or
/// exits.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace calkit {

/// What went wrong, as programs branch on it. The binary maps a kind to an exit code (docs/architecture.md):
/// kUsage 2 · kInput, kIo, kIncomplete 3 · kDevice, kTimeout 4 · kInternal 70 · kInterrupted 130.
enum class ErrorKind {
  kUsage,        ///< the command line or an API argument is wrong
  kInput,        ///< an input is missing, malformed, refused or contradicts another
  kIo,           ///< the system refused: cannot read, cannot write, disk full
  kIncomplete,   ///< a check could not be completed; there is no verdict
  kDevice,       ///< the device or its runtime failed
  kTimeout,      ///< a deadline passed
  kInternal,     ///< a defect in calkit
  kInterrupted,  ///< SIGINT or SIGTERM; nothing half-written is left
};

/// What a document reader refused, for callers that treat the cases differently.
enum class ReadProblem : unsigned char {
  kNone,          ///< not an error of a document reader
  kSyntax,        ///< no document of its format
  kEncoding,      ///< not UTF-8, a NUL byte, a byte order mark
  kDuplicateKey,  ///< one key twice in an object
  kNumber,        ///< an integer beyond 64 bits, -0, a double that overflows
  kScalar,        ///< a YAML scalar that readers take differently: 010, no, .nan
  kYamlFeature,   ///< an anchor, alias, tag, merge key, directive or second document
  kLimit,         ///< more bytes, levels, entries or longer strings than allowed
};

/// An error as it is shown to a person: `message` says where, what was found and what is allowed; `hint` says what to
/// do.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
  std::string hint;
  std::vector<std::string> context;  ///< "while ..." frames, innermost first
  ReadProblem read_problem = ReadProblem::kNone;

  Error(ErrorKind error_kind, std::string text, std::string what_to_do = {})
      : kind(error_kind), message(std::move(text)), hint(std::move(what_to_do)) {}

  /// Adds a frame: `reading the tokenizer`. Empty frames are dropped.
  Error&& during(std::string frame) &&;
};

/// The usual input error: "FILE: FIELD: found FOUND; allowed: ALLOWED". Empty parts are left out.
/// @param field a JSON pointer (`/head_dim`), a tensor name or another place inside the file.
Error input_error(std::string_view file, std::string_view field, std::string_view found, std::string_view allowed,
                  std::string hint = {});

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// The answer of a function that has nothing to return. `return {};` is success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace calkit

#define CALKIT_CONCAT_(a, b) a##b
#define CALKIT_CONCAT(a, b) CALKIT_CONCAT_(a, b)

/// CALKIT_TRY(const auto spec, read_spec(file), "reading config.json"): declares the value or returns the error with a
/// frame. The frame (third argument) is optional and is only evaluated on failure.
#define CALKIT_TRY(declaration, expression, ...)                                                        \
  auto CALKIT_CONCAT(calkit_result_, __LINE__) = (expression);                                          \
  if (!CALKIT_CONCAT(calkit_result_, __LINE__).ok())                                                    \
    return std::move(CALKIT_CONCAT(calkit_result_, __LINE__)).error().during(std::string{__VA_ARGS__}); \
  declaration = std::move(CALKIT_CONCAT(calkit_result_, __LINE__)).value()

/// CALKIT_CHECK_OK(write(report), "writing the report"): returns the error, if there is one, with a frame.
#define CALKIT_CHECK_OK(expression, ...)                                        \
  do {                                                                          \
    if (auto calkit_status = (expression); !calkit_status.ok())                 \
      return std::move(calkit_status).error().during(std::string{__VA_ARGS__}); \
  } while (false)
