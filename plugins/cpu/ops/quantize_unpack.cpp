// Weights in four and eight bits made whole, for products of many rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize_unpack.cpp"
#include <hwy/foreach_target.h>

#include "ops/quantize-inl.hpp"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Entries of a group times its scale, plus its offset.
template <class Q, class T>
HWY_INLINE void unpack(const typename Q::Packed* packed, int64_t width, float scale, float offset,
                       T* out) {
  const QD d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < width; p += lanes, out += Q::kParts * lanes) {
    QV entry[Q::kParts];
    Q::entries(d, packed + p, entry);
    for (QV& e : entry) e = hn::MulAdd(e, hn::Set(d, scale), hn::Set(d, offset));
    if constexpr (Q::kParts == 1) {
      store(entry[0], d, out);
    } else {
      HWY_ALIGN float both[2 * hn::MaxLanes(d)];
      hn::StoreInterleaved2(entry[0], entry[1], d, both);
      store(hn::Load(d, both), d, out);
      store(hn::Load(d, both + lanes), d, out + lanes);
    }
  }
}

template <class Q, class T>
void dequantize_as(const tn_call& call) {
  const auto w = weight_of<Q, T, typename Q::Dequantize>(call);
  const int64_t size = w.width * Q::kParts;
  parallel_for(w.outputs * w.groups, std::max<int64_t>(1, kGrainCopy / size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t g = begin; g < end; ++g)
                   unpack<Q>(w.packed + g * w.width, w.width, static_cast<float>(w.scale[g]),
                             Q::kOffsets ? static_cast<float>(w.offset[g]) : 0.0f,
                             data_of<T>(output(call)) + g * size);
               });
}

constexpr uint64_t kDtypes = TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F16) | TN_MASK(TN_DTYPE_BF16);

template <class Q>
void dequantize(const tn_call& call) {
  visit_dtype<kDtypes>(output(call).dtype, [&]<class T>(Tag<T>) { dequantize_as<Q, T>(call); });
}
template <class Q>
bool dequantize_fits(const tn_call& call) {
  return (TN_MASK(input(call, Q::Dequantize::scale).dtype) & kDtypes) != 0 &&
         whole(weight_of<Q, float, typename Q::Dequantize>(call));
}

template <class Q>
void add_of(KernelList& list, std::string_view schema) {
  list.add({.schema = schema,
            .dtypes = TN_MASK(kDtype<typename Q::Packed>),
            .run = run_of<dequantize<Q>>,
            .supports = supports_of<dequantize_fits<Q>>});
}
void add_kernels(KernelList& list) {
  add_of<Int4>(list, TN_SCHEMA_DEQUANTIZE_INT4);
  add_of<Int8>(list, TN_SCHEMA_DEQUANTIZE_INT8);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_quantize_unpack_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
