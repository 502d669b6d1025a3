// any, all: elements become bytes 0 and 1.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_any_all.cpp"
#include <hwy/foreach_target.h>

#include "reduce-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <bool All>
struct Test {
  using Elem = uint8_t;
  using State = uint8_t;
  static constexpr bool ordered = false;
  State start() const { return All ? 1 : 0; }
  void merge(State& into, State other) const { into = All ? into & other : into | other; }
  State run(const uint8_t* x, int64_t n, int64_t) const {
    State state = start();
    for (int64_t i = 0; i < n; ++i) merge(state, x[i]);
    return state;
  }
  void columns(const uint8_t* x, int64_t step, int64_t rows, int64_t cols, int64_t,
               State* s) const {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) merge(s[c], x[r * step + c]);
    }
  }
};

template <bool All>
void put(const Test<All>&, char* out, int64_t at, const uint8_t& state, int64_t) {
  reinterpret_cast<bool*>(out)[at] = state != 0;
}

template <bool All>
void test(const tn_call& call) {
  reduce_call(call, Test<All>(), truth_of(input(call, arg::any::x).dtype),
              put_each<Test<All>, put<All>>);
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_ANY, .dtypes = TN_MASK_ALL, .run = run_of<test<false>>});
  list.add({.schema = TN_SCHEMA_ALL, .dtypes = TN_MASK_ALL, .run = run_of<test<true>>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_reduce_any_all_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
