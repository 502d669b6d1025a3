// Elementwise kernels from functors over vectors of f32 and f64. An Op is a functor op(d, x) or
// op(d, x, y); one with attributes is made from the call: explicit Op(const tn_call&).
#if defined(TENON_CPU_MAP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_MAP_INL
#undef TENON_CPU_MAP_INL
#else
#define TENON_CPU_MAP_INL
#endif

#include <hwy/highway.h>

#include <cstring>
#include <new>
#include <type_traits>

#include "dispatch.hpp"
#include "elementwise.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The last, incomplete vector.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_some(D d, const T* from, int64_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
  std::memcpy(lanes, from, static_cast<size_t>(n) * sizeof(T));
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, from);
#endif
}
template <class D, class V, class T = hn::TFromD<D>>
HWY_INLINE void store_some(V v, D d, T* to, int64_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, static_cast<size_t>(n) * sizeof(T));
#else
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, to);
#endif
}

template <class Op>
HWY_INLINE Op op_of(const void* params) {
  if constexpr (std::is_empty_v<Op>)
    return Op();
  else
    return *static_cast<const Op*>(params);
}
template <class Op>
void read_op(const tn_call& call, void* params) {
  static_assert(sizeof(Op) <= kParamBytes && std::is_trivially_copyable_v<Op>);
  new (params) Op(call);
}
template <class Op>
HWY_INLINE Op op_from(const tn_call& call) {
  if constexpr (std::is_empty_v<Op>)
    return Op();
  else
    return Op(call);
}
template <class Op>
constexpr auto reader_of() -> void (*)(const tn_call&, void*) {
  if constexpr (std::is_empty_v<Op>)
    return nullptr;
  else
    return read_op<Op>;
}

template <class Op, class T>
void stretch1(const void* params, void* out_bytes, const void* const* in_bytes, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const Op op = op_of<Op>(params);
  const T* in = static_cast<const T*>(in_bytes[0]);
  T* out = static_cast<T*>(out_bytes);
  int64_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(op(d, hn::LoadU(d, in + i)), d, out + i);
  if (i < n) store_some(op(d, load_some(d, in + i, n - i)), d, out + i, n - i);
}

// Ones is a mask of the inputs that are one value, as in Elementwise::fn.
template <class Op, class T, int Ones>
HWY_INLINE void map2(const Op& op, const T* x, const T* y, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  auto vx = hn::Set(d, *x), vy = hn::Set(d, *y);
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    if constexpr ((Ones & 1) == 0) vx = hn::LoadU(d, x + i);
    if constexpr ((Ones & 2) == 0) vy = hn::LoadU(d, y + i);
    hn::StoreU(op(d, vx, vy), d, out + i);
  }
  if (i < n) {
    if constexpr ((Ones & 1) == 0) vx = load_some(d, x + i, n - i);
    if constexpr ((Ones & 2) == 0) vy = load_some(d, y + i, n - i);
    store_some(op(d, vx, vy), d, out + i, n - i);
  }
}
template <class Op, class T, int Ones>
void stretch2(const void* params, void* out, const void* const* in, int64_t n) {
  map2<Op, T, Ones>(op_of<Op>(params), static_cast<const T*>(in[0]), static_cast<const T*>(in[1]),
                    static_cast<T*>(out), n);
}
// Constants stay in registers from row to row.
template <class Op, class T, int Ones>
void rows2(const void* params, void* out, const void* const* in, int64_t n, int64_t rows,
           const int64_t* steps) {
  const Op op = op_of<Op>(params);
  char* to = static_cast<char*>(out);
  const char *x = static_cast<const char*>(in[0]), *y = static_cast<const char*>(in[1]);
  const int64_t down = steps[0], x_down = steps[1], y_down = steps[2];
  for (int64_t r = 0; r < rows; ++r, to += down, x += x_down, y += y_down)
    map2<Op, T, Ones>(op, reinterpret_cast<const T*>(x), reinterpret_cast<const T*>(y),
                      reinterpret_cast<T*>(to), n);
}

// Of three inputs; Ones is 0, 1 or 2.
template <class Op, class T, int Ones>
void stretch3(const void* params, void* out_bytes, const void* const* in_bytes, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const Op op = op_of<Op>(params);
  const T* x = static_cast<const T*>(in_bytes[0]);
  const T* y = static_cast<const T*>(in_bytes[1]);
  const T* z = static_cast<const T*>(in_bytes[2]);
  T* out = static_cast<T*>(out_bytes);
  auto vx = hn::Set(d, *x), vy = hn::Set(d, *y);
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    if constexpr (Ones != 1) vx = hn::LoadU(d, x + i);
    if constexpr (Ones != 2) vy = hn::LoadU(d, y + i);
    hn::StoreU(op(d, vx, vy, hn::LoadU(d, z + i)), d, out + i);
  }
  if (i < n) {
    if constexpr (Ones != 1) vx = load_some(d, x + i, n - i);
    if constexpr (Ones != 2) vy = load_some(d, y + i, n - i);
    store_some(op(d, vx, vy, load_some(d, z + i, n - i)), d, out + i, n - i);
  }
}

template <class Op, class T, int64_t Grain>
inline constexpr Elementwise kUnary = {{stretch1<Op, T>, nullptr, nullptr, nullptr},
                                       1,
                                       sizeof(T),
                                       {sizeof(T)},
                                       Grain,
                                       reader_of<Op>()};
