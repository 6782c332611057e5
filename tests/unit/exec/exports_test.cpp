// Graphs that torch.onnx and Optimum wrote, against the outputs ONNX Runtime gave for them
// (tests/data/operators/README.md).
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "calkit/base/archive.h"
#include "calkit/exec/session.h"
#include "calkit/onnx/io.h"
#include "calkit/tensor/metrics.h"
#include "calkit/tensor/npz.h"
#include "scratch_dir.h"

namespace calkit::exec {
namespace {

namespace fs = std::filesystem;

Status unpack(const testing_support::ScratchDir& dir) {
  return read_tar_zst(CALKIT_TEST_DATA "/operators/exports.tar.zst",
                      [&](const std::string& path, std::uint64_t bytes, const EntryReader& reader) -> Status {
                        std::string content(bytes, '\0');
                        for (std::size_t at = 0; at < content.size();) {
                          CALKIT_TRY(const std::size_t got,
                                     reader(std::as_writable_bytes(std::span(content).subspan(at))));
                          if (got == 0) return Error(ErrorKind::kInput, path + " is short");
                          at += got;
                        }
                        if (bytes > 0) dir.write(path, content);
                        return {};
                      });
}

struct Shapes {
  std::map<std::string, Tensor> inputs, outputs;
};

std::map<std::string, Shapes> read_shapes(const fs::path& file) {
  std::map<std::string, Shapes> out;
  auto members = read_npz(file);
  EXPECT_TRUE(members.ok()) << members.error().message;
  for (auto& [name, tensor] : *members) {
    const auto first = name.find('/'), second = name.find('/', first + 1);
    Shapes& shapes = out[name.substr(0, first)];
    (name[first + 1] == 'i' ? shapes.inputs : shapes.outputs)[name.substr(second + 1)] = tensor;
  }
  return out;
}

// F32: the limits of the issue. F16: ONNX Runtime and we round at other places.
void expect_close(const Tensor& got, const Tensor& want, const std::string& name) {
  ASSERT_EQ(got.dtype(), want.dtype()) << name;
  ASSERT_EQ(got.shape(), want.shape()) << name;
  if (want.elements() == 0) return;
  const auto a = *to_floats(got), b = *to_floats(want);
  const Closeness closeness = compare(a, b);
  const bool half = want.dtype() == DType::kF16;
  EXPECT_EQ(closeness.non_finite, 0u) << name;
  EXPECT_LE(closeness.nmse.value_or(0), half ? 1e-4 : 1e-9) << name;
  EXPECT_LE(closeness.max_abs, half ? 0.05 : 1e-3) << name;
}

TEST(Exports, ForeignGraphsGiveWhatOnnxRuntimeGives) {
  const testing_support::ScratchDir dir;
  const Status unpacked = unpack(dir);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
  std::size_t graphs = 0, outputs = 0;
  for (const auto& folder : fs::directory_iterator(dir.path())) {
    const std::string name = folder.path().filename().string();
    auto model = onnx::load(folder.path() / "model.onnx");
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    auto session = Session::create(*std::move(model));
    ASSERT_TRUE(session.ok()) << name << ": " << session.error().message;
    ++graphs;
    for (const auto& [shape, values] : read_shapes(folder.path() / "io.npz")) {
      std::vector<std::string> wanted;
      for (const auto& [output, tensor] : values.outputs) wanted.push_back(output);
      const auto results = session->run(values.inputs, wanted);
      ASSERT_TRUE(results.ok()) << name << " " << shape << ": " << results.error().message;
      for (std::size_t i = 0; i < wanted.size(); ++i, ++outputs)
        expect_close((*results)[i], values.outputs.at(wanted[i]), name + " " + shape + " " + wanted[i]);
    }
  }
  EXPECT_EQ(graphs, 9u);
  EXPECT_GE(outputs, 150u);
}

}  // namespace
}  // namespace calkit::exec
