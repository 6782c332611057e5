#include "image.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "calkit/calbin/iomap.h"
#include "calkit/exec/kernel.h"
#include "check_memory.h"

namespace calkit::emulator {
namespace {

using calbin::Description;
using calbin::Operand;

constexpr const char* kPackAgain = "the package is damaged or was packed for another device; pack it again";

std::string operand_text(const calbin::OpList& list, const calbin::Op& op, const Operand& operand) {
  return fmt::format("op list of '{}': op {} {} '{}': operand '{}'", list.submodel, op.id, op.type, op.name,
                     operand.name);
}

/// Binds operands of one op list; holds what every check needs.
class Binder {
 public:
  Binder(Image& image, const Program& program)
      : image_(image), description_(image.description()), program_(program), submodel_(*program.submodel) {}

  Result<BoundOp> bind(const calbin::Op& op) const {
    BoundOp out;
    out.op = &op;
    for (const Operand& operand : op.reads) {
      CALKIT_TRY(const Place place, read_place(op, operand));
      out.per_row = out.per_row || place == Place::kKv;
      out.reads.push_back({&operand, place});
    }
    for (const Operand& operand : op.writes) {
      CALKIT_TRY(const Place place, write_place(op, operand));
      out.writes.push_back({&operand, place});
    }
    if (out.per_row) check_row_op(op, out);
    return out;
  }

 private:
  Error fault(const calbin::Op& op, const Operand& operand, const std::string& found,
              const std::string& allowed) const {
    return input_error("calbin", operand_text(program_.list, op, operand), found, allowed, kPackAgain);
  }

  /// A good package may ask for this; the image is refused once everything else has been checked.
  Place beyond(const calbin::Op& op, const Operand& operand, const std::string& found,
               const std::string& allowed) const {
    if (!image_.beyond)
      image_.beyond =
          input_error("calbin", operand_text(program_.list, op, operand), found, allowed + " on this device");
    return Place::kMemory;
  }

  Result<Place> read_place(const calbin::Op& op, const Operand& operand) const {
    if (operand.absent) return Place::kAbsent;
    if (!operand.csr.empty()) return csr_place(op, operand);
    CALKIT_TRY(const calbin::Region* const region, check_range(op, operand));
    if (region->kind == "param") {
      for (const auto& extent : operand.shape)
        if (!std::holds_alternative<std::int64_t>(extent.value))
          return beyond(op, operand, "a symbol in a parameter's shape", "numbers");
      return Place::kParam;
    }
    if (region->kind == "kv") return Place::kKv;
    return Place::kMemory;
  }

  Result<Place> write_place(const calbin::Op& op, const Operand& operand) const {
    const char* allowed = "memory of a workspace or io region";
    if (operand.absent || !operand.csr.empty())
      return beyond(op, operand, operand.absent ? "an absent output" : "a CSR", allowed);
    CALKIT_TRY(const calbin::Region* const region, check_range(op, operand));
    if (region->kind == "workspace" || region->kind == "io") return Place::kMemory;
    const std::string found = "a write to region '" + region->id + "' of kind " + region->kind;
    // New rows of the KV cache are written by CacheAttention, which reads them.
    if (region->kind == "kv" || region->kind == "global") return beyond(op, operand, found, allowed);
    return fault(op, operand, found, allowed);
  }

  /// A CSR operand must name the register's own address: two sources for one fact that must agree.
  Result<Place> csr_place(const calbin::Op& op, const Operand& operand) const {
    for (const calbin::Csr& csr : submodel_.csr) {
      if (csr.name != operand.csr) continue;
      if (operand.base != csr.base)
        return fault(op, operand, hex_u64(operand.base),
                     fmt::format("{}, the address of CSR '{}'", hex_u64(csr.base), csr.name));
      if (static_cast<std::int64_t>(8 * dtype_bytes(operand.dtype)) != csr.width_bits)
        return fault(op, operand, std::string(dtype_name(operand.dtype)),
                     fmt::format("{} bits, as register '{}' has", csr.width_bits, csr.name));
      if (operand.dtype != DType::kI32 || operand_shape(operand, submodel_.batch, 1) != Shape{submodel_.batch})
        return beyond(op, operand, std::string(dtype_name(operand.dtype)), "i32 [B] for a CSR");
      return Place::kCsr;
    }
    return fault(op, operand, "CSR '" + operand.csr + "'", "a CSR of submodel '" + submodel_.name + "'");
  }