template <class Op, class T, int64_t Grain>
inline constexpr Elementwise kBinary = {
    {stretch2<Op, T, 0>, stretch2<Op, T, 1>, stretch2<Op, T, 2>, nullptr},
    2,
    sizeof(T),
    {sizeof(T), sizeof(T)},
    Grain,
    reader_of<Op>(),
    {rows2<Op, T, 0>, rows2<Op, T, 1>, rows2<Op, T, 2>}};

template <class Op, class T, int64_t Grain>
inline constexpr Elementwise kTernary = {
    {stretch3<Op, T, 0>, stretch3<Op, T, 1>, stretch3<Op, T, 2>, nullptr},
    3,
    sizeof(T),
    {sizeof(T), sizeof(T), sizeof(T)},
    Grain,
    reader_of<Op>()};

// tn_kernel.run, with a short path for small contiguous calls.
template <class Op, class T, int64_t Grain>
tn_status* run1(void* self, void* plan, const tn_call* call) {
  if ((call->flags & TN_CALL_CONTIGUOUS) != 0) [[likely]] {
    const int64_t n = flat_count(*call);
    if (n <= Grain && !(n > 1 && is_one_value(*call, 1))) [[likely]] {
      const Op op = op_from<Op>(*call);
      const void* in[] = {call->args[arg::neg::x].as.view->data};
      stretch1<Op, T>(&op, call->outs[0]->data, in, n);
      return nullptr;
    }
  }
  return run_elementwise(self, plan, call);
}
template <class Op, class T, int64_t Grain>
tn_status* run2(void* self, void* plan, const tn_call* call) {
  if ((call->flags & TN_CALL_CONTIGUOUS) != 0) [[likely]] {
    const int64_t n = flat_count(*call);
    if (n > 0 && n <= Grain) [[likely]] {
      const Op op = op_from<Op>(*call);
      const void* in[] = {call->args[arg::add::x].as.view->data,
                          call->args[arg::add::y].as.view->data};
      void* out = call->outs[0]->data;
      const bool x_is_one = is_one_value(*call, 1), y_is_one = is_one_value(*call, 2);
      if (!x_is_one && !y_is_one) [[likely]]
        return stretch2<Op, T, 0>(&op, out, in, n), nullptr;
      if (!x_is_one) return stretch2<Op, T, 2>(&op, out, in, n), nullptr;
      if (!y_is_one) return stretch2<Op, T, 1>(&op, out, in, n), nullptr;
      if (n == 1) return stretch2<Op, T, 3>(&op, out, in, n), nullptr;
    }
  }
  return run_elementwise(self, plan, call);
}

// Registers an op for f32, f64 and, through f32, the half types.
template <class Op, int64_t Grain, int64_t Grain64 = Grain>
void add_unary(KernelList& list, std::string_view schema) {
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F32), kUnary<Op, float, Grain>,
                  run1<Op, float, Grain>);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F64), kUnary<Op, double, Grain64>,
                  run1<Op, double, Grain64>);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F16), kUnary<Op, float, Grain>,
                  run_elementwise_f16);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_BF16), kUnary<Op, float, Grain>,
                  run_elementwise_bf16);
}
template <class Op, int64_t Grain, int64_t Grain64 = Grain>
void add_binary(KernelList& list, std::string_view schema) {
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F32), kBinary<Op, float, Grain>,
                  run2<Op, float, Grain>);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F64), kBinary<Op, double, Grain64>,
                  run2<Op, double, Grain64>);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F16), kBinary<Op, float, Grain>,
                  run_elementwise_f16);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_BF16), kBinary<Op, float, Grain>,
                  run_elementwise_bf16);
}

template <class Op, int64_t Grain>
void add_ternary(KernelList& list, std::string_view schema) {
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F32), kTernary<Op, float, Grain>);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F64), kTernary<Op, double, Grain>);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_F16), kTernary<Op, float, Grain>,
                  run_elementwise_f16);
  add_elementwise(list, schema, TN_MASK(TN_DTYPE_BF16), kTernary<Op, float, Grain>,
                  run_elementwise_bf16);
}

// Kernels from scalar functors, which the compiler vectorises where it can: F(In...) -> Out. The pointers are values of their own:
// in the array that they come in, a store of bytes might change them.
template <class F, class Out, class... In>
HWY_INLINE void loop_over(const F& f, int64_t n, Out* __restrict out, const In*... in) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(f(in[i]...));
}
template <class F, class Out, class... In>
void loop_stretch(const void* params, void* out, const void* const* in, int64_t n) {
  const F f = op_of<F>(params);
  [&]<size_t... K>(std::index_sequence<K...>) HWY_ATTR {
    loop_over(f, n, static_cast<Out*>(out), static_cast<const In*>(in[K])...);
  }
  (std::index_sequence_for<In...>());
}
template <class F, int64_t Grain, class Out, class... In>
inline constexpr Elementwise kLoop = {{loop_stretch<F, Out, In...>, nullptr, nullptr, nullptr},
                                      sizeof...(In),
                                      sizeof(Out),
                                      {sizeof(In)...},
                                      Grain,
                                      reader_of<F>()};
template <class F, class Out, class... In>
void add_loop(KernelList& list, std::string_view schema, uint64_t dtypes) {
  add_elementwise(list, schema, dtypes, kLoop<F, kGrainMath, Out, In...>);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
