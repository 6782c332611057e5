// Any bytes as an ONNX file: load_bytes() and load_outline_bytes(), shape inference included, answer with a model or an
// error, in memory that the bytes justify.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "calkit/onnx/io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  // An empty folder of its own: external data may be asked for, never found.
  static const auto kFolder = std::filesystem::temp_directory_path();
  for (const bool tensors : {true, false}) {
    const auto model = calkit::onnx::load_bytes(bytes, "fuzz.onnx", kFolder, {.tensor_data = tensors});
    if (!model.ok()) continue;
    for (const auto& tensor : model->graph.initializers)
      if (tensor.data && tensor.data->bytes() != tensor.bytes) __builtin_trap();
  }
  (void)calkit::onnx::load_outline_bytes(bytes, "fuzz.onnx", kFolder);
  return 0;
}
