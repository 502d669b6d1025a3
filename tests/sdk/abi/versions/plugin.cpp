// A plugin that carries one version of the library, statically linked, and computes a new op with it on the host's device.
#include "tenon/plugin.hpp"
#include "library.hpp"

#ifndef NAME
#error "compile with -DNAME=\"...\""
#endif

namespace {

namespace sdk = tenon::sdk;

float apply(float x) {
  try {
    acme::Registry<float>::entries.push_back(x);
    return acme::codec->apply(x);
  } catch (const acme::Failure& failure) {  // thrown by the library, caught by its type
    return failure.value;
  }
}

// out[i] = apply(x[i]); the last element tells how often the library was called.
void run(const sdk::Call& call) {
  const auto x = sdk::elements<const float>(call.in(0));
  const auto out = sdk::elements<float>(call.out());
  for (size_t i = 0; i + 1 < x.size(); ++i) out[i] = apply(x[i]);
  const bool agree =
      acme::Registry<float>::entries.size() == static_cast<size_t>(acme::state().calls);
  out[x.size() - 1] = agree ? static_cast<float>(acme::state().calls) : -1;
}

void start(sdk::Registry& registry) {
  tn_op_def def{};
  def.struct_size = sizeof def;
  def.schema = sdk::str_of(NAME ".apply(Tensor x) -> Tensor @1");
  registry.op(def);
  registry.kernels(
      "cpu", {sdk::make_kernel<run>(NAME ".apply(Tensor x) -> Tensor @1", TN_MASK(TN_DTYPE_F32))});
}

}  // namespace

TENON_PLUGIN("org.example." NAME, "1.0", start)

// Shows, without a version script, where this library's state is.
extern "C" TN_EXPORT const void* acme_state(void);
extern "C" const void* acme_state(void) { return &acme::state(); }
