#pragma once
/// A configured image: memory reserved, parameters placed, kernels made. Runs one call at a time.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calkit/base/process.h"
#include "calkit/exec/kernel.h"
#include "dram.h"
#include "image.h"

namespace calkit::emulator {

struct MemoryBytes {
  std::uint64_t param = 0, kv = 0, workspace = 0, io = 0, host = 0;
};

/// One call of a submodel; `slots[row]` is the KV slot of that row.
struct MachineCall {
  const Program* program = nullptr;
  std::int64_t rows = 1, tokens = 1;
  std::vector<std::int64_t> slots;
};

class Machine {
 public:
  /// Reserves memory and makes every kernel (weights are packed now). kTimeout when the deadline passes; kIncomplete
  /// when the host refuses memory; kInput when a kernel refuses its op. @param image must outlive the machine.
  static Result<std::unique_ptr<Machine>> create(const Image& image, const Deadline& deadline);

  const MemoryBytes& memory() const { return memory_; }
  const Image& image() const { return image_; }

  Status write_csr(const Program& program, const calbin::Csr& csr, std::uint32_t index, std::uint32_t value);
  Result<std::uint32_t> read_csr(const Program& program, const calbin::Csr& csr, std::uint32_t index) const;
  Status clear_slot(std::int64_t slot);

  /// Copies the first `tokens` elements of each of the call's rows from a buffer laid out as `io` says. Returns the
  /// bytes moved.
  Result<std::uint64_t> host_to_device(const MachineCall& call, const calbin::IoTensor& io,
                                       std::span<const std::byte> from);
  /// Fills an output's range with NaN patterns, so that what no op wrote can never look like a result.
  Status poison(const calbin::IoTensor& io);
  /// Copies an output's whole range, padding included. Returns the bytes moved.
  Result<std::uint64_t> device_to_host(const calbin::IoTensor& io, std::span<std::byte> to) const;
  /// Runs every op of the list. kTimeout between two ops; kInput when a kernel or an address refuses.
  Status execute(const MachineCall& call, const Deadline& deadline);

 private:
  explicit Machine(const Image& image) : image_(image) {}
  struct Step {
    const Program* program = nullptr;
    const BoundOp* bound = nullptr;
    onnx::Node node;
    std::shared_ptr<exec::Kernel> kernel;
  };
  Status reserve();
  Status make_steps(const Program& program, const Deadline& deadline);
  Status release_packed_pages();
  Result<Tensor> view(const Program& program, const BoundOperand& operand, Shape shape, std::uint64_t shift) const;
  Status run_rows(const Step& step, const MachineCall& call, std::int64_t first_row, std::int64_t rows);

  const Image& image_;
  MemoryBytes memory_;
  std::map<std::int64_t, Dram> chips_;
  /// Kernels with packed weights, by operator, attributes and weight address: prefill and decode share them.
  std::map<std::string, std::shared_ptr<exec::Kernel>> shared_;
  std::map<const Program*, std::vector<Step>> steps_;
};

}  // namespace calkit::emulator
