// Broken ONNX files of each kind through every command that reads one: a clear answer that names the file and what is
// wrong in it, within the memory that the bytes justify, and nothing written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "calkit/inventory/inventory.h"
#include "calkit/model/contract_check.h"
#include "calkit/passes/normalize.h"
#include "calkit/passes/reduce.h"
#include "scratch_dir.h"
#include "wire.h"

namespace calkit::passes {
namespace {

using namespace wire;  // NOLINT: the vocabulary of this file
using testing::HasSubstr;

constexpr std::int64_t kFloat = 1, kInt64 = 7, kString = 8;

const std::string kX = input(value("x", kFloat, {1, 4}));
const std::string kY = output(value("y", kFloat, {1, 4}));
std::string relu(const std::string& more = "", std::int64_t opset = 17) {
  return model(node("n", "Relu", {"x"}, "y") + kX + kY + more, opset);
}
std::string with_weight(const std::string& tensor_bytes) {
  return model(node("n", "Add", {"x", "w"}, "y") + initializer(tensor_bytes) + kX + kY);
}

void PrintTo(const struct Broken& file, std::ostream* out);
struct Broken {
  const char* name;
  std::string file;
  const char* place;                ///< node, tensor or field that the answer has to name
  const char* found;                ///< what is wrong with it
  const char* run_place = nullptr;  ///< as whoever runs it tells the same
  const char* run_found = nullptr;
};

void PrintTo(const Broken& file, std::ostream* out) {
  *out << file.name;
}

std::vector<Broken> broken() {
  const std::string four = raw(std::string(16, '\0'));
  return {
      {"empty", "", "m.onnx", "no graph"},
      {"no graph", number(1, 8) + bytes(8, number(2, 17)), "m.onnx", "no graph"},
      {"truncated", relu().substr(0, relu().size() / 2), "m.onnx", "cut off"},
      {"a field of 2 GB", number(1, 8) + varint(7 << 3 | 2) + varint(0x7FFFFFF0u) + "g", "m.onnx", "cut off"},
      {"cyclic",
       model(node("a", "Add", {"x", "q"}, "p") + node("b", "Relu", {"p"}, "q") + node("n", "Relu", {"q"}, "y") + kX +
             kY),
       "node 'b'", "in a cycle"},
      {"unsorted", model(node("n", "Relu", {"p"}, "y") + node("a", "Relu", {"x"}, "p") + kX + kY), "node 'n'",
       "out of order"},
      {"dangling", model(node("n", "Add", {"x", "nowhere"}, "y") + kX + kY), "'nowhere'", "nothing produces"},
      {"produced twice", model(node("n", "Relu", {"x"}, "y") + node("m", "Abs", {"x"}, "y") + kX + kY), "node 'm'",
       "a second time"},
      {"opset 99", relu("", 99), "m.onnx", "99"},
      {"external, escaping", with_weight(tensor("w", kFloat, {4}, external("../w.bin", "0", "16"))), "tensor 'w'",
       "'..'"},
      {"external, absolute", with_weight(tensor("w", kFloat, {4}, external("/etc/passwd", "0", "16"))), "tensor 'w'",
       "absolute"},
      {"external, out of range", with_weight(tensor("w", kFloat, {4}, external("w.bin", "8", "16"))), "tensor 'w'",
       "bytes 8 to 24"},
      {"external, offset wraps", with_weight(tensor("w", kFloat, {4}, external("w.bin", "18446744073709551608", "16"))),
       "tensor 'w'", "18446744073709551608"},
      {"external, 2 GB of a small file",
       with_weight(tensor("w", kFloat, {1 << 29}, external("w.bin", "0", "2147483648"))), "tensor 'w'",
       "bytes 0 to 2147483648"},
      {"inside, 2 GB in 16 bytes", with_weight(tensor("w", kFloat, {1 << 29}, four)), "tensor 'w'", "16 bytes"},
      {"inside, 2 GB of no values", with_weight(tensor("w", kFloat, {1 << 29}, "")), "tensor 'w'", "0 values"},
      {"inside, 2 GB of no 4-bit values", with_weight(tensor("w", 22, {1ll << 32}, "")), "tensor 'w'", "0 values"},
      {"inside, fewer texts than the shape", with_weight(tensor("w", kString, {4}, bytes(6, "a"))), "tensor 'w'",
       "1 values"},
      {"negative extent", with_weight(tensor("w", kFloat, {-4}, four)), "tensor 'w'", "[-4]"},
      {"extents overflow", with_weight(tensor("w", kFloat, {1ll << 40, 1ll << 40}, four)), "tensor 'w'",
       "[1099511627776, 1099511627776]"},
      {"strings where floats go",
       with_weight(tensor("w", kString, {4}, bytes(6, "a") + bytes(6, "b") + bytes(6, "c") + bytes(6, "d"))), "Add",
       "type", "'w'", "STRING"},
      {"integers where floats go", with_weight(tensor("w", kInt64, {4}, raw(std::string(32, '\0')))), "Add", "type",
       "Add 'n'", "i64"},
      {"an attribute that is a graph",
       model(node("n", "Softmax", {"x"}, "y", attribute("axis", 5, bytes(6, bytes(2, "inner")))) + kX + kY), "'n'",
       "axis"},
      {"an attribute that is a text",
       model(node("n", "Softmax", {"x"}, "y", attribute("axis", 3, bytes(4, "1"))) + kX + kY), "'n'", "axis"},
      {"a branch that is a number",
       model(node("n", "If", {"c"}, "y",
                  attribute("then_branch", 2, number(3, 1)) + attribute("else_branch", 2, number(3, 1))) +
             input(value("c", 9, {})) + kY),
       "'n'", "branch"},
      {"a name that is no text", with_weight(tensor("w\xFF", kFloat, {4}, four)), "m.onnx",
       "the name of an initialiser"},
  };
}

/// An error, or the first error among the findings; empty: all is well.
std::string inventory_says(const std::filesystem::path& file) {
  const auto inventory = inventory::take_inventory(file);
  if (!inventory.ok()) return inventory.error().message;
  for (const auto& finding : inventory->findings)
    if (finding.severity == inventory::Finding::Severity::kError) return file.string() + ": " + finding.text;
  return "";
}
std::string normalize_says(const std::filesystem::path& file) {
  Options options;
  options.prompts = 1;
  const auto report = normalize(file, file.parent_path() / "clean", options);
  if (report.ok()) return "";
  std::string out = report.error().message;
  for (const std::string& frame : report.error().context) out += "; " + frame;
  EXPECT_EQ(report.error().kind, ErrorKind::kInput) << out;
  return out;
}

class BrokenOnnx : public testing::TestWithParam<Broken> {
 protected:
  BrokenOnnx() {
    EXPECT_TRUE(write_file(folder_ / "w.bin", std::string(16, '\0')).ok());
    EXPECT_TRUE(write_file(file_, GetParam().file).ok());
  }
  testing_support::ScratchDir folder_;
  std::filesystem::path file_ = folder_ / "m.onnx";
};

TEST_P(BrokenOnnx, IsToldByTheInventory) {
  const std::string said = inventory_says(file_);
  EXPECT_THAT(said, testing::AllOf(HasSubstr("m.onnx"), HasSubstr(GetParam().place), HasSubstr(GetParam().found)));
  EXPECT_LT(peak_rss_bytes(), 1ull << 30);
}

TEST_P(BrokenOnnx, IsRefusedByNormalize) {
  const Broken& file = GetParam();
  EXPECT_THAT(normalize_says(file_),
              testing::AllOf(HasSubstr("m.onnx"), HasSubstr(file.run_place ? file.run_place : file.place),
                             HasSubstr(file.run_found ? file.run_found : file.found)));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "clean"));
}

