// A selection of ONNX's own node test cases (tools/peers/make_node_cases.py). All of them run in the test
// peer.onnx_nodes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "calkit/base/files.h"
#include "calkit/exec/session.h"
#include "calkit/onnx/io.h"
#include "calkit/tensor/npz.h"

namespace calkit::exec {
namespace {

struct Case {
  std::string model;
  std::map<std::string, Tensor> inputs, outputs;
};

std::map<std::string, Case> read_cases() {
  std::map<std::string, Case> cases;
  auto members = read_npz(std::string(CALKIT_TEST_DATA) + "/operators/node_cases.npz");
  if (!members.ok()) {
    ADD_FAILURE() << members.error().message;
    return cases;
  }
  for (auto& [name, tensor] : *members) {
    const auto slash = name.find('/');
    Case& entry = cases[name.substr(0, slash)];
    const std::string rest = name.substr(slash + 1);
    if (rest == "model")
      entry.model.assign(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
    else
      (rest.starts_with("in/") ? entry.inputs : entry.outputs)[rest.substr(rest.find('/') + 1)] = tensor;
  }
  return cases;
}

// F32 against NumPy: a few units in the last place of the largest value.
void expect_same(const Tensor& got, const Tensor& want, const std::string& name) {
  ASSERT_EQ(dtype_name(got.dtype()), dtype_name(want.dtype())) << name;
  ASSERT_EQ(got.shape(), want.shape()) << name;
  if (want.dtype() != DType::kF32) {
    EXPECT_EQ(std::memcmp(got.raw(), want.raw(), want.bytes()), 0) << name;
    return;
  }
  const auto a = got.data<float>(), b = want.data<float>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) || std::isinf(b[i])) {
      EXPECT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]) << name;
      continue;
    }
    ASSERT_NEAR(a[i], b[i], 1e-6 + 1e-5 * std::fabs(b[i])) << name << " at " << i;
  }
}

Result<std::vector<Tensor>> run_case(const Case& entry, const std::filesystem::path& file) {
  CALKIT_CHECK_OK(write_file(file, entry.model));
  CALKIT_TRY(onnx::Model model, onnx::load(file));
  CALKIT_TRY(Session session, Session::create(std::move(model)));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : entry.outputs) names.push_back(name);
  return session.run(entry.inputs, names);
}

TEST(NodeCases, EachOfOnnxsCasesPasses) {
  const auto cases = read_cases();
  ASSERT_GE(cases.size(), 250u);
  const auto file =
      std::filesystem::path(testing::TempDir()) / ("calkit_node_case_" + std::to_string(::getpid()) + ".onnx");
  std::size_t passed = 0;
  for (const auto& [name, entry] : cases) {
    const auto results = run_case(entry, file);
    if (!results.ok()) {
      ADD_FAILURE() << name << ": " << results.error().message;
      continue;
    }
    std::size_t index = 0;
    for (const auto& [output, want] : entry.outputs) expect_same((*results)[index++], want, name + " " + output);
    ++passed;
  }
  std::filesystem::remove(file);
  EXPECT_EQ(passed, cases.size());
}

}  // namespace
}  // namespace calkit::exec
