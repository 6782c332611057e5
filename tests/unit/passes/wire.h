#pragma once
// ONNX bytes written by hand: what no writer would write.
#include <cstdint>
#include <string>
#include <vector>

namespace calkit::passes::wire {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string number(std::uint32_t field, std::int64_t value) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string bytes(std::uint32_t field, const std::string& payload) {
  return varint(field << 3 | 2) + varint(payload.size()) + payload;
}

// Fields by their numbers in onnx.proto.
inline std::string tensor(const std::string& name, std::int64_t type, const std::vector<std::int64_t>& dims,
                          const std::string& values) {
  std::string out;
  for (const std::int64_t extent : dims) out += number(1, extent);
  return out + number(2, type) + bytes(8, name) + values;
}
inline std::string raw(const std::string& data) {
  return bytes(9, data);
}
inline std::string external(const std::string& location, const std::string& offset, const std::string& length) {
  std::string out = number(14, 1);
  for (const auto& [key, value] : {std::pair{"location", &location}, {"offset", &offset}, {"length", &length}})
    out += bytes(13, bytes(1, key) + bytes(2, *value));
  return out;
}
inline std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output, const std::string& attributes = "") {
  std::string out;
  for (const std::string& input : inputs) out += bytes(1, input);
  return bytes(1, out + bytes(2, output) + bytes(3, name) + bytes(4, op) + attributes);
}
/// @param type 1 float, 2 int, 3 string, 5 graph; @param value its field
inline std::string attribute(const std::string& name, std::int64_t type, const std::string& value) {
  return bytes(5, bytes(1, name) + value + number(20, type));
}
inline std::string value(const std::string& name, std::int64_t type, const std::vector<std::int64_t>& dims) {
  std::string shape;
  for (const std::int64_t extent : dims) shape += bytes(1, number(1, extent));
  return bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, shape)));
}
inline std::string input(const std::string& info) {
  return bytes(11, info);
}
inline std::string output(const std::string& info) {
  return bytes(12, info);
}
inline std::string initializer(const std::string& tensor) {
  return bytes(5, tensor);
}
inline std::string model(const std::string& graph, std::int64_t opset = 17) {
  return number(1, 8) + bytes(7, graph + bytes(2, "g")) + bytes(8, number(2, opset));
}

}  // namespace calkit::passes::wire