  Result<const calbin::Region*> check_range(const calbin::Op& op, const Operand& operand) const {
    const calbin::Region* region = description_.region(operand.region);
    if (region == nullptr)
      return fault(op, operand, "region '" + operand.region + "'", "the id of a region of this package");
    if (region->chip != program_.chip)
      beyond(op, operand, fmt::format("chip {}", region->chip), fmt::format("chip {}", program_.chip));
    const auto end = checked_add(operand.base, operand.size);
    if (!end || operand.base < region->base || !range_inside(operand.base - region->base, operand.size, region->size))
      return fault(op, operand, fmt::format("{} + {} B", hex_u64(operand.base), operand.size),
                   fmt::format("inside region '{}', {} + {} B", region->id, hex_u64(region->base), region->size));
    if (operand.base % dtype_bytes(operand.dtype) != 0)
      return fault(op, operand, hex_u64(operand.base), fmt::format("a multiple of {}", dtype_bytes(operand.dtype)));
    for (const auto& extent : operand.shape) {
      const auto* symbol = std::get_if<std::string>(&extent.value);
      if (symbol != nullptr && *symbol != "B" && *symbol != "S")
        return fault(op, operand, "extent \"" + *symbol + "\"", "a number, \"B\" or \"S\"");
    }
    const Shape largest = operand_shape(operand, submodel_.batch, submodel_.tokens.max);
    const auto bytes = checked_product(largest, dtype_bytes(operand.dtype));
    if (!bytes || *bytes > operand.size)
      return fault(op, operand, fmt::format("{} B reserved", operand.size),
                   fmt::format("room for {} of {}", shape_text(largest), dtype_name(operand.dtype)));
    return region;
  }

  /// Operators that touch the KV region run row by row: rows lead every other operand, and a slot holds the whole
  /// operand.
  void check_row_op(const calbin::Op& op, const BoundOp& bound) const {
    if (op.domain != "calkit" || op.type != "CacheAttention")
      beyond(op, *bound.reads.front().spec, "a read of the kv region", "calkit:CacheAttention only");
    const calbin::Region& kv = *description_.region(description_.kv.regions[0]);
    for (const auto& list : {bound.reads, bound.writes}) {
      for (const BoundOperand& operand : list) {
        if (operand.place == Place::kKv) {
          if (operand.spec->region != kv.id || operand.spec->base - kv.base + operand.spec->size > image_.slot_stride())
            beyond(op, *operand.spec, fmt::format("{} + {} B", hex_u64(operand.spec->base), operand.spec->size),
                   fmt::format("inside the first KV slot, {} + {} B", hex_u64(kv.base), image_.slot_stride()));
        } else if (operand.place == Place::kMemory || operand.place == Place::kCsr) {
          const auto& shape = operand.spec->shape;
          if (shape.empty() || !std::holds_alternative<std::string>(shape[0].value) ||
              std::get<std::string>(shape[0].value) != "B")
            beyond(op, *operand.spec, "a first extent that is not \"B\"", "rows first");
        }
      }
    }
  }

