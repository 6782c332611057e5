/* The runtime boundary, version 1: the C ABI between calkit and a device. Plain C11; it compiles as C++ too.
 *
 * A backend is a table of functions. The emulated device is one; a board's owner writes another as a shared object that
 * exports `calkit_device_entry` and is used as `--device plugin:PATH`. docs/calrt-binding.md maps each notion of CalRT
 * onto one call of this table.
 *
 * Contract (each sentence has a number that tests may cite):
 *  D1  No exception, signal, exit() or abort() crosses the boundary; every failure is a status.
 *  D2  Every call fills *status when it is not NULL, also on success; the return value equals status->kind.
 *  D3  Sized structs: the caller sets `size` to sizeof its own type before the call. The callee reads and writes no
 * byte beyond it, and refuses a size smaller than this header's with CALKIT_KIND_ABI. D4  Handles are opaque. The
 * callee makes them, the caller gives each back exactly once through its own release call (close, unload,
 * buffer_destroy, kv_free, job_release). NULL is refused, never dereferenced. D5  Out parameters are untouched on
 * failure, except *status. D6  Strings are UTF-8 and zero-terminated. Strings given out belong to the package or device
 * they were asked from and live until it is unloaded or closed. Strings passed in are copied during the call. D7  Names
 * match byte by byte; nothing is a prefix, a default or a fallback. D8  A child must be released before its parent:
 * unload and close answer CALKIT_KIND_BUSY while buffers, KV slots or jobs of theirs are alive, and change nothing. D9
 * No call waits without bound. `configure` and `wait` take a time limit in nanoseconds and return CALKIT_KIND_TIMEOUT
 * when it passes; every other call returns promptly. D10 One device and everything opened from it is used by one thread
 * at a time; two devices are independent. D11 A figure that the device cannot tell is "not available", never 0 and
 * never invented.
 */
#ifndef CALKIT_ABI_DEVICE_V1_H_
#define CALKIT_ABI_DEVICE_V1_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CALKIT_DEVICE_ABI_V1 1u
/* The symbol a plug-in exports; its type is calkit_device_entry_v1. */
#define CALKIT_DEVICE_ENTRY_SYMBOL "calkit_device_entry"
#define CALKIT_MAX_RANK 8
#define CALKIT_MESSAGE_BYTES 512

/* ---- status ------------------------------------------------------------------------------------------------------ */

/* How far an error reaches. An error of a narrower scope leaves the wider things usable. */
enum {
  CALKIT_SCOPE_NONE = 0,    /* success */
  CALKIT_SCOPE_REQUEST = 1, /* this call or job only */
  CALKIT_SCOPE_MODEL = 2,   /* the package: unload it */
  CALKIT_SCOPE_DEVICE = 3,  /* the device: close it */
  CALKIT_SCOPE_HOST = 4     /* this process or machine: memory, permissions */
};

enum {
  CALKIT_KIND_OK = 0,
  CALKIT_KIND_ABI = 1,              /* struct size or version this backend does not speak */
  CALKIT_KIND_INVALID_ARGUMENT = 2, /* NULL handle, value outside what package_info allows */
  CALKIT_KIND_NOT_FOUND = 3,        /* no such model, tensor, CSR or index: exact names only */
  CALKIT_KIND_BAD_STATE = 4,        /* the call does not fit the state: not configured, not mapped, mapped twice */
  CALKIT_KIND_BUSY = 5,             /* children are alive */
  CALKIT_KIND_KV_EXHAUSTED = 6,     /* all KV slots are taken */
  CALKIT_KIND_BAD_PACKAGE = 7,      /* the package is damaged or contradicts itself */
  CALKIT_KIND_UNSUPPORTED = 8,      /* operator, submodel type, dtype or version unknown to this device */
  CALKIT_KIND_OUT_OF_MEMORY = 9,
  CALKIT_KIND_TIMEOUT = 10,
  CALKIT_KIND_DEVICE_LOST = 11,
  CALKIT_KIND_INTERNAL = 12 /* a defect in the backend */
};

enum {
  CALKIT_RETRY_NO = 0,
  CALKIT_RETRY_AFTER_BACKOFF = 1, /* the same call may succeed later, for example when a KV slot is free again */
  CALKIT_RETRY_AFTER_RELOAD = 2,  /* after unload and load */
  CALKIT_RETRY_AFTER_RESET = 3    /* after the device was closed and reset */
};

enum { CALKIT_LOST_NONE = 0, CALKIT_LOST_JOB = 1, CALKIT_LOST_KV = 2, CALKIT_LOST_MODEL = 3 };

typedef struct calkit_status_v1 {
  uint32_t size;
  uint32_t scope, kind, retry, state_lost;
  int64_t raw_code;                   /* the vendor's own code, untranslated; 0 when there is none */
  char message[CALKIT_MESSAGE_BYTES]; /* zero-terminated; says what was found and what is allowed */
} calkit_status_v1;

/* ---- facts --------------------------------------------------------------------------------------------------------
 */

