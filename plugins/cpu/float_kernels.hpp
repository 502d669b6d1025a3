// Registration of kernels that exist for every floating dtype.
#pragma once

#include "dispatch.hpp"

namespace tenon::cpu {

// add(Tag<T>{}) for each floating dtype.
template <class Add>
void for_each_float(const Add& add) {
  add(Tag<float>{});
  add(Tag<double>{});
  add(Tag<F16>{});
  add(Tag<BF16>{});
}

}  // namespace tenon::cpu
