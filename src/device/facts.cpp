#include "facts.h"

#include <fmt/format.h>

#include <optional>

#include "calkit/manifest/version_range.h"

namespace calkit::device {
namespace {

constexpr const char* kService = "service manifest";

std::string text_of(const char* text) {
  return text != nullptr ? std::string(text) : std::string();
}

std::optional<DType> dtype_of(std::uint32_t dtype) {
  switch (dtype) {
    case CALKIT_F32:
      return DType::kF32;
    case CALKIT_F16:
      return DType::kF16;
    case CALKIT_BF16:
      return DType::kBF16;
    case CALKIT_I8:
      return DType::kI8;
    case CALKIT_U8:
      return DType::kU8;
    case CALKIT_I32:
      return DType::kI32;
    case CALKIT_I64:
      return DType::kI64;
    default:
      return std::nullopt;
  }
}

/// No element that logical_shape allows may lie outside the buffer: a backend is not trusted with our memory.
bool layout_inside(const calkit_layout_v1& layout, std::uint64_t unit) {
  if (layout.rank == 0 || layout.rank > CALKIT_MAX_RANK || layout.bytes < unit || layout.bytes > (1ull << 50))
    return false;
  std::uint64_t last = 0;
  for (std::uint32_t axis = 0; axis < layout.rank; ++axis) {
    const std::int64_t extent = layout.logical_shape[axis];
    if (extent < 1 || extent > (1ll << 40) || layout.strides_bytes[axis] > layout.bytes) return false;
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(extent - 1), layout.strides_bytes[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return false;
  }
  return last <= layout.bytes - unit;
}

TensorInfo tensor_info_of(const calkit_tensor_info_v1& raw) {
  TensorInfo out;
  out.name = text_of(raw.name);
  out.role = text_of(raw.role);
  out.dtype = *dtype_of(raw.layout.dtype);
  out.shape.assign(raw.layout.shape, raw.layout.shape + raw.layout.rank);
  out.logical_shape.assign(raw.layout.logical_shape, raw.layout.logical_shape + raw.layout.rank);
  out.tile_rows = raw.layout.tile_rows;
  return out;
}

Result<ModelInfo> read_model(const Connection& connection, std::uint32_t index) {
  calkit_model_info_v1 raw{};
  raw.size = sizeof raw;
  CALKIT_CHECK_OK(connection.call("model_info", connection.api().model_info, connection.package, index, &raw));
  ModelInfo out;
  out.name = text_of(raw.name);
  out.type = text_of(raw.type);
  out.batch = raw.batch;
  out.context = raw.context;
  out.min_tokens = raw.min_tokens;
  out.max_tokens = raw.max_tokens;
  for (std::uint32_t i = 0; i < raw.inputs; ++i) {
    CALKIT_TRY(const calkit_tensor_info_v1 tensor, read_tensor(connection, out.name, CALKIT_INPUT, i));
    out.inputs.push_back(tensor_info_of(tensor));
  }
  for (std::uint32_t i = 0; i < raw.outputs; ++i) {
    CALKIT_TRY(const calkit_tensor_info_v1 tensor, read_tensor(connection, out.name, CALKIT_OUTPUT, i));
    out.outputs.push_back(tensor_info_of(tensor));
  }
  for (std::uint32_t i = 0; i < raw.csrs; ++i) {
    calkit_csr_info_v1 csr{};
    csr.size = sizeof csr;
    CALKIT_CHECK_OK(
        connection.call("csr_info", connection.api().csr_info, connection.package, out.name.c_str(), i, &csr));
    out.csrs.push_back(text_of(csr.name));
  }
  return out;
}

Error mismatch(const std::string& field, const std::string& found, const std::string& expected) {
  return input_error(kService, field, found, expected + ", as the package has it",
                     "correct the service manifest, or use the package it was written for");
}

Status same_text(const std::string& field, const std::string& found, const std::string& expected) {
  if (found == expected) return {};
  return mismatch(field, "'" + found + "'", "'" + expected + "'");
}

/// A package names the runtimes it was built for as a version or a range.
Status same_runtime(const std::string& service, const std::string& package) {
  const auto range = manifest::VersionRange::parse(package);
  const auto wanted = manifest::Version::parse(service);
  if (range.ok() && wanted && range->contains(*wanted)) return {};
  return mismatch("runtime_abi", "'" + service + "'", "'" + package + "'");
}

Status same_number(const std::string& field, std::int64_t found, std::int64_t expected) {
  if (found == expected) return {};
  return mismatch(field, fmt::format("{}", found), fmt::format("{}", expected));
}

Result<const ModelInfo*> bound_model(const PackageInfo& package, const std::string& type, const std::string& name) {
  const std::string field = "models/" + type;
  std::string names;
  for (const ModelInfo& model : package.models) {
    if (model.name == name) {
      CALKIT_CHECK_OK(same_text(field + " type", type, model.type));
      return &model;
    }
    names += (names.empty() ? "'" : ", '") + model.name + "'";
  }
  return mismatch(field, "'" + name + "'", "one of " + names);
}

Status check_tensor(const std::string& field, const manifest::Binding& binding, const char* list_name, const char* role,
                    const std::vector<TensorInfo>& list, const ModelInfo& model) {
  if (binding.name != list_name || binding.index >= list.size())
    return mismatch("tensors/" + field, binding.text,
                    fmt::format("{}[0..{}] of '{}'", list_name, list.size() - 1, model.name));
  if (list[binding.index].role != role)
    return mismatch("tensors/" + field, fmt::format("{}, which is the {}", binding.text, list[binding.index].role),
                    fmt::format("the {} of '{}'", role, model.name));
  return {};
}

Status check_csr(const Connection& connection, const std::string& field, const manifest::Binding& binding,
                 const char* role, const ModelInfo& model) {
  for (std::uint32_t i = 0; i < model.csrs.size(); ++i) {
    if (model.csrs[i] != binding.name) continue;
    calkit_csr_info_v1 csr{};
    csr.size = sizeof csr;
    CALKIT_CHECK_OK(
        connection.call("csr_info", connection.api().csr_info, connection.package, model.name.c_str(), i, &csr));
    if (text_of(csr.role) != role)
      return mismatch("csr/" + field, fmt::format("{}, which is the {}", binding.text, text_of(csr.role)),
                      fmt::format("the {}", role));
    if (binding.index >= csr.count)
      return mismatch("csr/" + field, binding.text, fmt::format("{}[0..{}]", binding.name, csr.count - 1));
    return {};
  }
  return mismatch("csr/" + field, binding.text, fmt::format("a CSR of '{}'", model.name));
}

Status check_model(const Connection& connection, const ModelInfo& model, const manifest::ServiceManifest& service) {
  if (model.inputs.size() != 2 || model.outputs.size() != 1)
    return input_error("package", model.name,
                       fmt::format("{} inputs and {} outputs", model.inputs.size(), model.outputs.size()),
                       "token, position and logits");
  CALKIT_CHECK_OK(check_tensor("token", service.token, "inputs", "token", model.inputs, model));
  CALKIT_CHECK_OK(check_tensor("position", service.position, "inputs", "position", model.inputs, model));
  CALKIT_CHECK_OK(check_tensor("logits", service.logits, "outputs", "logits", model.outputs, model));
  CALKIT_CHECK_OK(check_csr(connection, "current", service.csr_current, "cur_seq_len", model));
  CALKIT_CHECK_OK(check_csr(connection, "past_current", service.csr_past_current, "past_kv_cur_seq_len", model));
  if (service.context > model.context)
    return mismatch("context", fmt::format("{}", service.context),
                    fmt::format("at most {}, as '{}' has it", model.context, model.name));
  const TensorInfo& logits = model.outputs[0];
  if (logits.logical_shape.back() < service.vocab)
    return mismatch("vocab", fmt::format("{}", service.vocab),
                    fmt::format("at most {} logits", logits.logical_shape.back()));
  if (logits.dtype != DType::kF32 && logits.dtype != DType::kBF16)
    return input_error("package", model.name + " logits", std::string(dtype_name(logits.dtype)), "f32 or bf16");
  for (const TensorInfo& input : model.inputs)
    if (input.dtype != DType::kI32 && input.dtype != DType::kI64)
      return input_error("package", model.name + " " + input.name, std::string(dtype_name(input.dtype)), "i32 or i64");
  return {};
}

}  // namespace

Result<calkit_tensor_info_v1> read_tensor(const Connection& connection, const std::string& model,
                                          std::uint32_t direction, std::uint32_t index) {
  calkit_tensor_info_v1 raw{};
  raw.size = sizeof raw;
  raw.layout.size = sizeof raw.layout;
  CALKIT_CHECK_OK(connection.call("tensor_info", connection.api().tensor_info, connection.package, model.c_str(),
                                  direction, index, &raw));
  const auto dtype = dtype_of(raw.layout.dtype);
  if (!dtype || raw.layout.rank != 2 || !layout_inside(raw.layout, dtype_bytes(*dtype)))
    return input_error("package", fmt::format("{} tensor {}", model, index),
                       "a layout that leaves its own buffer or an unknown dtype", "rows by columns inside the buffer");
  return raw;
}

Result<PackageInfo> read_package_info(const Connection& connection) {
  calkit_package_info_v1 raw{};
  raw.size = sizeof raw;
  CALKIT_CHECK_OK(connection.call("package_info", connection.api().package_info, connection.package, &raw));
  PackageInfo out;
  out.name = text_of(raw.name);
  out.version = text_of(raw.version);
  out.digest = text_of(raw.digest);
  out.architecture = text_of(raw.architecture);
  out.runtime_abi = text_of(raw.runtime_abi);
  out.vocab = raw.vocab;
  out.context = raw.context;
  out.batch = raw.batch;
  out.slots = raw.slots;
  out.max_prefill_tokens = raw.max_prefill_tokens;
  out.kv_bytes = raw.kv_bytes;
  for (std::uint32_t i = 0; i < raw.models; ++i) {
    CALKIT_TRY(ModelInfo model, read_model(connection, i));
    out.models.push_back(std::move(model));
  }
  return out;
}

Status check_binding(const Connection& connection, const PackageInfo& package,
                     const manifest::ServiceManifest& service) {
  CALKIT_CHECK_OK(same_text("architecture", service.architecture, package.architecture));
  CALKIT_CHECK_OK(same_text("calbin_version", service.calbin_version, package.version));
  CALKIT_CHECK_OK(same_runtime(service.runtime_abi, package.runtime_abi));
  if (service.context < 1 || service.context > package.context)
    return mismatch("context", fmt::format("{}", service.context), fmt::format("at most {}", package.context));
  CALKIT_CHECK_OK(same_number("batch", service.batch, package.batch));
  CALKIT_CHECK_OK(same_number("vocab", service.vocab, package.vocab));
  CALKIT_TRY(const ModelInfo* const prefill, bound_model(package, "prefill", service.prefill_model));
  CALKIT_TRY(const ModelInfo* const decode, bound_model(package, "decode", service.decode_model));
  CALKIT_CHECK_OK(check_model(connection, *prefill, service));
  return check_model(connection, *decode, service);
}

}  // namespace calkit::device
