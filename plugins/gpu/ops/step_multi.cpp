// The norm of a list of tensors, and scaling: together they clip gradients. Sums run in f64 over pieces of fixed length, so that a list has
// the same norm on every device.
#include "arithmetic.hpp"
#include "tensor_list.hpp"

namespace tenon::gpu {
namespace {

enum class Norm : uint32_t { kSquares, kMagnitudes, kLargest, kPowers };

struct NormOf {
  Norm norm;
  double p;
  GPU_FN double term(double x) const {
    if (norm == Norm::kSquares) return x * x;
    return norm == Norm::kPowers ? std::pow(std::fabs(x), p) : std::fabs(x);
  }
  GPU_FN double joined(double a, double b) const {
    return norm == Norm::kLargest ? larger(a, b) : a + b;
  }
  GPU_FN double finished(double sum) const {
    if (norm == Norm::kSquares) return std::sqrt(sum);
    return norm == Norm::kPowers ? std::pow(sum, 1 / p) : sum;
  }
};

constexpr uint32_t kThreads = kBlockThreads;

// The total over all threads, for the first.
GPU_DEVICE double over_block(const NormOf& norm, double own) {
  GPU_SHARED(double, parts, kThreads);
  const uint32_t me = thread_index().x;
  parts[me] = own;
  sync_threads();
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    if (me < half) {
      const double mine = parts[me], other = parts[me + half];
      parts[me] = norm.joined(mine, other);
    }
    sync_threads();
  }
  return parts[0];
}

template <class T>
GPU_KERNEL sum_tensors(NormOf norm, TensorTable<T, 1> table, Ptr<double> sums) {
  double own = 0;
  each_elements<0>(table, [&](const Vec<T, 16 / sizeof(T)>* values, uint32_t n) {
    for (uint32_t j = 0; j < 16 / sizeof(T); ++j)
      if (j < n) own = norm.joined(own, norm.term(static_cast<double>(widen(values[0].at[j]))));
  });
  const double sum = over_block(norm, own);
  if (thread_index().x == 0) sums[table.blocks_before + block_index().x] = sum;
}

template <class Out>
GPU_KERNEL finish_norm(NormOf norm, int64_t count, Ptr<const double> sums, Ptr<Out> out) {
  double own = 0;
  for (int64_t i = thread_index().x; i < count; i += kThreads) {
    const double sum = sums[i];
    own = norm.joined(own, sum);
  }
  const double sum = over_block(norm, own);
  if (thread_index().x == 0) out[0] = narrow<Out>(norm.finished(sum));
}

int64_t sums_of(const tn_call& call) {
  int64_t sums = 0;
  for (uint32_t k = 0; k < call.args[arg::multi_norm::xs].count; ++k)
    sums += blocks_of(*call.args[arg::multi_norm::xs].as.views[k]);
  return sums;
}
uint64_t scratch_bytes(const tn_call& call, uint32_t) {
  return sizeof(double) * static_cast<uint64_t>(std::max<int64_t>(1, sums_of(call)));
}

void run_norm(const tn_call& call, uint32_t) {
  const double p = real_arg(call, arg::multi_norm::p);
  const NormOf norm{p == 2          ? Norm::kSquares
                    : p == 1        ? Norm::kMagnitudes
                    : std::isinf(p) ? Norm::kLargest
                                    : Norm::kPowers,
                    p};
  const int64_t count = sums_of(call);
  const Ptr<double> sums = scratch<double>(call, 0, std::max<int64_t>(1, count));
  uint32_t blocks_before = 0;
  with_each_type(Floats{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_tables<T>(
        call, {arg::multi_norm::xs}, blocks_before, [&](const auto& table, uint32_t blocks) {
          launch(call, {{blocks, 1, 1}, {kThreads, 1, 1}}, sum_tensors<T>, norm, table, sums);
        });
  });
  with_type(Types<float, double>{}, output(call).dtype, [&](auto tag) {
    using Out = typename decltype(tag)::type;
    launch(call, {{1, 1, 1}, {kThreads, 1, 1}}, finish_norm<Out>, norm, count, sums,
           out<Out>(output(call)));
  });
}

// ---- Scaling ------------------------------------------------------------------------------------------------------------

// The factor is in device memory, or a host number.
struct Factor {
  Ptr<const uint16_t> half, brain;
  Ptr<const float> single;
  Ptr<const double> wide;
  double value;
  GPU_DEVICE double read() const {
    if (half) return widen(Half{half[0]});
    if (brain) return widen(BFloat16{brain[0]});
    if (single) return static_cast<float>(single[0]);
    return wide ? static_cast<double>(wide[0]) : value;
  }
};

Factor factor_of(const tn_view& view) {
  Factor factor{nullptr, nullptr, nullptr, nullptr, 0};
  const bool on_host = (view.flags & TN_VIEW_SCALAR) != 0;
  with_type(Floats{}, view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (on_host) {
      T number;
      __builtin_memcpy(&number, view.scalar, sizeof number);
      factor.value = widen(number);
    } else if constexpr (std::is_same_v<T, Half>) {
      factor.half = in<uint16_t>(view);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      factor.brain = in<uint16_t>(view);
    } else if constexpr (std::is_same_v<T, float>) {
      factor.single = in<float>(view);
    } else {
      factor.wide = in<double>(view);
    }
  });
  return factor;
}

template <class T>
GPU_KERNEL scale_tensors(Factor factor, TensorTable<T, 1> table) {
  const auto by = static_cast<Compute<T>>(factor.read());
  each_elements<1>(table, [&](Vec<T, 16 / sizeof(T)>* values, uint32_t) {
    for (uint32_t j = 0; j < 16 / sizeof(T); ++j)
      values[0].at[j] = narrow<T>(widen(values[0].at[j]) * by);
  });
}

void run_scale(const tn_call& call, uint32_t) {
  const Factor factor = factor_of(input(call, arg::multi_scale::factor));
  with_each_type(Floats{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    uint32_t blocks_before = 0;
    for_tables<T>(call, {arg::multi_scale::xs}, blocks_before,
                  [&](const auto& table, uint32_t blocks) {
                    launch(call, {{blocks, 1, 1}}, scale_tensors<T>, factor, table);
                  });
  });
}
bool reads_factor(const tn_call& call, uint32_t) {
  return (Floats::kMask & TN_MASK(input(call, arg::multi_scale::factor).dtype)) != 0;
}

}  // namespace

void add_step_multi_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_MULTI_NORM,
            .dtypes = Floats::kMask,
            .run = run_norm,
            .scratch = scratch_bytes});
  list.add({.schema = TN_SCHEMA_MULTI_SCALE,
            .dtypes = Floats::kMask,
            .run = run_scale,
            .flags = TN_KERNEL_HOST_SCALARS,
            .supports = reads_factor});
}

}  // namespace tenon::gpu
