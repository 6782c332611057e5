#pragma once
/// The parts of the writer of calbin.json. Optional fields that hold nothing are left out.
#include <map>
#include <string>
#include <string_view>

#include "calkit/calbin/package.h"

namespace calkit::calbin {

inline Value text_or_null(const std::string& text) {
  return text.empty() ? Value(nullptr) : Value(text);
}

inline void set_if(Value& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out.set(key, text);
}

inline Value map_value(const std::map<std::string, std::string>& map) {
  Value out = Value::object();
  for (const auto& [key, text] : map) out.set(key, text);
  return out;
}

inline Value chip_map_value(const std::map<std::int64_t, std::string>& map) {
  Value out = Value::object();
  for (const auto& [chip, id] : map) out.set(std::to_string(chip), id);
  return out;
}

template <class Range, class Make>
inline Value array_of(const Range& range, Make make) {
  Value out = Value::array();
  for (const auto& item : range) out.push(make(item));
  return out;
}

Value submodel_value(const Submodel& submodel);
Value ccu_value(const Ccu& ccu);
Value d2d_value(const D2d& d2d);
Value quant_value(const Quant& quant);
Value provenance_value(const Provenance& provenance);
Value golden_value(const Golden& golden);
Value signature_value(const Signature& signature);

}  // namespace calkit::calbin
