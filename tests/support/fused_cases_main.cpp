/// calkit_fused_cases FOLDER: for tools/peers/check_fused_kernels.py. Writes, for each drawn F32 call of an operator of
/// calkit.fused, N.onnx (the call with its function) and N.npz (in.NAME, and out.NAME as calkit's kernel answers).
#include <cstdio>
#include <filesystem>

#include "calkit/onnx/io.h"
#include "calkit/tensor/npz.h"
#include "fused_calls.h"

namespace {

using namespace calkit;

Status write_case(const fused::FusedCall& call, const std::filesystem::path& stem) {
  CALKIT_TRY(const auto answers, fused::run(call, false));
  onnx::Model model = fused::model_of(call);
  std::vector<std::pair<std::string, Tensor>> members;
  for (auto& [name, tensor] : fused::inputs_of(call)) members.emplace_back("in." + name, tensor);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    members.emplace_back("out." + call.function().outputs[i], answers[i]);
    auto& output = model.graph.outputs[i];
    output.type = onnx::from_dtype(answers[i].dtype());
    output.shape.emplace();
    for (const std::int64_t extent : answers[i].shape()) output.shape->push_back(onnx::Dim::of(extent));
  }
  CALKIT_CHECK_OK(onnx::save(model, std::filesystem::path(stem).replace_extension(".onnx"), {}));
  return write_npz(std::filesystem::path(stem).replace_extension(".npz"), members);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: calkit_fused_cases FOLDER\n");
    return 2;
  }
  int number = 0;
  for (const auto& call : fused::drawn_calls(DType::kF32)) {
    const auto status = write_case(call, std::filesystem::path(argv[1]) / std::to_string(number++));
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", call.label.c_str(), status.error().message.c_str());
      return 1;
    }
    std::printf("%s\n", call.label.c_str());
  }
  return 0;
}
