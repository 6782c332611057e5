/* The boundary's header as plain C11: what a shim's author includes. */
#include "calkit/abi/device_v1.h"

_Static_assert(sizeof(calkit_status_v1) % sizeof(int64_t) == 0, "the status has no hidden tail");

uint64_t c11_table_bytes(void) {
  return sizeof(calkit_device_api_v1);
}
uint64_t c11_tensor_info_bytes(void) {
  return sizeof(calkit_tensor_info_v1);
}
uint64_t c11_status_bytes(void) {
  return sizeof(calkit_status_v1);
}
