// Device and package functions of the C boundary.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/process.h"
#include "calkit/emulator/emulator.h"
#include "check_memory.h"
#include "handles.h"

namespace calkit::emulator {
namespace {

constexpr const char* kName = "calkit emulated device";

std::uint32_t abi_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CALKIT_F32;
    case DType::kF16:
      return CALKIT_F16;
    case DType::kBF16:
      return CALKIT_BF16;
    case DType::kI8:
      return CALKIT_I8;
    case DType::kU8:
      return CALKIT_U8;
    case DType::kI32:
      return CALKIT_I32;
    case DType::kI64:
      return CALKIT_I64;
    default:
      return 0;
  }
}

void fill_layout(const calbin::IoTensor& tensor, calkit_layout_v1& out) {
  out.size = sizeof out;
  out.dtype = abi_dtype(tensor.dtype);
  out.rank = static_cast<std::uint32_t>(tensor.shape.size());
  const auto strides = row_major_strides(tensor);  // every tensor of a bound image has two axes
  for (std::size_t axis = 0; axis < tensor.shape.size() && axis < CALKIT_MAX_RANK; ++axis) {
    out.shape[axis] = tensor.shape[axis];
    out.logical_shape[axis] = tensor.layout.logical_shape[axis];
    out.strides_bytes[axis] = strides[axis];
  }
  out.tile_rows = tensor.layout.tile.empty() ? 0 : tensor.layout.tile[0];
  out.bytes = tensor.size;
}

Answer load_image(const char* path, Image& image) {
  auto opened = open_package(path);
  if (!opened.ok()) return from_error(opened.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
  if (auto status = check_supported(opened.value()->description()); !status.ok())
    return from_error(status.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_UNSUPPORTED);
  auto bound = bind_image(std::move(opened).value());
  if (!bound.ok()) return from_error(bound.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
  if (auto status = check_operators(bound.value()); !status.ok())
    return from_error(status.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_UNSUPPORTED);
  image = std::move(bound).value();
  return {};
}

}  // namespace

const Program* find_program(const calkit_package_v1& package, const char* model, Answer& refusal) {
  if (model == nullptr) {
    refusal = refuse(CALKIT_KIND_INVALID_ARGUMENT, "the model name is NULL");
    return nullptr;
  }
  const Program* program = package.image.program(model);
  if (program == nullptr) {
    std::string names;
    for (const Program& known : package.image.programs) names += (names.empty() ? "" : ", ") + known.submodel->name;
    refusal = refuse(CALKIT_KIND_NOT_FOUND, fmt::format("no model '{}'; the package has: {}", model, names));
  }
  return program;
}

std::uint32_t open_device(calkit_device_v1** device, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (device == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the place for the device is NULL");
    *device = new calkit_device_v1();
    return {};
  });
}

std::uint32_t close_device(calkit_device_v1* device, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (device == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the device is NULL");
    if (device->package != nullptr) return refuse(CALKIT_KIND_BUSY, "a package is loaded; unload it first");
    delete device;
    return {};
  });
}

std::uint32_t device_info(calkit_device_v1* device, calkit_device_info_v1* info, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (device == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the device is NULL");
    if (!speaks(info)) return refuse(CALKIT_KIND_ABI, "calkit_device_info_v1 is NULL or too small");
    info->emulated = 1;
    info->name = kName;
    info->runtime_version = info->driver_version = info->firmware_version = nullptr;
    return {};
  });
}

std::uint32_t device_health(calkit_device_v1* device, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (device == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the device is NULL");
    return {};
  });
}

std::uint32_t device_counters(calkit_device_v1* device, calkit_counters_v1* counters, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (device == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the device is NULL");
    if (!speaks(counters)) return refuse(CALKIT_KIND_ABI, "calkit_counters_v1 is NULL or too small");
    const std::uint32_t size = counters->size;
    *counters = device->counters;
    counters->size = size;
    return {};
  });
}

