// Any bytes as an ONNX file that every fusion, and the quantisation before them, is applied to: what comes back is a
// graph as whole as the one before, with the same outputs.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "calkit/fusion/fusion.h"
#include "calkit/onnx/io.h"
#include "calkit/passes/normalize.h"

namespace {

using calkit::onnx::Model;

std::vector<std::string> outputs_of(const Model& model) {
  std::vector<std::string> out;
  for (const auto& output : model.graph.outputs) out.push_back(output.name);
  return out;
}

void fuse(Model model) {
  for (const auto& entry : calkit::fusion::catalogue()) {
    const auto before = outputs_of(model);
    auto applied = calkit::fusion::apply(entry.id, model, 2);
    if (!applied.ok()) return;
    model = calkit::passes::put_in_order(std::move(applied->model)).model;
    if (!calkit::onnx::structure_problems(model).empty()) __builtin_trap();
    if (entry.id != "head-topk" && outputs_of(model) != before) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kFolder = std::filesystem::temp_directory_path();
  auto model = calkit::onnx::load_bytes(std::as_bytes(std::span(data, size)), "fuzz.onnx", kFolder);
  if (!model.ok()) return 0;
  if (const auto shaped = calkit::onnx::infer_shapes(*model); shaped.ok()) model = *shaped;
  fuse(*model);
  auto quantized = calkit::fusion::quantize_projections(*model);
  if (!quantized.ok()) return 0;
  quantized->model = calkit::passes::put_in_order(std::move(quantized->model)).model;
  if (!calkit::onnx::structure_problems(quantized->model).empty()) __builtin_trap();
  fuse(std::move(quantized->model));
  return 0;
}
