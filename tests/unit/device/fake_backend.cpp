#include "fake_backend.h"

#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using calkit::device::fake_counts;
using calkit::device::fake_settings;

calkit_layout_v1 layout(std::uint32_t dtype, std::int64_t rows, std::int64_t physical_rows, std::int64_t columns,
                        std::uint64_t unit) {
  calkit_layout_v1 out{};
  out.size = sizeof out;
  out.dtype = dtype;
  out.rank = 2;
  out.shape[0] = physical_rows;
  out.shape[1] = out.logical_shape[1] = columns;
  out.logical_shape[0] = rows;
  out.strides_bytes[0] = static_cast<std::uint64_t>(columns) * unit;
  out.strides_bytes[1] = unit;
  out.tile_rows = physical_rows > rows ? physical_rows : 0;
  out.bytes = static_cast<std::uint64_t>(physical_rows * columns) * unit;
  return out;
}

std::uint32_t ok(calkit_status_v1* status) {
  status->kind = status->scope = 0;
  return 0;
}

std::uint32_t fail(calkit_status_v1* status) {
  const auto& settings = fake_settings();
  status->kind = settings.wait_kind;
  status->scope = settings.wait_scope;
  status->raw_code = settings.raw_code;
  std::memset(status->message, 'x', sizeof status->message);
  if (!settings.unterminated_message) std::strcpy(status->message, "as the settings say");
  return settings.wait_kind;
}

}  // namespace

struct calkit_device_v1 {};
struct calkit_package_v1 {};
struct calkit_kv_v1 {};
struct calkit_job_v1 {};
struct calkit_buffer_v1 {
  std::vector<std::byte> bytes;
};

