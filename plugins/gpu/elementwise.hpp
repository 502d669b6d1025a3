// Elementwise kernels: a functor over computed values becomes a kernel for each dtype and any layout.
//
//   template <class C>
//   struct Add { GPU_FN C operator()(C x, C y) const { return wrapped(x, y, …); } };
//   add_elementwise<All, Add, 2>(list, TN_SCHEMA_ADD);            // result like the inputs
//   add_elementwise<All, Less, 2, bool>(list, TN_SCHEMA_LESS);    // bool
//
// For other signatures: run_elementwise<Out, In...>(call, functor), whose members may be attributes.
#pragma once

#include "kernels.hpp"
#include "launch.hpp"
#include "layout.hpp"

namespace tenon::gpu {

// An input: a host value, one element for all, or one element for each.
template <class T>
struct Operand {
  Ptr<const T> at{};
  T value{};
  bool is_value = false, is_dense = false;
};

template <class... T>
struct Operands;
template <>
struct Operands<> {};
template <class First, class... Rest>
struct Operands<First, Rest...> {
  Operand<First> first;
  Operands<Rest...> rest;
};

// How many elements a thread takes at a time from dense rows: 16 bytes of the widest type, at most 8.
template <class... T>
inline constexpr uint32_t kElementsAtOnce = [] {
  const uint32_t widest = std::max({uint32_t{2}, static_cast<uint32_t>(sizeof(T))...});
  return 16 / widest;
}();

// Calls fn with the operands' values at the positions 1, 2, … of `places`.
template <class Fn, class... Values>
GPU_DEVICE auto apply_at(const Fn& fn, const int64_t*, const Operands<>&, Values... values) {
  return fn(values...);
}
template <class Fn, class First, class... Rest, class... Values>
GPU_DEVICE auto apply_at(const Fn& fn, const int64_t* places, const Operands<First, Rest...>& in,
                         Values... values) {
  const First value =
      in.first.is_value ? in.first.value : static_cast<First>(in.first.at[places[1]]);
  return apply_at(fn, places + 1, in.rest, values..., widen<First>(value));
}

template <class Fn, class Out, class... In>
GPU_KERNEL elementwise_strided(Fn fn, uint32_t count, Layout<1 + sizeof...(In)> layout,
                               Ptr<Out> out, Operands<In...> in) {
  for (uint32_t i = first_thread(); i < count; i += thread_count()) {
    int64_t places[1 + sizeof...(In)];
    layout.find(i, places);
    out[places[0]] = narrow<Out>(apply_at(fn, places, in));
  }
}

// kN elements of an operand, from element i on.
template <uint32_t kN, class T>
GPU_DEVICE Vec<T, kN> load_elements(const Operand<T>& in, uint32_t i, uint32_t count) {
  if (in.is_dense && i + kN <= count) return load_vec<kN>(in.at + i);
  Vec<T, kN> values;
  for (uint32_t k = 0; k < kN; ++k)
    values.at[k] = in.is_value
                       ? in.value
                       : static_cast<T>(in.at[in.is_dense ? (i + k < count ? i + k : i) : 0]);
  return values;
}
template <uint32_t kN, class Fn, class Out, class... Vectors>
GPU_DEVICE void apply_dense(const Fn& fn, uint32_t i, uint32_t count, const Ptr<Out>& out,
                            const Operands<>&, const Vectors&... in) {
  Vec<Out, kN> made;
  for (uint32_t k = 0; k < kN; ++k) made.at[k] = narrow<Out>(fn(widen(in.at[k])...));
  if (i + kN <= count) return store_vec<kN>(out + i, made);
  for (uint32_t k = 0; k < kN && i + k < count; ++k) out[i + k] = made.at[k];
}
template <uint32_t kN, class Fn, class Out, class First, class... Rest, class... Vectors>
GPU_DEVICE void apply_dense(const Fn& fn, uint32_t i, uint32_t count, const Ptr<Out>& out,
                            const Operands<First, Rest...>& in, const Vectors&... loaded) {
  apply_dense<kN>(fn, i, count, out, in.rest, loaded..., load_elements<kN>(in.first, i, count));
}

template <class Fn, class Out, class... In>
GPU_KERNEL elementwise_dense(Fn fn, uint32_t count, Ptr<Out> out, Operands<In...> in) {
  constexpr uint32_t kN = kElementsAtOnce<Out, In...>;
  for (uint64_t i = uint64_t{kN} * first_thread(); i < count; i += uint64_t{kN} * thread_count())
    apply_dense<kN>(fn, static_cast<uint32_t>(i), count, out, in);
}

// ---- On the host --------------------------------------------------------------------------------------------------------

// Applies a part's offset to an operand and decides how it is read.
inline void set_operands(const LoopPart&, const tn_view* const*, uint32_t, uint32_t, Operands<>&) {}
template <class First, class... Rest>
void set_operands(const LoopPart& part, const tn_view* const* views, uint32_t k, uint32_t dense,
                  Operands<First, Rest...>& in) {
  const tn_view& view = *views[k];
  if ((view.flags & TN_VIEW_SCALAR) != 0) {
    __builtin_memcpy(&in.first.value, view.scalar, sizeof(First));
    in.first.is_value = true;
  } else {
    in.first.at = pointer<const First>(view, part.start[k]);
    in.first.is_dense = (dense >> k & 1) != 0;
  }
  set_operands(part, views, k + 1, dense, in.rest);
}

// out = fn(in…) over the call's loop. The operands are the output and the tensor arguments.
template <class Out, class... In, class Fn>
void run_elementwise(const tn_call& call, const Fn& fn) {
  constexpr uint32_t kCount = 1 + sizeof...(In);
  const tn_view* views[kCount] = {call.outs[0]};
  for (uint32_t i = 0, k = 1; i < call.nargs && k < kCount; ++i)
    if (call.args[i].tag == TN_VALUE_VIEW) views[k++] = call.args[i].as.view;
  for_parts(*call.loop, kCount, [&](const LoopPart& part) {
    const uint32_t sizes[kCount] = {sizeof(Out), sizeof(In)...};
    const uint32_t dense = dense_operands(part, views, sizes, kElementsAtOnce<Out, In...>);
    Operands<In...> in;
    set_operands(part, views, 1, dense, in);
    const Ptr<Out> out = pointer<Out>(*views[0], part.start[0]);
    if (dense != 0)
      return launch(call, grid_of(part.count, kElementsAtOnce<Out, In...>),
                    elementwise_dense<Fn, Out, In...>, fn, part.count, out, in);
    launch(call, grid_of(part.count), elementwise_strided<Fn, Out, In...>, fn, part.count,
           Layout<kCount>(part), out, in);
  });
}

// Fn over inputs of one dtype.
template <class T, template <class> class Fn, uint32_t kInputs, class Result>
void run_alike(const tn_call& call) {
  using Out = std::conditional_t<std::is_void_v<Result>, T, Result>;
  if constexpr (kInputs == 1) run_elementwise<Out, T>(call, Fn<Compute<T>>{});
  if constexpr (kInputs == 2) run_elementwise<Out, T, T>(call, Fn<Compute<T>>{});
  if constexpr (kInputs == 3) run_elementwise<Out, T, T, T>(call, Fn<Compute<T>>{});
}

// Any layout; operands may be numbers.
template <class List, template <class> class Fn, uint32_t kInputs, class Result = void>
void add_elementwise(KernelList& list, std::string_view schema) {
  list.add_elementwise(schema, List::kMask, [](const tn_call& call, uint32_t) {
    with_type(List{}, dtype_of(call), [&](auto tag) {
      run_alike<typename decltype(tag)::type, Fn, kInputs, Result>(call);
    });
  });
}

// For functors that only look at bits: one kernel for all dtypes of a size, among `dtypes`.
template <template <class> class Fn, uint32_t kInputs, class Result = void>
void add_bitwise(KernelList& list, std::string_view schema, uint64_t dtypes) {
  list.add_elementwise(schema, dtypes, [](const tn_call& call, uint32_t) {
    with_type(Sizes{}, bits_of(dtype_of(call)), [&](auto tag) {
      run_alike<typename decltype(tag)::type, Fn, kInputs, Result>(call);
    });
  });
}

// To bool, for functors that only ask whether elements are 0: integers go by size.
template <template <class> class Fn, uint32_t kInputs>
void add_logical(KernelList& list, std::string_view schema) {
  add_elementwise<Floats, Fn, kInputs, bool>(list, schema);
  add_bitwise<Fn, kInputs, bool>(list, schema, Whole::kMask);
}

}  // namespace tenon::gpu
