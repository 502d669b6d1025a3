// The same calls on the device and, in double precision, on the CPU.
#pragma once

#include "../cpu/reference.hpp"
#include "device.hpp"

namespace test_vulkan {

using reference::Array;
using reference::Shape;
using tenon::DType;

// Where a call's operands are made, and of which dtype.
struct Place {
  tenon::Device device;
  DType dtype;
  Tensor operator()(const Array& a) const {
    return tenon::to(reference::to_tensor(a, dtype), device);
  }
  Tensor index(const std::vector<int64_t>& values, const Shape& shape) const {
    return tenon::to(tenon::tensor(values, shape), device);
  }
};

// Inside this scope nothing may fall back to the host unnoticed.
class NoFallback {
 public:
  NoFallback() : before_(tn_fallback_get()) { tn_fallback_set(TN_FALLBACK_DENY); }
  ~NoFallback() { tn_fallback_set(before_); }

 private:
  uint32_t before_;
};

// Compares call(place) on the device with the CPU in f64 (for integers, in their own dtype). `factor` multiplies the dtype's usual
// tolerance.
template <class Call>
void expect_same(DType dtype, const std::string& what, Call&& call, double factor = 1) {
  Tensor got;
  {
    const NoFallback no_fallback;
    got = call(Place{gpu(), dtype});
  }
  const Tensor want =
      call(Place{tenon::Device("cpu:0"), tenon::is_floating(dtype) ? DType::F64 : dtype});
  Array wanted(reference::shape_of(want));
  wanted.v = reference::values(want);
  reference::expect_close(got, wanted, factor * reference::tolerance_of(dtype),
                          what + " " + std::string(tenon::name_of(dtype)));
}

}  // namespace test_vulkan