namespace calkit::device {
namespace {

const calkit_layout_v1& layout_of(std::uint32_t direction) {
  return direction == CALKIT_INPUT ? fake_settings().token : fake_settings().logits;
}

calkit_device_api_v1 make_table() {
  calkit_device_api_v1 t{};
  t.open = [](calkit_device_v1** out, calkit_status_v1* s) {
    *out = new calkit_device_v1();
    ++fake_counts().devices;
    return ok(s);
  };
  t.close = [](calkit_device_v1* device, calkit_status_v1* s) {
    delete device;
    --fake_counts().devices;
    return ok(s);
  };
  t.info = [](calkit_device_v1*, calkit_device_info_v1* info, calkit_status_v1* s) {
    info->name = "fake";
    info->runtime_version = "0.7.6";
    return ok(s);
  };
  t.health = [](calkit_device_v1*, calkit_status_v1* s) { return ok(s); };
  t.counters = [](calkit_device_v1*, calkit_counters_v1* out, calkit_status_v1* s) {
    out->buffers = static_cast<std::uint64_t>(fake_counts().buffers);
    return ok(s);
  };
  t.telemetry = [](calkit_device_v1*, calkit_telemetry_v1*, calkit_status_v1* s) { return ok(s); };
  t.load = [](calkit_device_v1*, const char*, calkit_package_v1** out, calkit_status_v1* s) {
    if (fake_settings().interrupted_load) {
      std::raise(SIGTERM);
      s->kind = CALKIT_KIND_BAD_PACKAGE;
      return s->kind;
    }
    *out = new calkit_package_v1();
    ++fake_counts().packages;
    return ok(s);
  };
  t.unload = [](calkit_package_v1* package, calkit_status_v1* s) {
    delete package;
    --fake_counts().packages;
    return ok(s);
  };
  t.package_info = [](calkit_package_v1*, calkit_package_info_v1* info, calkit_status_v1* s) {
    info->models = 2;
    info->name = "fake";
    info->version = "1.0.0";
    info->architecture = "qwen3";
    info->runtime_abi = "0.7.6";
    info->vocab = 8;
    info->context = info->max_prefill_tokens = 16;
    info->batch = info->slots = 1;
    return ok(s);
  };
  t.model_info = [](calkit_package_v1*, std::uint32_t index, calkit_model_info_v1* info, calkit_status_v1* s) {
    info->inputs = 2;
    info->outputs = 1;
    info->csrs = 2;
    info->name = index == 0 ? "fake-prefill" : "fake-decode";
    info->type = index == 0 ? "prefill" : "decode";
    info->batch = 1;
    info->context = 16;
    info->min_tokens = 1;
    info->max_tokens = index == 0 ? 16 : 1;
    return ok(s);
  };
  t.tensor_info = [](calkit_package_v1*, const char*, std::uint32_t direction, std::uint32_t index,
                     calkit_tensor_info_v1* info, calkit_status_v1* s) {
    info->name = direction == CALKIT_OUTPUT ? "logits" : index == 0 ? "token_ids" : "position_ids";
    info->role = direction == CALKIT_OUTPUT ? "logits" : index == 0 ? "token" : "position";
    info->layout = layout_of(direction);
    return ok(s);
  };
  t.csr_info = [](calkit_package_v1*, const char*, std::uint32_t index, calkit_csr_info_v1* info, calkit_status_v1* s) {
    info->name = info->role = index == 0 ? "cur_seq_len" : "past_kv_cur_seq_len";
    info->width_bits = 32;
    info->count = 1;
    return ok(s);
  };
  t.configure = [](calkit_package_v1*, std::int64_t, calkit_memory_report_v1* memory, calkit_status_v1* s) {
    memory->param_bytes = 100;
    return ok(s);
  };
  t.buffer_create = [](calkit_package_v1*, const char*, std::uint32_t direction, const char*, calkit_buffer_v1** out,
                       calkit_status_v1* s) {
    *out = new calkit_buffer_v1();
    (*out)->bytes.resize(layout_of(direction).bytes);
    auto* floats = reinterpret_cast<float*>((*out)->bytes.data());
    for (std::size_t i = 0; i < (*out)->bytes.size() / 4; ++i) floats[i] = static_cast<float>(i);
    ++fake_counts().buffers;
    return ok(s);
  };
  t.buffer_map = [](calkit_buffer_v1* buffer, std::uint32_t, void** data, std::uint64_t* bytes, calkit_status_v1* s) {
    *data = buffer->bytes.data();
    *bytes = buffer->bytes.size() - fake_settings().map_bytes_short;
    ++fake_counts().mapped;
    return ok(s);
  };
  t.buffer_unmap = [](calkit_buffer_v1*, calkit_status_v1* s) {
    --fake_counts().mapped;
    return ok(s);
  };
  t.buffer_destroy = [](calkit_buffer_v1* buffer, calkit_status_v1* s) {
    delete buffer;
    --fake_counts().buffers;
    return ok(s);
  };
  t.csr_write = [](calkit_package_v1*, const char*, const char*, std::uint32_t, std::int64_t, calkit_status_v1* s) {
    return ok(s);
  };
  t.kv_allocate = [](calkit_package_v1*, calkit_kv_v1** out, calkit_status_v1* s) {
    *out = new calkit_kv_v1();
    ++fake_counts().slots;
    return ok(s);
  };
  t.kv_apply = [](calkit_kv_v1*, std::uint32_t, calkit_status_v1* s) { return ok(s); };
  t.kv_clear = [](calkit_kv_v1*, calkit_status_v1* s) { return ok(s); };
  t.kv_free = [](calkit_kv_v1* kv, calkit_status_v1* s) {
    delete kv;
    --fake_counts().slots;
    return ok(s);
  };
  t.submit = [](calkit_package_v1*, const calkit_submit_v1*, calkit_job_v1** out, calkit_status_v1* s) {
    *out = new calkit_job_v1();
    ++fake_counts().jobs;
    return ok(s);
  };
  t.wait = [](calkit_job_v1*, std::int64_t, std::uint32_t* state, calkit_status_v1* s) {
    if (fake_settings().wait_kind != CALKIT_KIND_OK) return fail(s);
    *state = fake_settings().job_state;
    return ok(s);
  };
  t.job_times = [](calkit_job_v1*, calkit_job_times_v1* times, calkit_status_v1* s) {
    times->queue_ns = 1;
    times->h2d_ns = 2;
    times->infer_ns = 3;
    times->d2h_ns = 4;
    return ok(s);
  };
  t.job_release = [](calkit_job_v1* job, calkit_status_v1* s) {
    delete job;
    --fake_counts().jobs;
    return ok(s);
  };
  return t;
}

}  // namespace

FakeSettings good_fake() {
  FakeSettings out;
  out.token = layout(CALKIT_I32, 1, 1, 16, 4);
  out.logits = layout(CALKIT_F32, 1, 16, 8, 4);
  return out;
}

FakeSettings& fake_settings() {
  static FakeSettings settings = good_fake();
  return settings;
}

FakeCounts& fake_counts() {
  static FakeCounts counts;
  return counts;
}

const calkit_device_api_v1* fake_entry(std::uint32_t) {
  static calkit_device_api_v1 table;
  table = make_table();
  table.abi_version = fake_settings().table_version;
  table.size = static_cast<std::uint32_t>(sizeof table - fake_settings().table_short);
  return &table;
}

}  // namespace calkit::device
