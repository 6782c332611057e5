#include "machine.h"
#include "check_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "calkit/base/text.h"

namespace calkit::emulator {
namespace {

using calbin::IoTensor;
using calbin::Operand;

onnx::Attribute to_attribute(const calbin::OpAttribute& attribute) {
  return std::visit([&](const auto& value) { return onnx::attr(attribute.name, value); }, attribute.value);
}

onnx::Node to_node(const calbin::Op& op) {
  onnx::Node node;
  node.name = op.name;
  node.op_type = op.type;
  node.domain = op.domain;
  for (const Operand& operand : op.reads) node.inputs.push_back(operand.absent ? std::string() : operand.name);
  for (const Operand& operand : op.writes) node.outputs.push_back(operand.name);
  for (const calbin::OpAttribute& attribute : op.attributes) node.attributes.push_back(to_attribute(attribute));
  return node;
}

/// Equal keys mean equal kernels: the operator, its attributes, and where its constants lie.
std::string kernel_key(const Program& program, const BoundOp& bound) {
  std::string key = fmt::format("{}|{}:{}", program.chip, bound.op->domain, bound.op->type);
  for (const calbin::OpAttribute& attribute : bound.op->attributes) {
    key += "|" + attribute.name + "=";
    if (const auto* i = std::get_if<std::int64_t>(&attribute.value)) key += fmt::format("{}", *i);
    if (const auto* f = std::get_if<float>(&attribute.value)) key += fmt::format("{:a}", *f);
    if (const auto* s = std::get_if<std::string>(&attribute.value)) key += *s;
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) key += shape_text(*list);
  }
  for (const BoundOperand& read : bound.reads) {
    key += fmt::format("|{}", dtype_name(read.spec->dtype));
    if (read.place == Place::kParam)
      key += "@" + hex_u64(read.spec->base) + shape_text(operand_shape(*read.spec, 1, 1));
    else if (read.place == Place::kAbsent)
      key += "-";
  }
  return key;
}

bool has_constant(const BoundOp& bound) {
  for (const BoundOperand& read : bound.reads)
    if (read.place == Place::kParam) return true;
  return false;
}

Error late(const Program& program) {
  return Error{ErrorKind::kTimeout, fmt::format("the limit passed between two ops of '{}'", program.submodel->name),
               "give more time, or send fewer tokens per call"};
}

}  // namespace

Result<std::unique_ptr<Machine>> Machine::create(const Image& image, const Deadline& deadline) {
  std::unique_ptr<Machine> machine(new Machine(image));
  CALKIT_CHECK_OK(machine->reserve(), "reserving device memory");
  for (const Program& program : image.programs)
    CALKIT_CHECK_OK(machine->make_steps(program, deadline), "preparing submodel '" + program.submodel->name + "'");
  for (const auto& [key, kernel] : machine->shared_) machine->memory_.host += kernel->packed_bytes();
  CALKIT_CHECK_OK(machine->release_packed_pages());
  return machine;
}

Status Machine::reserve() {
  const calbin::Description& description = image_.description();
  std::map<std::int64_t, std::vector<ParamWindow>> windows;
  std::map<std::string, std::shared_ptr<const MappedFile>> files;
  for (const calbin::Param& param : description.params) {
    auto& file = files[param.file];
    if (file == nullptr) {
      CALKIT_TRY(file, image_.package->map(param.file), "mapping the parameters");
    }
    if (!param.tied_to.empty()) continue;  // the owner's window holds its bytes
    windows[param.chip].push_back({param.name, param.base, param.length, param.offset, file});
    memory_.param += param.length;
  }
  for (const calbin::Region& region : description.memory.regions) {
    if (region.kind == "kv") memory_.kv += region.size;
    if (region.kind == "workspace") memory_.workspace += region.size;
    if (region.kind == "io") memory_.io += region.size;
  }
  for (const calbin::Chip& chip : description.device.chip) {
    CALKIT_TRY(Dram dram, Dram::create(description, chip.id, std::move(windows[chip.id])));
    chips_.emplace(chip.id, std::move(dram));
  }
  return {};
}

