#include "wire.h"

#include <fmt/format.h>

#include <utility>

namespace calkit::onnx {
namespace {

// Each field costs up to some 200 bytes in memory and as few as two in the file.
constexpr std::uint64_t kMaxFields = 8'000'000;
constexpr int kMaxDepth = 100;  // protobuf's own limit

enum class Message { kModel, kGraph, kNode, kAttribute, kFunction, kLeaf };

// The kinds of message that nest or repeat; everything else is counted as one field.
Message child_of(Message parent, std::uint32_t field) {
  switch (parent) {
    case Message::kModel:
      return field == 7 ? Message::kGraph : field == 25 ? Message::kFunction : Message::kLeaf;
    case Message::kGraph:
      return field == 1 ? Message::kNode : Message::kLeaf;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kLeaf;
    case Message::kAttribute:
      return field == 6 || field == 11 ? Message::kGraph : Message::kLeaf;
    case Message::kFunction:
      return field == 7 ? Message::kNode : field == 11 ? Message::kAttribute : Message::kLeaf;
    case Message::kLeaf:
      break;
  }
  return Message::kLeaf;
}

bool count_fields(Bytes bytes, Message message, int depth, std::uint64_t& count) {
  if (depth > kMaxDepth) return false;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (++count > kMaxFields) return false;
    const Message child = field->wire_type == 2 ? child_of(message, field->number) : Message::kLeaf;
    if (child != Message::kLeaf && !count_fields(field->payload, child, depth + 1, count)) return false;
  }
  return !reader.failed();
}

void append(std::string& text, Bytes bytes) {
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool holds_values(std::uint32_t tensor_field) {
  switch (tensor_field) {
    case 4:   // float_data
    case 5:   // int32_data
    case 6:   // string_data
    case 7:   // int64_data
    case 9:   // raw_data
    case 10:  // double_data
    case 11:  // uint64_data
      return true;
    default:
      return false;
  }
}

std::optional<TensorSlices> slice_tensor(Bytes bytes) {
  TensorSlices out;
  out.whole = bytes;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (!holds_values(field->number)) append(out.header, field->whole);
    if (field->number == 9 && field->wire_type == 2) {
      out.raw = field->payload;
      out.has_raw = true;
    }
  }
  if (reader.failed()) return std::nullopt;
  return out;
}

bool slice_graph(Bytes bytes, ModelSlices& out) {
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number != 5 || field->wire_type != 2) {
      append(out.graph, field->whole);
      continue;
    }
    auto tensor = slice_tensor(field->payload);
    if (!tensor) return false;
    out.initializers.push_back(std::move(*tensor));
  }
  return !reader.failed();
}

Error damaged(const std::string& name, std::size_t at) {
  return input_error(name, "", fmt::format("bytes that are no ONNX model (damaged or cut off in the field at {})", at),
                     "an ONNX ModelProto", "is this an .onnx file, and was it copied completely?");
}

}  // namespace

std::optional<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == bytes_.size()) return std::nullopt;
    const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<WireField> WireReader::next() {
  if (failed_ || at_ == bytes_.size()) return std::nullopt;
  const std::size_t start = at_;
  const auto skip = [&](std::uint64_t length) {
    if (length > bytes_.size() - at_) return false;
    at_ += static_cast<std::size_t>(length);
    return true;
  };
  failed_ = true;  // until the field is known to be whole
  const auto tag = varint();
  if (!tag || (*tag >> 3) == 0 || (*tag >> 3) > 0x1fffffff) return std::nullopt;
  WireField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  field.wire_type = static_cast<std::uint32_t>(*tag & 7);
  if (field.wire_type == 0) {
    if (!varint()) return std::nullopt;
  } else if (field.wire_type == 1 || field.wire_type == 5) {
    if (!skip(field.wire_type == 1 ? 8 : 4)) return std::nullopt;
  } else if (field.wire_type == 2) {
    const auto length = varint();
    if (!length || !skip(*length)) return std::nullopt;
    field.payload = bytes_.subspan(at_ - static_cast<std::size_t>(*length), static_cast<std::size_t>(*length));
  } else {
    return std::nullopt;  // groups are not used by ONNX
  }
  field.whole = bytes_.subspan(start, at_ - start);
  failed_ = false;
  return field;
}

Result<ModelSlices> slice_model(Bytes file, const std::string& name) {
  std::uint64_t fields = 0;
  const bool counted = count_fields(file, Message::kModel, 0, fields);
  if (!counted && fields > kMaxFields)
    return input_error(name, "", "more fields than a model can have", fmt::format("at most {} fields", kMaxFields));
  ModelSlices out;
  WireReader reader(file);
  while (const auto field = reader.next()) {
    if (field->number == 7 && field->wire_type == 2) {
      out.has_graph = true;
      if (!slice_graph(field->payload, out)) return damaged(name, reader.position() - field->whole.size());
    } else {
      append(out.model, field->whole);
    }
  }
  if (reader.failed() || !counted) return damaged(name, reader.position());
  return out;
}

}  // namespace calkit::onnx
