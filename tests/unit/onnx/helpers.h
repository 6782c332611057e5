#pragma once
// A scratch folder and small graphs for the tests of this folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "calkit/onnx/io.h"

namespace calkit::onnx::test {

inline std::filesystem::path data(const std::string& relative) {
  return std::filesystem::path(CALKIT_TEST_DATA) / relative;
}
inline std::filesystem::path onnx_case(const std::string& relative) {
  return data("cases/onnx-inventory/" + relative);
}

class Scratch {
 public:
  Scratch() {
    static int count = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            ("calkit_onnx_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline Node node(std::string name, std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  Node out;
  out.name = std::move(name);
  out.op_type = std::move(op);
  out.inputs = std::move(inputs);
  out.outputs = std::move(outputs);
  return out;
}

inline Initializer weight(std::string name, const Tensor& tensor) {
  Initializer out;
  out.name = std::move(name);
  out.type = from_dtype(tensor.dtype());
  out.dims = tensor.shape();
  out.bytes = tensor.bytes();
  out.data = tensor;
  return out;
}

/// y = MatMul(x [N, 4], w [4, 4])
inline Model matmul_model(const Tensor& w) {
  Model model;
  model.ir_version = 11;
  model.opsets[""] = 23;
  model.producer_name = "test";
  model.graph.name = "g";
  model.graph.inputs = {{"x", 1, {{Dim::symbol("N"), Dim::of(4)}}}};
  model.graph.outputs = {{"y", 1, {{Dim::symbol("N"), Dim::of(4)}}}};
  model.graph.nodes = {node("mm", "MatMul", {"x", "w"}, {"y"})};
  model.graph.initializers = {weight("w", w)};
  return model;
}

inline Tensor counting(std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(static_cast<float>(i));
  return Tensor::of({rows, columns}, values);
}

}  // namespace calkit::onnx::test