Status Machine::make_steps(const Program& program, const Deadline& deadline) {
  std::vector<Step>& steps = steps_[&program];
  steps.reserve(program.ops.size());
  for (const BoundOp& bound : program.ops) {
    if (deadline.passed()) return late(program);
    Step step;
    step.program = &program;
    step.bound = &bound;
    step.node = to_node(*bound.op);
    std::vector<Tensor> held(bound.reads.size());
    std::vector<const Tensor*> constants(bound.reads.size(), nullptr);
    for (std::size_t i = 0; i < bound.reads.size(); ++i) {
      if (bound.reads[i].place != Place::kParam) continue;
      CALKIT_TRY(held[i], view(program, bound.reads[i], operand_shape(*bound.reads[i].spec, 1, 1), 0));
      constants[i] = &held[i];
    }
    const bool shareable = has_constant(bound);
    const std::string key = shareable ? kernel_key(program, bound) : std::string();
    const auto known = shareable ? shared_.find(key) : shared_.end();
    if (known != shared_.end()) {
      step.kernel = known->second;
    } else {
      CALKIT_TRY(std::unique_ptr<exec::Kernel> kernel, exec::make_kernel(step.node, constants, {}),
                 fmt::format("making op {} {}", bound.op->id, bound.op->type));
      step.kernel = std::move(kernel);
      if (shareable) shared_[key] = step.kernel;
    }
    steps.push_back(std::move(step));
  }
  return {};
}

/// Pages of parameters that live on as packed copies are let go; they come back from the file if something reads them.
Status Machine::release_packed_pages() {
  std::set<std::pair<std::int64_t, std::uint64_t>> packed, raw;  // chip and address
  for (const auto& [program, steps] : steps_) {
    for (const Step& step : steps) {
      for (const BoundOperand& read : step.bound->reads) {
        if (read.place == Place::kParam)
          (step.kernel->packed_bytes() > 0 ? packed : raw).insert({program->chip, read.spec->base});
      }
    }
  }
  for (const auto& [chip, base] : packed) {
    if (raw.contains({chip, base})) continue;
    CALKIT_TRY(const ParamWindow* const window, chips_.at(chip).parameter(base, 0));
    window->file->release(window->file_offset, window->bytes);
  }
  return {};
}

Result<Tensor> Machine::view(const Program& program, const BoundOperand& operand, Shape shape,
                             std::uint64_t shift) const {
  const Dram& dram = chips_.at(program.chip);
  const Operand& spec = *operand.spec;
  std::uint64_t bytes = dtype_bytes(spec.dtype);
  for (const std::int64_t extent : shape)
    bytes *= static_cast<std::uint64_t>(extent);  // at most spec.size, checked at load
  if (operand.place == Place::kParam) {
    CALKIT_TRY(const ParamWindow* const window, dram.parameter(spec.base, bytes), "reading '" + spec.name + "'");
    const std::uint64_t offset = window->file_offset + (spec.base - window->base);
    if (offset % dtype_bytes(spec.dtype) != 0)
      return input_error("calbin", spec.name, fmt::format("file offset {}", offset),
                         fmt::format("a multiple of {}", dtype_bytes(spec.dtype)));
    return Tensor::borrow(spec.dtype, std::move(shape), window->file->bytes().data() + offset, window->file);
  }
  CALKIT_TRY(const std::byte* const at, dram.writable(spec.base + shift, bytes), "addressing '" + spec.name + "'");
  return Tensor::borrow(spec.dtype, std::move(shape), at, nullptr);
}