std::uint32_t device_telemetry(calkit_device_v1* device, calkit_telemetry_v1* telemetry, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (device == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the device is NULL");
    if (!speaks(telemetry)) return refuse(CALKIT_KIND_ABI, "calkit_telemetry_v1 is NULL or too small");
    for (calkit_reading_v1* reading :
         {&telemetry->power_w, &telemetry->temperature_c, &telemetry->clock_hz, &telemetry->resets})
      *reading = {0, 0};
    return {};
  });
}

std::uint32_t load_package(calkit_device_v1* device, const char* path, calkit_package_v1** package,
                           calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (device == nullptr || path == nullptr || package == nullptr)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT, "device, path or the place for the package is NULL");
    if (device->package != nullptr) return refuse(CALKIT_KIND_BUSY, "a package is loaded; unload it first");
    auto loaded = std::make_unique<calkit_package_v1>();
    if (Answer answer = load_image(path, loaded->image); !answer.ok()) return answer;
    loaded->device = device;
    loaded->slots_taken.resize(static_cast<std::size_t>(loaded->image.description().limits.slots));
    std::int64_t rows = 0;
    for (const Program& program : loaded->image.programs) rows = std::max(rows, program.submodel->batch);
    loaded->row_slots.resize(static_cast<std::size_t>(rows));
    device->package = loaded.get();
    ++device->counters.packages;
    *package = loaded.release();
    return {};
  });
}

std::uint32_t unload_package(calkit_package_v1* package, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (package == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the package is NULL");
    if (package->children > 0)
      return refuse(CALKIT_KIND_BUSY, fmt::format("{} buffers, KV slots or jobs are alive", package->children));
    package->device->package = nullptr;
    --package->device->counters.packages;
    delete package;
    return {};
  });
}

std::uint32_t package_info(calkit_package_v1* package, calkit_package_info_v1* info, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (package == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the package is NULL");
    if (!speaks(info)) return refuse(CALKIT_KIND_ABI, "calkit_package_info_v1 is NULL or too small");
    const calbin::Description& description = package->image.description();
    info->models = static_cast<std::uint32_t>(package->image.programs.size());
    info->name = description.name.c_str();
    info->version = description.version.c_str();
    info->digest = package->image.package->digest().c_str();
    info->architecture = description.model.family.c_str();
    info->runtime_abi = description.compat.runtime_abi.c_str();
    info->vocab = description.model.vocab;
    info->context = description.limits.context;
    info->batch = description.limits.max_batch;
    info->slots = description.limits.slots;
    info->max_prefill_tokens = description.limits.max_prefill_tokens;
    info->kv_bytes = description.kv.bytes_total;
    return {};
  });
}

std::uint32_t model_info(calkit_package_v1* package, std::uint32_t index, calkit_model_info_v1* info,
                         calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (package == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the package is NULL");
    if (!speaks(info)) return refuse(CALKIT_KIND_ABI, "calkit_model_info_v1 is NULL or too small");
    if (index >= package->image.programs.size())
      return refuse(CALKIT_KIND_NOT_FOUND, fmt::format("model {} of {}", index, package->image.programs.size()));
    const calbin::Submodel& submodel = *package->image.programs[index].submodel;
    info->inputs = static_cast<std::uint32_t>(submodel.inputs.size());
    info->outputs = static_cast<std::uint32_t>(submodel.outputs.size());
    info->csrs = static_cast<std::uint32_t>(submodel.csr.size());
    info->name = submodel.name.c_str();
    info->type = submodel.type.c_str();
    info->batch = submodel.batch;
    info->context = submodel.context;
    info->min_tokens = submodel.tokens.min;
    info->max_tokens = submodel.tokens.max;
    return {};
  });
}

