#include "calkit/manifest/op_support.h"

#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/document.h"
#include "element_types.h"

namespace calkit::embedded {
extern const std::string_view ops_emulated, ops_calculet_assumed;
}

namespace calkit::manifest {
namespace {

constexpr std::int64_t kMaxRank = 64, kMaxIndex = 1'000'000;
Status take(const Cursor& at, std::string_view key, std::int64_t min, std::int64_t max,
            std::optional<std::int64_t>& out) {
  if (!at.find(key)) return {};
  CALKIT_TRY(out, at.integer(key, min, max));
  return {};
}

Status take(const Cursor& at, std::string_view key, std::optional<bool>& out) {
  if (!at.find(key)) return {};
  CALKIT_TRY(out, at.boolean(key));
  return {};
}

Status whom(const Cursor& at, OpCondition& out) {
  const int named = (at.find("input") ? 1 : 0) + (at.find("output") ? 1 : 0) + (at.find("attribute") ? 1 : 0);
  if (named != 1) return at.error(fmt::format("{} of input, output and attribute", named), "one of them");
  if (at.find("attribute")) {
    out.of = OpCondition::Of::kAttribute;
    CALKIT_TRY(out.attribute, at.string("attribute"));
    return at.only({"attribute", "present", "one_of", "or_absent"});
  }
  out.of = at.find("input") ? OpCondition::Of::kInput : OpCondition::Of::kOutput;
  CALKIT_TRY(out.index, at.uinteger(at.find("input") ? "input" : "output", 0, kMaxIndex));
  return at.only({"input", "output", "present", "constant", "types", "min_rank", "max_rank", "axis", "static",
                  "multiple_of", "min", "max", "one_of"});
}

Result<OpCondition> parse_condition(const Cursor& at) {
  OpCondition out;
  CALKIT_CHECK_OK(whom(at, out));
  CALKIT_CHECK_OK(take(at, "present", out.present));
  CALKIT_CHECK_OK(take(at, "constant", out.constant));
  CALKIT_TRY(out.types, types_of(at));
  CALKIT_CHECK_OK(take(at, "min_rank", 0, kMaxRank, out.min_rank));
  CALKIT_CHECK_OK(take(at, "max_rank", 0, kMaxRank, out.max_rank));
  CALKIT_CHECK_OK(take(at, "axis", -kMaxRank, kMaxRank - 1, out.axis));
  CALKIT_CHECK_OK(take(at, "multiple_of", 1, INT64_MAX, out.multiple_of));
  CALKIT_CHECK_OK(take(at, "min", 0, INT64_MAX, out.min));
  CALKIT_CHECK_OK(take(at, "max", 0, INT64_MAX, out.max));
  std::optional<bool> fixed, absent;
  CALKIT_CHECK_OK(take(at, "static", fixed));
  CALKIT_CHECK_OK(take(at, "or_absent", absent));
  out.is_static = fixed.value_or(false);
  out.or_absent = absent.value_or(false);
  if (const auto list = at.find("one_of")) {
    CALKIT_TRY(const auto items, list->items());
    for (const Cursor& item : items) out.one_of.push_back(item.value());
    if (items.empty()) return list->error("an empty list", "at least one value");
  }
  const bool about_extent =
      out.multiple_of || out.min || out.max || (!out.one_of.empty() && out.of != OpCondition::Of::kAttribute);
  if (about_extent && !out.axis)
    return at.error("an extent's condition without its axis", "`axis` beside multiple_of, min, max or one_of");
  if ((out.min_rank && out.max_rank && *out.min_rank > *out.max_rank) || (out.min && out.max && *out.min > *out.max))
    return at.error("a lower bound above the upper bound", "bounds that something can keep");
  return out;
}

Result<OpRow> parse_row(const Cursor& at) {
  CALKIT_CHECK_OK(at.only(
      {"ops", "types", "min_opset", "max_opset", "where", "run", "kernel", "status", "assumed", "source", "note"}));
  OpRow row;
  CALKIT_TRY(row.ops, words(at, "ops"));
  for (const std::string& op : row.ops)
    if (op.find(':') == std::string::npos || op.front() == ':' || op.back() == ':')
      return at.error(fmt::format("operator \"{}\"", op), "domain:type, such as ai.onnx:MatMul");
  CALKIT_TRY(row.types, types_of(at));
  CALKIT_CHECK_OK(take(at, "min_opset", 1, 1'000'000, row.min_opset));
  CALKIT_CHECK_OK(take(at, "max_opset", 1, 1'000'000, row.max_opset));
  if (const auto where = at.find("where")) {
    CALKIT_TRY(const auto items, where->items());
    for (const Cursor& item : items) {
      CALKIT_TRY(OpCondition condition, parse_condition(item));
      row.where.push_back(std::move(condition));
    }
  }
  CALKIT_TRY(const Cursor run, at.at("run"));
  CALKIT_TRY(const std::string word, run.as_word({"npu", "cpu", "needs-kernel"}));
  row.run = word == "npu" ? OpRow::Run::kNpu : word == "cpu" ? OpRow::Run::kCpu : OpRow::Run::kNeedsKernel;
  if (at.find("kernel")) {
    CALKIT_TRY(row.kernel, at.string("kernel"));
  }
  CALKIT_TRY(const Cursor status, at.at("status"));
  CALKIT_TRY(row.status, status.as_word({"C0", "C1", "C2", "C3", "C4"}));
  CALKIT_TRY(row.assumed, at.boolean("assumed"));
  CALKIT_TRY(row.source, at.string("source"));
  CALKIT_TRY(row.note, at.string("note"));
  if (row.source.empty()) return at.error("an empty source", "who says so");
  if (row.note.empty()) return at.error("an empty note", "a sentence on what runs, or why not");
  return row;
}

Result<OpSupport> parse(const Cursor& root) {
  CALKIT_CHECK_OK(root.only({"schema", "target", "device_version", "revision", "rows"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({"calkit.op-support/1"}));
  static_cast<void>(word);
  OpSupport out;
  out.file = root.file();
  CALKIT_TRY(out.target, root.string("target"));
  CALKIT_TRY(out.device_version, root.string("device_version"));
  CALKIT_TRY(out.revision, root.integer("revision", 1));
  CALKIT_TRY(const Cursor rows, root.at("rows"));
  CALKIT_TRY(const auto items, rows.items());
  if (items.empty()) return rows.error("no rows", "at least one");
  for (const Cursor& item : items) {
    CALKIT_TRY(OpRow row, parse_row(item));
    out.rows.push_back(std::move(row));
  }
  return out;
}

Result<OpSupport> parse_text(std::string_view text, const std::string& file) {
  CALKIT_TRY(const Value document, parse_yaml(text, file));
  return parse(Cursor(document, file));
}

}  // namespace

Result<OpSupport> read_op_support(const std::filesystem::path& path) {
  CALKIT_TRY(const Value document, read_yaml(path), "reading the operator support matrix");
  return parse(Cursor(document, path.string()));
}

Result<const OpSupport*> built_in_op_support(std::string_view name) {
  static const Result<OpSupport> emulated =
      parse_text(embedded::ops_emulated, "built-in manifests/support/ops-emulated.yaml");
  static const Result<OpSupport> assumed =
      parse_text(embedded::ops_calculet_assumed, "built-in manifests/support/ops-calculet-assumed.yaml");
  if (name != "emulated" && name != "calculet-assumed")
    return Error(ErrorKind::kUsage, fmt::format("there is no built-in support matrix '{}'", name),
                 "emulated, calculet-assumed, or the path of a file");
  const Result<OpSupport>& chosen = name == "emulated" ? emulated : assumed;
  if (!chosen.ok()) return chosen.error();
  return &*chosen;
}

}  // namespace calkit::manifest