/* Element types, as numbers on the boundary. */
enum { CALKIT_F32 = 1, CALKIT_F16 = 2, CALKIT_BF16 = 3, CALKIT_I8 = 4, CALKIT_U8 = 5, CALKIT_I32 = 6, CALKIT_I64 = 7 };

typedef struct calkit_device_info_v1 {
  uint32_t size;
  uint32_t emulated; /* 1: software; its times are no hardware performance */
  const char* name;
  const char* runtime_version; /* NULL: the device has none to tell (also the next two) */
  const char* driver_version;
  const char* firmware_version;
} calkit_device_info_v1;

typedef struct calkit_package_info_v1 {
  uint32_t size;
  uint32_t models; /* count; model_info takes 0 .. models-1 */
  const char* name;
  const char* version;
  const char* digest;       /* of calbin.json, "sha256:<64 hex digits>" */
  const char* architecture; /* "qwen3" */
  const char* runtime_abi;  /* what it was compiled for, "0.7.6" */
  int64_t vocab, context, batch, slots, max_prefill_tokens;
  uint64_t kv_bytes;
} calkit_package_info_v1;

typedef struct calkit_model_info_v1 {
  uint32_t size;
  uint32_t inputs, outputs, csrs; /* counts */
  const char* name;               /* exact */
  const char* type;               /* "prefill", "decode" */
  int64_t batch, context;
  int64_t min_tokens, max_tokens; /* tokens per row and call */
} calkit_model_info_v1;

enum { CALKIT_INPUT = 0, CALKIT_OUTPUT = 1 };

/* How a tensor lies in its buffer. Element (i, j, ...) of logical_shape is at sum(index * strides_bytes).
 * tile_rows D0 > 0: axis -2 is padded to a multiple of D0; elements outside logical_shape are undefined. */
typedef struct calkit_layout_v1 {
  uint32_t size;
  uint32_t dtype, rank;
  int64_t shape[CALKIT_MAX_RANK];         /* physical, for the largest call */
  int64_t logical_shape[CALKIT_MAX_RANK]; /* what is meaningful, for the largest call */
  uint64_t strides_bytes[CALKIT_MAX_RANK];
  int64_t tile_rows;
  uint64_t bytes;
} calkit_layout_v1;

typedef struct calkit_tensor_info_v1 {
  uint32_t size;
  const char* name; /* exact */
  const char* role; /* "token", "position", "logits" */
  calkit_layout_v1 layout;
} calkit_tensor_info_v1;

typedef struct calkit_csr_info_v1 {
  uint32_t size;
  uint32_t width_bits, count;
  const char* name; /* exact */
  const char* role;
} calkit_csr_info_v1;

/* Bytes of device memory by use; host_bytes is what the runtime holds on the host for this package. */
typedef struct calkit_memory_report_v1 {
  uint32_t size;
  uint64_t param_bytes, kv_bytes, workspace_bytes, io_bytes, host_bytes;
  uint64_t duration_ns;
} calkit_memory_report_v1;

/* The first five say what is held now and return to 0; the others are running totals of the device. */
typedef struct calkit_counters_v1 {
  uint32_t size;
  uint64_t packages, buffers, mapped, kv_slots, jobs;
  uint64_t jobs_done, bytes_h2d, bytes_d2h;
} calkit_counters_v1;

typedef struct calkit_reading_v1 {
  uint32_t available; /* 0: `value` means nothing */
  double value;
} calkit_reading_v1;

typedef struct calkit_telemetry_v1 {
  uint32_t size;
  calkit_reading_v1 power_w, temperature_c, clock_hz, resets;
} calkit_telemetry_v1;

typedef struct calkit_job_times_v1 {
  uint32_t size;
  uint64_t queue_ns; /* submit to start */
  uint64_t h2d_ns, infer_ns, d2h_ns;
  uint64_t bytes_h2d, bytes_d2h;
} calkit_job_times_v1;

/* ---- handles ------------------------------------------------------------------------------------------------------
 */

typedef struct calkit_device_v1 calkit_device_v1;
typedef struct calkit_package_v1 calkit_package_v1;
typedef struct calkit_buffer_v1 calkit_buffer_v1;
typedef struct calkit_kv_v1 calkit_kv_v1;
typedef struct calkit_job_v1 calkit_job_v1;

enum { CALKIT_MAP_WRITE = 1, CALKIT_MAP_READ = 2 };
enum { CALKIT_JOB_RUNNING = 0, CALKIT_JOB_DONE = 1, CALKIT_JOB_FAILED = 2 };

/* One call of a submodel. `buffers` holds exactly one buffer for each input and output, in any order.
 * Rows 0 .. rows-1 use the KV slots that kv_apply bound to them; tokens per row come from the CSRs. */
typedef struct calkit_submit_v1 {
  uint32_t size;
  uint32_t rows;
  const char* model;
  calkit_buffer_v1* const* buffers;
  uint64_t buffer_count;
} calkit_submit_v1;

/* ---- the table ----------------------------------------------------------------------------------------------------
 */

