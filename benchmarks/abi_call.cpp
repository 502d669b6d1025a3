// What crossing the plugin ABI costs: the same loop over 16 floats, called as a function of this program, and as a kernel of a
// plugin through everything that the ABI asks for: operands as tn_value and tn_view, a tn_loop, a tn_call, the function pointer of
// a table, a status that comes back. What the core does besides (shape rules, memory, autograd) is no part of it; the whole op is
// measured beside it for comparison.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "tenon/plugin.h"
#include "tenon/tenon.hpp"

namespace {

constexpr int64_t kCount = 16;
alignas(64) float g_x[kCount], g_y[kCount], g_z[kCount];

// Not inlined: the other side is a call, too.
[[gnu::noinline]] void add(const float* x, const float* y, float* z, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

tn_kernel g_kernel;

// Opens the plugin and takes the kernel that it registers.
void open_plugin() {
  void* library = dlopen(ABI_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  void* entry = library != nullptr ? dlsym(library, "tn_plugin_query") : nullptr;
  if (entry == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  const tn_plugin* plugin = nullptr;
  reinterpret_cast<tn_plugin_query_fn>(entry)(TN_ABI_MAJOR, TN_ABI_MINOR, &plugin);
  tn_host host{};
  host.struct_size = sizeof host;
  host.register_kernels = [](void*, tn_str, const tn_kernel* kernels, uint32_t,
                             uint32_t) -> tn_status* {
    g_kernel = *kernels;
    return nullptr;
  };
  void* state = nullptr;
  plugin->start(&host, nullptr, {"", 0}, &state);
}

void direct(benchmark::State& state) {
  for (auto _ : state) {
    add(g_x, g_y, g_z, kCount);
    benchmark::ClobberMemory();
  }
}

// What tn_view a tensor has is made with the tensor; the rest belongs to the call.
tn_view view_of(float* data, const int64_t* shape, const int64_t* strides) {
  tn_view view{};
  view.struct_size = sizeof view;
  view.dtype = TN_DTYPE_F32;
  view.ndim = 1;
  view.flags = TN_VIEW_CONTIGUOUS;
  view.data = data;
  view.shape = shape;
  view.strides = strides;
  return view;
}

void across_the_abi(benchmark::State& state) {
  const int64_t shape = kCount, one = 1;
  const tn_view x = view_of(g_x, &shape, &one), y = view_of(g_y, &shape, &one),
                z = view_of(g_z, &shape, &one);
  const tn_kernel* kernel = &g_kernel;
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernel);
    tn_value args[2];
    args[0].tag = args[1].tag = TN_VALUE_VIEW;
    args[0].count = args[1].count = 0;
    args[0].as.view = &x;
    args[1].as.view = &y;
    const tn_view* out = &z;
    const int64_t numel = kCount;
    const int64_t* strides[3] = {&one, &one, &one};
    tn_loop loop{sizeof(tn_loop), 1, 0, 3, &numel, strides};
    tn_call call{};
    call.struct_size = sizeof call;
    call.flags = TN_CALL_CONTIGUOUS;
    call.args = args;
    call.nargs = 2;
    call.nouts = 1;
    call.outs = &out;
    call.loop = &loop;
    benchmark::DoNotOptimize(&call);
    if (kernel->run(kernel->self, nullptr, &call) != nullptr)
      state.SkipWithError("the kernel failed");
    benchmark::ClobberMemory();
  }
}

void whole_op(benchmark::State& state) {
  const tenon::NoGrad guard;
  const tenon::Tensor x = tenon::zeros({kCount}), y = tenon::zeros({kCount});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}

}  // namespace

BENCHMARK(direct);
BENCHMARK(across_the_abi);
BENCHMARK(whole_op);

int main(int argc, char** argv) {
  open_plugin();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