TEST_P(BrokenOnnx, IsRefusedByTheContract) {
  const auto check = model::check_contract(file_);
  std::string said = check.ok() ? "" : check.error().message;
  if (check.ok()) {
    EXPECT_FALSE(check->passed());
    for (const auto& finding : check->findings) said += finding.item + ": " + finding.found + "; ";
  }
  EXPECT_NE(said, "");
}

TEST_P(BrokenOnnx, IsNothingToReduce) {
  ReduceOptions options;
  options.command = "exit 9";
  const auto report = reduce(file_, folder_ / "small", options);
  if (report.ok()) return;  // well formed: the command alone says what fails
  EXPECT_EQ(report.error().kind, ErrorKind::kInput) << report.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "small"));
}

std::string plain(const testing::TestParamInfo<Broken>& row) {
  std::string out;
  for (const char c : std::string(row.param.name)) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}
INSTANTIATE_TEST_SUITE_P(Files, BrokenOnnx, testing::ValuesIn(broken()), plain);

TEST(BrokenFiles, TheGoodFilesOfThisTableAreGood) {
  const testing_support::ScratchDir folder;
  for (const std::string& file : {relu(), with_weight(tensor("w", kFloat, {4}, raw(std::string(16, '\1'))))}) {
    ASSERT_TRUE(write_file(folder / "m.onnx", file).ok());
    EXPECT_EQ(inventory_says(folder / "m.onnx"), "");
    EXPECT_EQ(normalize_says(folder / "m.onnx"), "");
    std::filesystem::remove_all(folder / "clean");
  }
}

}  // namespace
}  // namespace calkit::passes