Status Machine::run_rows(const Step& step, const MachineCall& call, std::int64_t first_row, std::int64_t rows) {
  // A shift picks the row inside operands that lead with "B", and the slot inside the KV region.
  const auto place = [&](const BoundOperand& operand) -> Result<Tensor> {
    Shape shape = operand_shape(*operand.spec, rows, call.tokens);
    std::uint64_t shift = 0;
    if (operand.place == Place::kKv) {
      shift = image_.slot_stride() * static_cast<std::uint64_t>(call.slots[static_cast<std::size_t>(first_row)]);
    } else if (first_row > 0 && operand.place != Place::kParam) {
      shift = dtype_bytes(operand.spec->dtype) * static_cast<std::uint64_t>(first_row);
      for (std::size_t axis = 1; axis < shape.size(); ++axis) shift *= static_cast<std::uint64_t>(shape[axis]);
    }
    return view(*step.program, operand, std::move(shape), shift);
  };
  const std::size_t count = step.bound->reads.size();
  std::vector<Tensor> held(count);
  std::vector<const Tensor*> inputs(count, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    if (step.bound->reads[i].place == Place::kAbsent) continue;
    CALKIT_TRY(held[i], place(step.bound->reads[i]));
    inputs[i] = &held[i];
  }
  const exec::OutputAllocator allocate = [&](std::size_t index, DType dtype, const Shape& shape) -> Result<Tensor> {
    const BoundOperand& operand = step.bound->writes.at(index);
    const Shape expected = operand_shape(*operand.spec, rows, call.tokens);
    if (dtype != operand.spec->dtype || shape != expected)
      return input_error(
          "calbin",
          fmt::format("op {} '{}': output '{}'", step.bound->op->id, step.bound->op->name, operand.spec->name),
          fmt::format("{} {} computed", dtype_name(dtype), shape_text(shape)),
          fmt::format("{} {}, as the op list reserves", dtype_name(operand.spec->dtype), shape_text(expected)));
    return place(operand);
  };
  return step.kernel->run(inputs, allocate);
}

Status Machine::execute(const MachineCall& call, const Deadline& deadline) {
  for (const Step& step : steps_.at(call.program)) {
    if (deadline.passed()) return late(*call.program);
    const std::int64_t parts = step.bound->per_row ? call.rows : 1;
    const std::int64_t rows = step.bound->per_row ? 1 : call.rows;
    for (std::int64_t part = 0; part < parts; ++part)
      CALKIT_CHECK_OK(run_rows(step, call, part, rows),
                      fmt::format("running op {} {} of '{}'", step.bound->op->id, step.bound->op->type,
                                  call.program->submodel->name));
  }
  return {};
}

Status Machine::write_csr(const Program& program, const calbin::Csr& csr, std::uint32_t index, std::uint32_t value) {
  CALKIT_TRY(std::byte* const at, chips_.at(program.chip).writable(csr.base + 4ull * index, 4));
  std::memcpy(at, &value, 4);
  return {};
}

Result<std::uint32_t> Machine::read_csr(const Program& program, const calbin::Csr& csr, std::uint32_t index) const {
  CALKIT_TRY(const std::byte* const at, chips_.at(program.chip).writable(csr.base + 4ull * index, 4));
  std::uint32_t value = 0;
  std::memcpy(&value, at, 4);
  return value;
}

Status Machine::clear_slot(std::int64_t slot) {
  const calbin::Region& kv = *image_.description().region(image_.description().kv.regions[0]);
  const std::uint64_t stride = image_.slot_stride();
  return chips_.at(kv.chip).clear(kv.base + stride * static_cast<std::uint64_t>(slot), stride);
}

Result<std::uint64_t> Machine::host_to_device(const MachineCall& call, const IoTensor& io,
                                              std::span<const std::byte> from) {
  const std::uint64_t unit = dtype_bytes(io.dtype);
  const std::uint64_t row_bytes = unit * static_cast<std::uint64_t>(call.tokens);
  const std::uint64_t bytes = row_bytes * static_cast<std::uint64_t>(call.rows);
  CALKIT_TRY(std::byte* const at, chips_.at(io.chip).writable(io.base, bytes),
             "moving '" + io.name + "' to the device");
  for (std::int64_t row = 0; row < call.rows; ++row) {
    const std::uint64_t offset = row_major_strides(io)[0] * static_cast<std::uint64_t>(row);
    std::memcpy(at + row_bytes * static_cast<std::uint64_t>(row), from.data() + offset, row_bytes);
  }
  return bytes;
}

Status Machine::poison(const IoTensor& io) {
  CALKIT_TRY(std::byte* const at, chips_.at(io.chip).writable(io.base, io.size));
  std::memset(at, 0xff, io.size);
  return {};
}

Result<std::uint64_t> Machine::device_to_host(const IoTensor& io, std::span<std::byte> to) const {
  CALKIT_TRY(const std::byte* const at, chips_.at(io.chip).writable(io.base, io.size),
             "moving '" + io.name + "' to the host");
  std::memcpy(to.data(), at, io.size);
  return io.size;
}

}  // namespace calkit::emulator
