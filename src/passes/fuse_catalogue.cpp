#include <fmt/format.h>

#include "calkit/passes/fuse.h"

namespace calkit::passes {

Value catalogue_value() {
  Value fusions = Value::array();
  for (const fusion::Fusion& entry : fusion::catalogue()) {
    Value kernels = Value::array(), preconditions = Value::array();
    for (const auto kernel : entry.kernels) kernels.push(std::string(kernel));
    for (const auto& condition : entry.preconditions)
      preconditions.push(Value::object({{"id", std::string(condition.id)}, {"text", std::string(condition.text)}}));
    fusions.push(Value::object({{"id", std::string(entry.id)},
                                {"title", std::string(entry.title)},
                                {"kernels", std::move(kernels)},
                                {"pattern", std::string(entry.pattern)},
                                {"preconditions", std::move(preconditions)},
                                {"shapes", std::string(entry.shapes)},
                                {"dtypes", std::string(entry.dtypes)},
                                {"nmse_bound", Value::object({{"f32", entry.bound_f32}, {"bf16", entry.bound_bf16}})},
                                {"fallback", "the operator's function, in standard operators"},
                                {"failure", std::string(entry.failure)},
                                {"sync", std::string(entry.sync)},
                                {"transfer", std::string(entry.transfer)}}));
  }
  return Value::object({{"schema", "calkit.fusion-catalogue/1"}, {"fusions", std::move(fusions)}});
}

std::string catalogue_text() {
  std::string out;
  for (const fusion::Fusion& entry : fusion::catalogue()) {
    out += fmt::format("{}{}: {}\n", out.empty() ? "" : "\n", entry.id, entry.title);
    std::string kernels;
    for (const auto kernel : entry.kernels) kernels += (kernels.empty() ? "" : ", ") + std::string(kernel);
    out += fmt::format("  kernels   {}\n  pattern   {}\n", kernels, entry.pattern);
    for (const auto& condition : entry.preconditions)
      out += fmt::format("  needs     {}: {}\n", condition.id, condition.text);
    out += fmt::format("  shapes    {}\n  types     {}\n", entry.shapes, entry.dtypes);
    out += fmt::format("  bound     NMSE {:.2g} in F32, {:.2g} in BF16, each operator against its function\n",
                       entry.bound_f32, entry.bound_bf16);
    out += "  fallback  the operator's function, in standard operators\n";
    out += fmt::format("  fails     {}\n  sync      {}\n  transfer  {}\n", entry.failure, entry.sync, entry.transfer);
  }
  return out;
}

}  // namespace calkit::passes
