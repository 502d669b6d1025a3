// The exports of the library that TENON_VALIDATE=1 opens.
#include "tenon/validate.h"

TN_EXTERN_C_BEGIN
TN_EXPORT tn_status* tn_layer_query(uint32_t host_major, uint32_t host_minor,
                                    const tn_layer** out) {
  (void)host_minor;
  *out = host_major == TN_ABI_MAJOR ? tn_validate_layer() : nullptr;
  return nullptr;
}
TN_EXTERN_C_END
