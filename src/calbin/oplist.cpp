#include "calkit/calbin/oplist.h"

#include <fmt/format.h>

#include "calkit/base/text.h"
#include "reader.h"

namespace calkit::calbin {

namespace {

constexpr std::int64_t kMaxInt64 = INT64_MAX;
constexpr std::size_t kMaxRank = 16;

std::vector<Extent> read_extents(Reader& in, const Node& parent) {
  std::vector<Extent> out;
  const Node list = Reader::member(parent, "shape");
  const auto* items = list.value != nullptr ? list.value->if_array() : nullptr;
  if (items == nullptr || items->size() > kMaxRank) {
    in.problem(list.present() ? ProblemKind::kWrongType : ProblemKind::kMissing, list,
               list.value == nullptr ? "nothing" : list.value->describe(),
               fmt::format("an array of at most {} extents", kMaxRank));
    return out;
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node item{&(*items)[i], &list, {}, i};
    if (const auto* symbol = item.value->if_string()) {
      if (*symbol != "B" && *symbol != "S")
        in.problem(ProblemKind::kWrongType, item, item.value->describe(), "a number, \"B\" or \"S\"");
      out.emplace_back().value = *symbol;
    } else {
      out.emplace_back().value = in.integer_of(item, 0, static_cast<std::int64_t>(kMaxPlainInteger)).value_or(0);
    }
  }
  return out;
}

Operand read_operand(Reader& in, const Node& at) {
  in.only(at, {"name", "region", "base", "size", "dtype", "shape", "absent", "csr"});
  Operand out;
  out.absent = in.boolean(at, "absent", Need::kOptional);
  out.name = in.text(at, "name", out.absent ? Need::kOptional : Need::kRequired);
  if (out.absent) return out;
  out.csr = in.text(at, "csr", Need::kOptional);
  const Need memory = out.csr.empty() ? Need::kRequired : Need::kOptional;
  out.region = in.text(at, "region", memory);
  out.base = in.hex(at, "base", memory);
  out.size = in.size(at, "size", memory);
  out.dtype = in.dtype(at, "dtype");
  out.shape = read_extents(in, at);
  return out;
}

OpAttribute read_attribute(Reader& in, const Node& at) {
  in.only(at, {"name", "int", "float", "string", "ints"});
  OpAttribute out;
  out.name = in.text(at, "name");
  int values = 0;
  if (const Node node = Reader::member(at, "int"); node.present()) {
    ++values;
    out.value = in.integer_of(node, INT64_MIN, kMaxInt64).value_or(0);
  }
  if (Reader::member(at, "float").present()) {
    ++values;
    out.value = static_cast<float>(in.number(at, "float"));
  }
  if (Reader::member(at, "string").present()) {
    ++values;
    out.value = in.text(at, "string", Need::kOptional);
  }
  if (const Node list = Reader::member(at, "ints"); list.present()) {
    ++values;
    std::vector<std::int64_t> ints;
    if (const auto* items = list.value->if_array())
      for (std::size_t i = 0; i < items->size(); ++i)
        ints.push_back(in.integer_of({&(*items)[i], &list, {}, i}, INT64_MIN, kMaxInt64).value_or(0));
    else
      in.problem(ProblemKind::kWrongType, list, list.value->describe(), "an array of integers");
    out.value = std::move(ints);
  }
  if (values != 1)
    in.problem(values == 0 ? ProblemKind::kMissing : ProblemKind::kWrongType, at, fmt::format("{} values", values),
               "exactly one of int, float, string, ints");
  return out;
}

Op read_op(Reader& in, const Node& at) {
  in.only(at, {"id", "type", "domain", "name", "attributes", "reads", "writes"});
  Op out;
  out.id = in.integer(at, "id", 0, kMaxInt64);
  out.type = in.text(at, "type");
  out.domain = in.text(at, "domain", Need::kOptional);
  out.name = in.text(at, "name", Need::kOptional);
  in.objects(
      at, "attributes", [&](const Node& item) { out.attributes.push_back(read_attribute(in, item)); }, Need::kOptional);
  in.objects(at, "reads", [&](const Node& item) { out.reads.push_back(read_operand(in, item)); });
  in.objects(at, "writes", [&](const Node& item) { out.writes.push_back(read_operand(in, item)); });
  return out;
}

Value operand_value(const Operand& o) {
  Value out = Value::object();
  if (!o.name.empty()) out.set("name", o.name);
  if (o.absent) {
    out.set("absent", true);
    return out;
  }
  if (!o.csr.empty()) out.set("csr", o.csr);
  if (!o.region.empty()) out.set("region", o.region);
  if (o.csr.empty() || o.base != 0) out.set("base", hex_u64(o.base));
  if (o.csr.empty() || o.size != 0) out.set("size", o.size);
  out.set("dtype", dtype_name(o.dtype));
  Value shape = Value::array();
  for (const auto& extent : o.shape) std::visit([&](const auto& value) { shape.push(value); }, extent.value);
  out.set("shape", std::move(shape));
  return out;
}

Value attribute_value(const OpAttribute& a) {
  Value out = Value::object({{"name", a.name}});
  if (const auto* i = std::get_if<std::int64_t>(&a.value)) out.set("int", *i);
  if (const auto* f = std::get_if<float>(&a.value)) out.set("float", static_cast<double>(*f));
  if (const auto* s = std::get_if<std::string>(&a.value)) out.set("string", *s);
  if (const auto* v = std::get_if<std::vector<std::int64_t>>(&a.value)) out.set("ints", Value::list(*v));
  return out;
}

Value op_value(const Op& op) {
  Value out = Value::object({{"id", op.id}, {"type", op.type}});
  if (!op.domain.empty()) out.set("domain", op.domain);
  if (!op.name.empty()) out.set("name", op.name);
  Value attributes = Value::array(), reads = Value::array(), writes = Value::array();
  for (const auto& attribute : op.attributes) attributes.push(attribute_value(attribute));
  for (const auto& operand : op.reads) reads.push(operand_value(operand));
  for (const auto& operand : op.writes) writes.push(operand_value(operand));
  if (!op.attributes.empty()) out.set("attributes", std::move(attributes));
  out.set("reads", std::move(reads));
  out.set("writes", std::move(writes));
  return out;
}

}  // namespace

Result<OpList> parse_oplist(const Cursor& cursor) {
  std::vector<Problem> problems;
  Reader in(problems);
  const std::string prefix = cursor.pointer();
  const Node root{&cursor.value(), nullptr, prefix};
  OpList out;
  if (!cursor.value().is_object()) return cursor.error(cursor.value().describe(), "an object");
  if (in.word(root, "schema", {"calkit.oplist/1"}).empty()) return error_of(problems.front(), cursor.file());
  in.only(root, {"schema", "submodel", "chip", "ops"});
  out.submodel = in.text(root, "submodel");
  out.chip = in.integer(root, "chip", 0, 63);
  in.objects(root, "ops", [&](const Node& item) { out.ops.push_back(read_op(in, item)); });
  if (!problems.empty()) return error_of(problems.front(), cursor.file());
  return out;
}

Value to_value(const OpList& oplist) {
  Value ops = Value::array();
  for (const auto& op : oplist.ops) ops.push(op_value(op));
  return Value::object(
      {{"schema", "calkit.oplist/1"}, {"submodel", oplist.submodel}, {"chip", oplist.chip}, {"ops", std::move(ops)}});
}

}  // namespace calkit::calbin
