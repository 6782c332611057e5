#include "calkit/inventory/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "calkit/base/text.h"
#include "calkit/onnx/io.h"
#include "candidates.h"
#include "cost.h"
#include "ranking.h"
#include "walk.h"

namespace calkit::inventory {
namespace {

constexpr std::int64_t kFirstOverridableIr = 4;  // before, initialisers had to be listed as inputs

void head(const onnx::Model& model, Inventory& out) {
  out.ir_version = model.ir_version;
  for (const auto& [domain, version] : model.opsets) out.opsets[domain.empty() ? "ai.onnx" : domain] = version;
  out.producer = model.producer_name;
  if (!model.producer_version.empty()) out.producer += " " + model.producer_version;
  for (const onnx::Function& function : model.functions)
    out.functions.push_back(fmt::format("{}:{}", function.domain, function.name));
}

void inputs_and_outputs(const onnx::Outline& outline, Inventory& out) {
  const onnx::Model& model = outline.model;
  std::set<std::string_view> weights;
  for (const onnx::Initializer& tensor : model.graph.initializers) weights.insert(tensor.name);
  for (const onnx::ValueInfo& value : outline.inputs) {
    if (!weights.contains(value.name)) {
      out.inputs.push_back(value);
      continue;
    }
    out.parameters.push_back(value.name);
    if (model.ir_version >= kFirstOverridableIr) out.overridable.push_back(value.name);
  }
  out.outputs = outline.outputs;
}

// Axes: a symbol joins values, a number is fixed, and a stated 0 is an empty tensor, not "dynamic".
void axes(Inventory& out) {
  for (const auto* list : {&out.inputs, &out.outputs})
    for (const onnx::ValueInfo& value : *list) {
      if (!value.shape) continue;
      for (std::size_t axis = 0; axis < value.shape->size(); ++axis) {
        const auto& dim = (*value.shape)[axis].value;
        const std::string place = fmt::format("{}[{}]", value.name, axis);
        if (const auto* symbol = std::get_if<std::string>(&dim)) out.symbols[*symbol].push_back(place);
        const auto* number = std::get_if<std::int64_t>(&dim);
        if (number && *number == 0)
          out.findings.push_back({Finding::Severity::kNote, place +
                                                                " is stated as 0: the tensor is always empty; an axis "
                                                                "that varies needs a symbol"});
      }
    }
}

void custom_operators(const Options& options, Inventory& out) {
  for (const auto& [op, nodes] : out.op_counts) {
    if (op.starts_with("ai.onnx:")) continue;
    CustomOperator found{op, nodes, false, {}};
    found.function = std::find(out.functions.begin(), out.functions.end(), op) != out.functions.end();
    if (options.operators) found.description = manifest::described(*options.operators, op);
    out.custom_operators.push_back(std::move(found));
  }
}

/// A structure without weights is a fact about the file, not a fault of it.
void weights_left_out(const onnx::Outline& outline, Inventory& out) {
  if (!outline.structure_only) return;
  std::uint64_t count = 0, bytes = 0;
  for (const auto& [location, sum] : out.external_files) count += sum.count, bytes += sum.bytes;
  out.findings.push_back({Finding::Severity::kNote,
                          fmt::format("a structure without weights (calkit.weights: none): {} tensors, {}, are in no "
                                      "file, and none was looked for",
                                      count, format_bytes(bytes))});
}

}  // namespace

bool Inventory::passed() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.severity == Finding::Severity::kError; });
}

Result<Inventory> inventory_of(const onnx::Outline& outline, const Options& options) {
  const manifest::OpSupport* matrix = options.support;
  if (!matrix) {
    CALKIT_TRY(matrix, manifest::built_in_op_support("emulated"));
  }
  Inventory out;
  for (const std::string& problem : outline.problems) out.findings.push_back({Finding::Severity::kError, problem});
  out.inference_note = outline.inference_note;
  head(outline.model, out);
  inputs_and_outputs(outline, out);
  if (!out.overridable.empty())
    out.findings.push_back(
        {Finding::Severity::kNote,
         fmt::format(
             "initialisers that are also inputs ({}, first '{}'): a caller may replace them, so they cannot be folded",
             out.overridable.size(), out.overridable.front())});
  axes(out);
  out.support_target = matrix->target;
  out.support_source = matrix->file;
  Walk(outline.model, *matrix, out).run();
  out.candidates = find_candidates(outline.model.graph);
  for (const onnx::ValueInfo& value : out.inputs) out.input_bytes += bytes_of(value.type, dims_of(value));
  custom_operators(options, out);
  weights_left_out(outline, out);
  choose_point(options.at, out);
  rank_kernels(out);
  hold_against(options.fail_on, out);
  return out;
}

Result<Inventory> take_inventory(const std::filesystem::path& graph, const Options& options) {
  CALKIT_TRY(const onnx::Outline outline, onnx::load_outline(graph), "reading the graph");
  CALKIT_TRY(Inventory out, inventory_of(outline, options));
  out.file = graph.string();
  std::error_code ignored;
  out.file_bytes = std::filesystem::file_size(graph, ignored);
  return out;
}

}  // namespace calkit::inventory
