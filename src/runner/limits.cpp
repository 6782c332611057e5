#include "calkit/runner/limits.h"

#include <fmt/format.h>

#include "calkit/base/document.h"

namespace calkit::embedded {
extern const std::string_view runner_thresholds;
}

namespace calkit::runner {
namespace {

Result<double> number_within(const Cursor& at, std::string_view key, double max) {
  CALKIT_TRY(const double value, at.number(key));
  CALKIT_TRY(const Cursor field, at.at(key));
  if (value < 0 || value > max) return field.error(fmt::format("{}", value), fmt::format("0 to {}", max));
  return value;
}

Result<Limits> parse_limits(const Value& document, const std::string& file, const std::string& dtype) {
  const Cursor root(document, file);
  CALKIT_CHECK_OK(root.only({"schema", "command", "owner", "status", "limits"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(std::string ignored, schema.as_word({"calkit.thresholds/1"}));
  CALKIT_TRY(const Cursor command, root.at("command"));
  CALKIT_TRY(ignored, command.as_word({"runner"}));
  CALKIT_TRY(const Cursor status, root.at("status"));
  CALKIT_TRY(const Cursor by_dtype, root.at("limits"));
  CALKIT_CHECK_OK(by_dtype.only({"fp32", "bf16"}));
  CALKIT_TRY(const Cursor at, by_dtype.at(dtype));
  CALKIT_CHECK_OK(at.only({"nmse", "margin", "excused_share", "reason"}));

  Limits limits;
  limits.dtype = dtype;
  limits.source = file;
  CALKIT_TRY(limits.owner, root.string("owner"));
  CALKIT_TRY(limits.status, status.as_word({"C0", "C1", "C2", "C3", "C4"}));
  CALKIT_TRY(limits.nmse, number_within(at, "nmse", 1.0));
  CALKIT_TRY(limits.margin, number_within(at, "margin", 1e6));
  CALKIT_TRY(limits.excused_share, number_within(at, "excused_share", 1.0));
  CALKIT_TRY(limits.reason, at.string("reason"));
  if (limits.reason.empty()) return at.error("an empty reason", "one sentence that says why these limits are right");
  return limits;
}

}  // namespace

Result<Limits> read_limits(const std::filesystem::path& thresholds, const std::string& dtype) {
  CALKIT_TRY(const Value document, read_yaml(thresholds));
  return parse_limits(document, thresholds.string(), dtype);
}

Result<Limits> default_limits(const std::string& dtype) {
  CALKIT_TRY(const Value document, parse_yaml(embedded::runner_thresholds, "built-in runner thresholds"));
  CALKIT_TRY(Limits limits, parse_limits(document, "built-in runner thresholds", dtype));
  limits.source = "built in";
  return limits;
}

Value to_value(const Limits& limits) {
  return Value::object({{"dtype", limits.dtype},
                        {"nmse", limits.nmse},
                        {"margin", limits.margin},
                        {"excused_share", limits.excused_share},
                        {"reason", limits.reason},
                        {"owner", limits.owner},
                        {"status", limits.status},
                        {"source", limits.source}});
}

}  // namespace calkit::runner
