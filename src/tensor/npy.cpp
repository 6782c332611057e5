#include "npy.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>

#include "calkit/base/checked.h"

namespace calkit::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY\x01";
constexpr std::size_t kPrefix = 10;  // magic, version, header length
constexpr std::size_t kMaxRank = 8;

struct Descr {
  std::string_view text;
  DType dtype;
};
constexpr std::array<Descr, 12> kDescrs = {{{"<f4", DType::kF32},
                                            {"<f8", DType::kF64},
                                            {"<f2", DType::kF16},
                                            {"|i1", DType::kI8},
                                            {"|u1", DType::kU8},
                                            {"<i2", DType::kI16},
                                            {"<u2", DType::kU16},
                                            {"<i4", DType::kI32},
                                            {"<u4", DType::kU32},
                                            {"<i8", DType::kI64},
                                            {"<u8", DType::kU64},
                                            {"|b1", DType::kBool}}};

struct Fields {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// Reads the dictionary literal that numpy writes. Nothing is evaluated; anything else is refused.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  Result<Fields> run() {
    Fields fields;
    CALKIT_CHECK_OK(expect('{'));
    while (!take('}')) {
      CALKIT_TRY(const std::string key, quoted());
      CALKIT_CHECK_OK(expect(':'));
      CALKIT_CHECK_OK(member(key, fields));
      if (take(',')) continue;
      CALKIT_CHECK_OK(expect('}'));
      break;
    }
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '\n') ++at_;
    if (at_ != text_.size()) return bad("text behind the dictionary");
    return fields;
  }

 private:
  Status member(const std::string& key, Fields& fields) {
    if (key == "descr" && !fields.descr) {
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == '[') return bad("a structured descr");
      CALKIT_TRY(fields.descr, quoted());
      return {};
    }
    if (key == "fortran_order" && !fields.fortran_order) {
      CALKIT_TRY(fields.fortran_order, boolean());
      return {};
    }
    if (key == "shape" && !fields.shape) {
      CALKIT_TRY(fields.shape, tuple());
      return {};
    }
    return bad(fmt::format("an unknown or repeated key '{}'", key.substr(0, 40)));
  }

  Result<std::string> quoted() {
    skip_blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      return bad("no quoted text where one belongs");
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return bad("a text without an end");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    if (out.find('\\') != std::string::npos) return bad("an escape in a text");
    at_ = end + 1;
    return out;
  }

  Result<bool> boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    return bad("fortran_order that is neither True nor False");
  }

  Result<Shape> tuple() {
    Shape shape;
    CALKIT_CHECK_OK(expect('('));
    while (!take(')')) {
      CALKIT_TRY(const std::int64_t extent, number());
      if (shape.size() == kMaxRank) return bad(fmt::format("more than {} dimensions", kMaxRank));
      shape.push_back(extent);
      if (take(',')) continue;
      if (shape.size() < 2) return bad("a shape that is no tuple");  // Python's (5) is a number, (5,) a tuple
      CALKIT_CHECK_OK(expect(')'));
      break;
    }
    return shape;
  }

  Result<std::int64_t> number() {
    skip_blanks();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto tens = checked_mul<std::int64_t>(value, 10);
      const auto next = tens ? checked_add<std::int64_t>(*tens, text_[at_] - '0') : std::nullopt;
      if (!next) return bad("an extent above 2^63 - 1");
      value = *next;
    }
    if (at_ == begin) return bad("an extent that is no plain decimal number");
    return value;
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status expect(char c) { return take(c) ? Status() : Status(bad(fmt::format("no '{}' where one belongs", c))); }

  Error bad(std::string_view found) const {
    return input_error(where_, fmt::format("npy header byte {}", at_), found,
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
};

Result<DType> dtype_of(const std::string& descr, std::string_view where) {
  for (const Descr& known : kDescrs)
    if (known.text == descr) return known.dtype;
  std::string hint;
  if (descr.ends_with("V2"))
    hint = "raw 2-byte elements are usually BF16 whose type was lost; save it widened to float32";
  else if (descr.starts_with('>'))
    hint = "big-endian data; save it with array.astype(array.dtype.newbyteorder('<'))";
  else if (descr.starts_with("|O"))
    hint = "Python objects are never read; save plain arrays with allow_pickle=False";
  return input_error(where, "descr", fmt::format("'{}'", descr.substr(0, 40)),
                     "<f2 <f4 <f8 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 |b1", hint);
}

}  // namespace

Result<std::string> header(DType dtype, const Shape& shape) {
  if (shape.size() > kMaxRank)
    return Error{ErrorKind::kInput,
                 fmt::format("rank is {}; npy files of calkit have at most {}", shape.size(), kMaxRank)};
  const DType stored = dtype == DType::kBF16 ? DType::kF32 : dtype;
  std::string_view descr;
  for (const Descr& known : kDescrs)
    if (known.dtype == stored) descr = known.text;
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  dict.append(63 - (kPrefix + dict.size()) % 64, ' ');  // numpy aligns the data to 64 bytes
  dict += '\n';
  std::string out(kMagic);
  out += '\0';
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

Result<Tensor> parse(std::span<const std::byte> bytes, std::string_view where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.size() < kPrefix || !text.starts_with(kMagic) || text[7] != '\0')
    return input_error(where, "npy magic", "other bytes", "\\x93NUMPY version 1.0",
                       "write the file with numpy.save or numpy.savez");
  const std::size_t length = static_cast<std::uint8_t>(text[8]) + 256u * static_cast<std::uint8_t>(text[9]);
  if (!range_inside(kPrefix, length, bytes.size()))
    return input_error(where, "npy header length", fmt::format("{}", length),
                       fmt::format("at most {}", bytes.size() - kPrefix));
  CALKIT_TRY(const Fields fields, HeaderParser(text.substr(kPrefix, length), where).run());
  if (!fields.descr || !fields.fortran_order || !fields.shape)
    return input_error(where, "npy header", "a missing key", "descr, fortran_order and shape");
  if (*fields.fortran_order)
    return input_error(where, "fortran_order", "True", "False", "save numpy.ascontiguousarray(array)");
  CALKIT_TRY(const DType dtype, dtype_of(*fields.descr, where));
  // The size is compared before anything is allocated: a shape alone justifies no memory.
  const auto wanted = checked_product(*fields.shape, dtype_bytes(dtype));
  const std::size_t held = bytes.size() - kPrefix - length;
  if (!wanted || *wanted != held)
    return input_error(where, "shape", fmt::format("{} of {}", shape_text(*fields.shape), dtype_name(dtype)),
                       fmt::format("the {} bytes of data there are", held), "the file is cut or damaged");
  CALKIT_TRY(Tensor out, Tensor::zeros(dtype, *fields.shape));
  if (held != 0) std::memcpy(out.mutable_raw(), bytes.data() + kPrefix + length, held);
  return out;
}

}  // namespace calkit::npy
