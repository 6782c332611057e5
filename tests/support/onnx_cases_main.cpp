/// calkit_onnx_cases CASES.npz OUT.npz: runs each ONNX model of CASES and writes what it gives, for
/// tools/peers/check_onnx_nodes.py and check_onnx_exports.py.
/// --claims and --table print what the executor claims, the latter as in docs/numerics.md.
/// Members read: CASE/model (the bytes) or CASE/path (of a file), CASE/in/DTYPE/NAME, CASE/out/K/NAME. DTYPE is bf16
/// where the member holds its bits as uint16. Members written: CASE/out/K/DTYPE, or CASE/error (text).
#include <cstdio>
#include <map>
#include <string>

#include "calkit/base/files.h"
#include "calkit/exec/session.h"
#include "calkit/onnx/io.h"
#include "calkit/tensor/npz.h"

namespace {

using namespace calkit;

struct Case {
  std::string model, path;
  std::map<std::string, Tensor> inputs;
  std::map<std::string, std::string> outputs;  // by position, two digits
};

std::string text_of(const Tensor& bytes) {
  return {reinterpret_cast<const char*>(bytes.raw()), bytes.bytes()};
}

Tensor bytes_of(const std::string& text) {
  return Tensor::of<std::uint8_t>({static_cast<std::int64_t>(text.size())},
                                  std::vector<std::uint8_t>(text.begin(), text.end()));
}

void add_member(std::map<std::string, Case>& cases, const std::string& name, const Tensor& tensor) {
  const auto first = name.find('/'), second = name.find('/', first + 1), third = name.find('/', second + 1);
  Case& entry = cases[name.substr(0, first)];
  const std::string kind = name.substr(first + 1, second - first - 1);
  if (kind == "model") entry.model = text_of(tensor);
  if (kind == "path") entry.path = text_of(tensor);
  if (kind != "in" && kind != "out") return;
  const std::string middle = name.substr(second + 1, third - second - 1), last = name.substr(third + 1);
  if (kind == "out")
    entry.outputs[middle] = last;
  else
    entry.inputs[last] =
        middle == "bf16" ? Tensor::borrow(DType::kBF16, tensor.shape(), tensor.raw(), std::make_shared<Tensor>(tensor))
                         : tensor;
}

Result<std::vector<Tensor>> run_case(const std::string& name, const Case& entry) {
  exec::SessionOptions options;
  options.max_node_runs = 1'000'000;
  options.max_bytes = 1ull << 30;
  const auto bytes = std::as_bytes(std::span(entry.model.data(), entry.model.size()));
  CALKIT_TRY(onnx::Model model, entry.path.empty() ? onnx::load_bytes(bytes, name, ".") : onnx::load(entry.path));
  CALKIT_TRY(exec::Session session, exec::Session::create(std::move(model), options));
  std::vector<std::string> wanted;
  for (const auto& [position, output] : entry.outputs) wanted.push_back(output);
  return session.run(entry.inputs, wanted);
}

Status run(const std::string& from, const std::string& to) {
  CALKIT_TRY(const auto members, read_npz(from));
  std::map<std::string, Case> cases;
  for (const auto& [name, tensor] : members) add_member(cases, name, tensor);
  CALKIT_TRY(NpzWriter writer, NpzWriter::create(to));
  for (const auto& [name, entry] : cases) {
    std::fprintf(stderr, "%s\n", name.c_str());
    const auto made = run_case(name, entry);
    if (!made.ok()) {
      CALKIT_CHECK_OK(writer.add(name + "/error", bytes_of(made.error().message)));
      continue;
    }
    auto position = entry.outputs.begin();
    for (const Tensor& tensor : *made) {
      const std::string member = name + "/out/" + (position++)->first + "/" + std::string(dtype_name(tensor.dtype()));
      const DType stored = tensor.dtype() == DType::kBF16 ? DType::kU16 : tensor.dtype();
      CALKIT_CHECK_OK(writer.add(member, Tensor::borrow(stored, tensor.shape(), tensor.raw(), nullptr)));
    }
  }
  return writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc == 2 ? argv[1] : "";
  if (first == "--claims" || first == "--table") {
    for (const auto& claim : exec::operator_claims())
      std::printf(first == "--table" ? "| %s | %lld | %s |\n" : "%s|%lld|%s\n", claim.name.c_str(),
                  static_cast<long long>(claim.since), claim.types.c_str());
    return 0;
  }
  if (argc != 3) {
    std::fputs("usage: calkit_onnx_cases CASES.npz OUT.npz | --claims | --table\n", stderr);
    return 2;
  }
  const auto status = run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "calkit_onnx_cases: %s\n", status.error().message.c_str());
  return 3;
}