typedef struct calkit_device_api_v1 {
  uint32_t size;
  uint32_t abi_version; /* CALKIT_DEVICE_ABI_V1 */

  /* Opens the device. The caller owns *device and gives it back with close. */
  uint32_t (*open)(calkit_device_v1** device, calkit_status_v1* status);
  uint32_t (*close)(calkit_device_v1* device, calkit_status_v1* status);
  uint32_t (*info)(calkit_device_v1* device, calkit_device_info_v1* info, calkit_status_v1* status);
  /* OK, or what is wrong with the device as a whole. */
  uint32_t (*health)(calkit_device_v1* device, calkit_status_v1* status);
  uint32_t (*counters)(calkit_device_v1* device, calkit_counters_v1* counters, calkit_status_v1* status);
  uint32_t (*telemetry)(calkit_device_v1* device, calkit_telemetry_v1* telemetry, calkit_status_v1* status);

  /* Reads the package folder, checks its files, versions and op lists. One package per device at a time.
   * The folder must stay as it is until unload. */
  uint32_t (*load)(calkit_device_v1* device, const char* path, calkit_package_v1** package, calkit_status_v1* status);
  uint32_t (*unload)(calkit_package_v1* package, calkit_status_v1* status);
  uint32_t (*package_info)(calkit_package_v1* package, calkit_package_info_v1* info, calkit_status_v1* status);
  uint32_t (*model_info)(calkit_package_v1* package, uint32_t index, calkit_model_info_v1* info,
                         calkit_status_v1* status);
  /* @param direction CALKIT_INPUT or CALKIT_OUTPUT; @param index 0 .. inputs-1 or outputs-1. */
  uint32_t (*tensor_info)(calkit_package_v1* package, const char* model, uint32_t direction, uint32_t index,
                          calkit_tensor_info_v1* info, calkit_status_v1* status);
  uint32_t (*csr_info)(calkit_package_v1* package, const char* model, uint32_t index, calkit_csr_info_v1* info,
                       calkit_status_v1* status);
  /* Reserves device memory and places the parameters. Once per load; every call below needs it. */
  uint32_t (*configure)(calkit_package_v1* package, int64_t timeout_ns, calkit_memory_report_v1* report,
                        calkit_status_v1* status);

  /* A buffer for one tensor of one submodel. The caller owns *buffer and gives it back with buffer_destroy. */
  uint32_t (*buffer_create)(calkit_package_v1* package, const char* model, uint32_t direction, const char* tensor,
                            calkit_buffer_v1** buffer, calkit_status_v1* status);
  /* The buffer's bytes, laid out as tensor_info says. They belong to the buffer and are the caller's to read or write
   * until unmap; a mapped buffer cannot be submitted or destroyed. */
  uint32_t (*buffer_map)(calkit_buffer_v1* buffer, uint32_t mode, void** data, uint64_t* bytes,
                         calkit_status_v1* status);
  uint32_t (*buffer_unmap)(calkit_buffer_v1* buffer, calkit_status_v1* status);
  uint32_t (*buffer_destroy)(calkit_buffer_v1* buffer, calkit_status_v1* status);

  /* Writes element `index` of a CSR of a submodel; it keeps its value until written again. */
  uint32_t (*csr_write)(calkit_package_v1* package, const char* model, const char* csr, uint32_t index, int64_t value,
                        calkit_status_v1* status);

  /* A KV slot, cleared. CALKIT_KIND_KV_EXHAUSTED when none is free: the session goes on, retry after kv_free. */
  uint32_t (*kv_allocate)(calkit_package_v1* package, calkit_kv_v1** kv, calkit_status_v1* status);
  /* Rows of later jobs use this slot, until another slot is applied to the row or this one is freed. */
  uint32_t (*kv_apply)(calkit_kv_v1* kv, uint32_t row, calkit_status_v1* status);
  uint32_t (*kv_clear)(calkit_kv_v1* kv, calkit_status_v1* status);
  uint32_t (*kv_free)(calkit_kv_v1* kv, calkit_status_v1* status);

  /* Starts one call. Inputs are read from their buffers and CSRs as they are at submit; buffers must not be mapped or
   * destroyed until the job is done. One job in flight. The caller owns *job and gives it back with job_release. */
  uint32_t (*submit)(calkit_package_v1* package, const calkit_submit_v1* call, calkit_job_v1** job,
                     calkit_status_v1* status);
  /* Waits until the job is done or failed (the status then tells why). After CALKIT_KIND_TIMEOUT the job is over: its
   * outputs and the rows' KV are undefined. timeout_ns must be positive. */
  uint32_t (*wait)(calkit_job_v1* job, int64_t timeout_ns, uint32_t* state, calkit_status_v1* status);
  uint32_t (*job_times)(calkit_job_v1* job, calkit_job_times_v1* times, calkit_status_v1* status);
  uint32_t (*job_release)(calkit_job_v1* job, calkit_status_v1* status);
} calkit_device_api_v1;

/* The only exported function. The table is static: never freed, valid until the library is closed.
 * NULL when the backend does not speak that version. */
typedef const calkit_device_api_v1* (*calkit_device_entry_v1)(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif /* CALKIT_ABI_DEVICE_V1_H_ */
