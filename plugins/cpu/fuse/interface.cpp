#include "interface.hpp"

#include <atomic>

#include "anchored_kernel.hpp"
#include "compile.hpp"

namespace tenon::cpu {
namespace {

std::unique_ptr<const KnownKernels> g_kernels;
std::atomic<uint64_t> g_epoch{0};

tn_status* run_fused(void* self, void*, const tn_call* call) {
  return sdk::guard([&] { static_cast<const Fused*>(self)->run(*call); });
}

tn_status* run_anchored(void* self, void*, const tn_call* call) {
  return sdk::guard([&] { static_cast<const AnchoredKernel*>(self)->run(*call); });
}

std::unique_ptr<AnchoredKernel> compile_like(const tn_graph_expression& expression) {
  const tn_kernel* like = expression.like;
  const bool known = like != nullptr && like->run == run_anchored;
  return compile_anchored(expression, *g_kernels,
                          known ? static_cast<const AnchoredKernel*>(like->self) : nullptr);
}

tn_status* compile_kernel(void*, uint32_t, const tn_graph_expression* expression, tn_kernel* out) {
  return sdk::guard([&] {
    tn_kernel kernel{};
    kernel.struct_size = sizeof kernel;
    kernel.flags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS;
    const bool anchored = has_anchor(*expression);
    kernel.run = anchored ? run_anchored : run_fused;
    kernel.self = anchored ? static_cast<void*>(compile_like(*expression).release())
                           : compile(*expression, *g_kernels).release();
    *out = kernel;
  });
}

tn_status* cost(void*, uint32_t, const tn_graph_expression* expression, double* out) {
  return sdk::guard([&]() -> tn_status* {
    if (!has_anchor(*expression))
      *out = compile(*expression, *g_kernels)->nanoseconds;
    else if (knows_anchor(*expression, *g_kernels))
      *out = cost_of_anchored(*expression, *g_kernels);
    else
      return sdk::host()->make_status(TN_UNIMPLEMENTED,
                                      sdk::str_of("there is no kernel for it with others"));
    return nullptr;
  });
}

void release(void*, tn_kernel* kernel) {
  if (kernel->run == run_anchored)
    delete static_cast<AnchoredKernel*>(kernel->self);
  else
    delete static_cast<Fused*>(kernel->self);
}

tn_status* pack(void*, const tn_kernel* kernel, const tn_view* const* views) {
  return sdk::guard([&] {
    if (kernel->run == run_anchored) static_cast<AnchoredKernel*>(kernel->self)->pack(views);
  });
}

constexpr tn_graph kTable = {
    sizeof(tn_graph),
    0,
    {"cpu", 3},
    nullptr,
    [](void*, uint32_t, tn_graph_limits* out) {
      out->operands = kMostOperands;
      out->nodes = kMostNodes;
      out->channels_last = 1;
      out->row = kLongestRow;
    },
    compile_kernel,
    cost,
    release,
    pack,
    [](void*) { return g_epoch.load(std::memory_order_relaxed); },
};

}  // namespace

void start_graph(const KernelList& list) {
  g_kernels = std::make_unique<const KnownKernels>(list);
  g_epoch.fetch_add(1, std::memory_order_relaxed);
}

const void* graph_interface(tn_str name, uint32_t revision) {
  return sdk::view_of(name) == TN_GRAPH_NAME && revision == TN_GRAPH_REVISION ? &kTable : nullptr;
}

}  // namespace tenon::cpu