  Image& image_;
  const Description& description_;
  const Program& program_;
  const calbin::Submodel& submodel_;
};

struct Listed {
  std::string path;
  Value document;
};
Result<Listed> read_listed(const calbin::Package& package, const std::string& what, const std::string& file_id,
                           const std::string& role) {
  const calbin::PackageFile* file = package.description().file(file_id);
  if (file == nullptr || file->role != role)
    return input_error("calbin.json", what, "file '" + file_id + "'", "a listed file of role " + role, kPackAgain);
  CALKIT_TRY(const auto bytes, package.map(file_id), "reading the " + what);
  const std::string_view text(reinterpret_cast<const char*>(bytes->bytes().data()), bytes->size());
  CALKIT_TRY(Value document, parse_json(text, file->path));
  return Listed{file->path, std::move(document)};
}

/// The maps are for the host's driver, and must say what the description says.
Status check_iomaps(const calbin::Package& package, const calbin::Submodel& submodel) {
  for (const auto& [chip, file_id] : submodel.iomap) {
    CALKIT_TRY(const Listed listed, read_listed(package, "I/O map of '" + submodel.name + "'", file_id, "iomap"));
    CALKIT_TRY(const auto map, calbin::parse_iomap(Cursor(listed.document, listed.path)));
    const auto faults = calbin::compare_iomap(submodel, chip, map);
    if (!faults.empty())
      return input_error(listed.path, faults[0].pointer, faults[0].found, faults[0].allowed, kPackAgain);
  }
  return {};
}

/// An output that no op writes would hand out what lay there before.
Status check_outputs(const Program& program) {
  for (const calbin::IoTensor& io : program.submodel->outputs) {
    if (io.chip != program.chip || !io.alias_of.empty()) continue;
    const bool written = std::any_of(program.ops.begin(), program.ops.end(), [&](const BoundOp& op) {
      return std::any_of(op.writes.begin(), op.writes.end(), [&](const BoundOperand& write) {
        const auto& spec = *write.spec;
        return !spec.absent && spec.csr.empty() && spec.base < io.base + io.size && io.base < spec.base + spec.size;
      });
    });
    if (!written)
      return input_error("calbin.json", fmt::format("output '{}' of '{}'", io.name, program.submodel->name),
                         fmt::format("{} + {} B, which no op writes", hex_u64(io.base), io.size),
                         "an op that writes it", kPackAgain);
  }
  return {};
}

Result<Program> read_program(const calbin::Package& package, const calbin::Submodel& submodel) {
  Program program;
  program.submodel = &submodel;
  const auto& [chip, file_id] = *submodel.oplist.begin();
  program.chip = chip;
  CALKIT_TRY(const Listed listed, read_listed(package, "op list of '" + submodel.name + "'", file_id, "oplist"));
  CALKIT_TRY(program.list, calbin::parse_oplist(Cursor(listed.document, listed.path)));
  if (program.list.submodel != submodel.name || program.list.chip != chip)
    return input_error(listed.path, "/submodel",
                       fmt::format("'{}' on chip {}", program.list.submodel, program.list.chip),
                       fmt::format("'{}' on chip {}, whose op list this is", submodel.name, chip), kPackAgain);
  if (program.list.ops.empty()) return input_error(listed.path, "/ops", "no ops", "at least one op", kPackAgain);
  return program;
}

}  // namespace

std::int64_t extent_value(const calbin::Extent& extent, std::int64_t rows, std::int64_t tokens) {
  if (const auto* number = std::get_if<std::int64_t>(&extent.value)) return *number;
  return std::get<std::string>(extent.value) == "B" ? rows : tokens;
}

Shape operand_shape(const calbin::Operand& operand, std::int64_t rows, std::int64_t tokens) {
  Shape shape;
  shape.reserve(operand.shape.size());
  for (const auto& extent : operand.shape) shape.push_back(extent_value(extent, rows, tokens));
  return shape;
}

const Program* Image::program(std::string_view exact_name) const {
  for (const Program& program : programs)
    if (program.submodel->name == exact_name) return &program;
  return nullptr;
}

std::uint64_t Image::slot_stride() const {
  return description().kv.bytes_total / static_cast<std::uint64_t>(description().limits.slots);
}

Result<std::unique_ptr<const calbin::Package>> open_package(const std::filesystem::path& path) {
  CALKIT_TRY(calbin::Package package, calbin::Package::open(path));
  CALKIT_CHECK_OK(package.verify_files(), "checking the files of the package");
  return std::make_unique<const calbin::Package>(std::move(package));
}

Result<Image> bind_image(std::unique_ptr<const calbin::Package> package) {
  const Description& description = package->description();
  CALKIT_CHECK_OK(check_regions(description));
  CALKIT_CHECK_OK(check_params(description));
  CALKIT_CHECK_OK(check_kv(description));
  Image image;
  image.package = std::move(package);
  for (const calbin::Submodel& submodel : description.submodels) {
    CALKIT_CHECK_OK(check_io(description, submodel));
    CALKIT_CHECK_OK(check_iomaps(*image.package, submodel));
    CALKIT_TRY(Program read, read_program(*image.package, submodel));
    image.programs.push_back(std::move(read));
    Program& program = image.programs.back();
    const Binder binder(image, program);
    for (const calbin::Op& op : program.list.ops) {
      CALKIT_TRY(BoundOp bound, binder.bind(op));
      program.ops.push_back(std::move(bound));
    }
    CALKIT_CHECK_OK(check_outputs(program));
  }
  return image;
}

Status check_operators(const Image& image) {
  const std::vector<std::string> list = exec::supported_operators();
  const std::set<std::string> known(list.begin(), list.end());
  if (image.beyond) return *image.beyond;
  for (const Program& program : image.programs) {
    for (const BoundOp& bound : program.ops) {
      const std::string& domain = bound.op->domain.empty() ? std::string("ai.onnx") : bound.op->domain;
      if (!known.contains(domain + ":" + bound.op->type))
        return input_error("calbin", fmt::format("op list of '{}': op {}", program.list.submodel, bound.op->id),
                           "operator " + domain + ":" + bound.op->type, "an operator this device has a kernel for");
    }
  }
  return {};
}

}  // namespace calkit::emulator