std::uint32_t tensor_info(calkit_package_v1* package, const char* model, std::uint32_t direction, std::uint32_t index,
                          calkit_tensor_info_v1* info, calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (package == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the package is NULL");
    if (!speaks(info)) return refuse(CALKIT_KIND_ABI, "calkit_tensor_info_v1 is NULL or too small");
    Answer refusal;
    const Program* program = find_program(*package, model, refusal);
    if (program == nullptr) return refusal;
    if (direction != CALKIT_INPUT && direction != CALKIT_OUTPUT)
      return refuse(CALKIT_KIND_INVALID_ARGUMENT,
                    fmt::format("direction {}; allowed: 0 (input), 1 (output)", direction));
    const auto& list = direction == CALKIT_INPUT ? program->submodel->inputs : program->submodel->outputs;
    // A tensor's number is its `index`, wherever the description lists it.
    const auto at =
        std::find_if(list.begin(), list.end(), [&](const calbin::IoTensor& io) { return io.index == index; });
    if (at == list.end())
      return refuse(CALKIT_KIND_NOT_FOUND, fmt::format("tensor {} of {} of '{}'", index, list.size(), model));
    info->name = at->name.c_str();
    info->role = at->role.c_str();
    fill_layout(*at, info->layout);
    return {};
  });
}

std::uint32_t csr_info(calkit_package_v1* package, const char* model, std::uint32_t index, calkit_csr_info_v1* info,
                       calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (package == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the package is NULL");
    if (!speaks(info)) return refuse(CALKIT_KIND_ABI, "calkit_csr_info_v1 is NULL or too small");
    Answer refusal;
    const Program* program = find_program(*package, model, refusal);
    if (program == nullptr) return refusal;
    if (index >= program->submodel->csr.size())
      return refuse(CALKIT_KIND_NOT_FOUND,
                    fmt::format("CSR {} of {} of '{}'", index, program->submodel->csr.size(), model));
    const calbin::Csr& csr = program->submodel->csr[index];
    info->name = csr.name.c_str();
    info->role = csr.role.c_str();
    info->width_bits = static_cast<std::uint32_t>(csr.width_bits);
    info->count = static_cast<std::uint32_t>(csr.count);
    return {};
  });
}

std::uint32_t configure_package(calkit_package_v1* package, std::int64_t timeout_ns, calkit_memory_report_v1* memory,
                                calkit_status_v1* status) {
  return guard(status, [&]() -> Answer {
    if (package == nullptr) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the package is NULL");
    if (!speaks(memory)) return refuse(CALKIT_KIND_ABI, "calkit_memory_report_v1 is NULL or too small");
    if (timeout_ns <= 0) return refuse(CALKIT_KIND_INVALID_ARGUMENT, "the time limit must be positive");
    if (package->machine != nullptr) return refuse(CALKIT_KIND_BAD_STATE, "the package is configured already");
    const auto start = std::chrono::steady_clock::now();
    auto machine = Machine::create(package->image, Deadline::in(std::chrono::nanoseconds(timeout_ns)));
    if (!machine.ok()) return from_error(machine.error(), CALKIT_SCOPE_MODEL, CALKIT_KIND_BAD_PACKAGE);
    package->machine = std::move(machine).value();
    const MemoryBytes& bytes = package->machine->memory();
    memory->param_bytes = bytes.param;
    memory->kv_bytes = bytes.kv;
    memory->workspace_bytes = bytes.workspace;
    memory->io_bytes = bytes.io;
    memory->host_bytes = bytes.host;
    memory->duration_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
    return {};
  });
}

const calkit_device_api_v1* entry(std::uint32_t abi_version) noexcept {
  static const calkit_device_api_v1 table = {
      sizeof(calkit_device_api_v1),
      CALKIT_DEVICE_ABI_V1,
      &open_device,
      &close_device,
      &device_info,
      &device_health,
      &device_counters,
      &device_telemetry,
      &load_package,
      &unload_package,
      &package_info,
      &model_info,
      &tensor_info,
      &csr_info,
      &configure_package,
      &buffer_create,
      &buffer_map,
      &buffer_unmap,
      &buffer_destroy,
      &csr_write,
      &kv_allocate,
      &kv_apply,
      &kv_clear,
      &kv_free,
      &submit_job,
      &wait_job,
      &job_times,
      &job_release,
  };
  return abi_version == CALKIT_DEVICE_ABI_V1 ? &table : nullptr;
}

}  // namespace calkit::emulator
