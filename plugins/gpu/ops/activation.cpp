// Activations of networks.
#include "math.hpp"
#include "special.hpp"

namespace tenon::gpu {
namespace {

#define TENON_GPU_ACTIVATION(Name, function)               \
  template <class C>                                       \
  struct Name {                                            \
    GPU_FN C operator()(C x) const { return function(x); } \
  }

TENON_GPU_ACTIVATION(Sigmoid, sigmoid);
TENON_GPU_ACTIVATION(Silu, silu);
TENON_GPU_ACTIVATION(Gelu, gelu);
TENON_GPU_ACTIVATION(GeluTanh, gelu_tanh);

template <class C>
struct Elu {
  C alpha;
  GPU_FN C operator()(C x) const { return x > C(0) ? x : alpha * std::expm1(x); }
};
template <class C>
struct LeakyRelu {
  C slope;
  GPU_FN C operator()(C x) const { return x > C(0) ? x : x * slope; }
};
// log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.
template <class C>
struct Softplus {
  C beta, threshold;
  GPU_FN C operator()(C x) const {
    const C scaled = x * beta;
    if (scaled > threshold) return x;
    return ((scaled < C(0) ? C(0) : scaled) + softplus_rest(scaled)) / beta;
  }
};

void run_gelu(const tn_call& call, uint32_t) {
  if (text_arg(call, arg::gelu::approximate) == "tanh")
    return run_math<1>(call, [](auto tag) { return GeluTanh<typename decltype(tag)::type>{}; });
  run_math<1>(call, [](auto tag) { return Gelu<typename decltype(tag)::type>{}; });
}
// leaky_relu has its slope where elu has alpha.
template <template <class> class Fn>
void run_with_one(const tn_call& call, uint32_t) {
  run_math<1>(call, [&](auto tag) {
    using C = typename decltype(tag)::type;
    return Fn<C>{static_cast<C>(real_arg(call, arg::elu::alpha))};
  });
}
void run_softplus(const tn_call& call, uint32_t) {
  run_math<1>(call, [&](auto tag) {
    using C = typename decltype(tag)::type;
    return Softplus<C>{static_cast<C>(real_arg(call, arg::softplus::beta)),
                       static_cast<C>(real_arg(call, arg::softplus::threshold))};
  });
}

}  // namespace

void add_activation_kernels(KernelList& list) {
  add_math<Sigmoid, 1>(list, TN_SCHEMA_SIGMOID);
  add_math<Silu, 1>(list, TN_SCHEMA_SILU);
  list.add_elementwise(TN_SCHEMA_GELU, Floats::kMask, run_gelu);
  list.add_elementwise(TN_SCHEMA_ELU, Floats::kMask, run_with_one<Elu>);
  list.add_elementwise(TN_SCHEMA_LEAKY_RELU, Floats::kMask, run_with_one<LeakyRelu>);
  list.add_elementwise(TN_SCHEMA_SOFTPLUS, Floats::kMask, run_softplus);
}

}  // namespace tenon::gpu
