#include "dispatch/foreign.hpp"

#include <algorithm>

namespace tenon::core {

void decompose_foreign(Frame& frame, tn_tensor** outs) {
  const tn_op_def& def = *frame.op().foreign;
  tn_status* status = def.decompose(def.self, frame.args(), frame.nargs(), outs, frame.nresults());
  if (status != nullptr) std::fill_n(outs, frame.nresults(), nullptr);  // an error has no results
  check(status);
  for (uint32_t k = 0; k < frame.nresults(); ++k)
    if (outs[k] == nullptr) frame.fail(TN_INTERNAL, "its decomposition gave no result {}", k);
}

}  // namespace tenon::core
