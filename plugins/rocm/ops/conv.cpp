// conv and its gradients by MIOpen's immediate mode. A plan holds the descriptors and the solution that MIOpen puts first for the
// shapes, compiled; where it has none, the plan leaves the call to the plugin's own kernel.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "backend.hpp"
#include "conv_geometry.hpp"
#include "miopen.hpp"
#include "own_kernel.hpp"
#include "range.hpp"

namespace tenon::gpu {
namespace {

constexpr uint64_t kMostWorkspace = uint64_t{1} << 30;
constexpr size_t kAsked = 16;  // solutions, among which one may need no more memory

struct ConvKernel {
  Pass pass;
  const char* op;
  const char* schema;
  decltype(Miopen::miopenConvolutionForwardGetSolution) Miopen::*get_solution;
  decltype(Miopen::miopenConvolutionForwardCompileSolution) Miopen::*compile;
  decltype(Miopen::miopenConvolutionForwardImmediate) Miopen::*run;
};
#define PASS(Name)                                       \
  &Miopen::miopenConvolution##Name##GetSolution,         \
      &Miopen::miopenConvolution##Name##CompileSolution, \
      &Miopen::miopenConvolution##Name##Immediate
constexpr ConvKernel kKernels[] = {
    {kForward, "conv", TN_SCHEMA_CONV, PASS(Forward)},
    {kInput, "conv_backward_input", TN_SCHEMA_CONV_BACKWARD_INPUT, PASS(BackwardData)},
    {kWeight, "conv_backward_weight", TN_SCHEMA_CONV_BACKWARD_WEIGHT, PASS(BackwardWeights)},
};
#undef PASS
const ConvKernel& kernel_of(void* self) { return *static_cast<const ConvKernel*>(self); }

// A plan may compile kernels, which takes seconds: smaller convolutions are left to the plugin's own.
double least_work() {
  static const double least = [] {
    const char* const value = std::getenv("TENON_ROCM_MIOPEN_LEAST");
    return value != nullptr ? std::strtod(value, nullptr) : 1 << 24;
  }();
  return least;
}

// MIOpen's operands in its order, as the call has them: w, x; dy, w; dy, x.
struct Operands {
  const tn_view *a, *b, *result;
};
Operands operands_of(const tn_call& call, Pass pass) {
  const tn_view &first = input(call, 0), &second = input(call, 1);
  if (pass == kForward) return {&second, &first, &output(call)};
  return {&first, &second, &output(call)};
}

bool takes(const tn_call& call, const ConvKernel& kernel) {
  const Operands operands = operands_of(call, kernel.pass);
  // Its kernels count elements in 32 bits.
  for (const tn_view* view : {operands.a, operands.b, operands.result})
    if (numel(*view) == 0 || numel(*view) > INT32_MAX) return false;
  const Geometry g(call, kernel.pass);
  const double work = static_cast<double>(g.batch * g.groups * g.filters) *
                      static_cast<double>(Geometry::product(g.out)) *
                      static_cast<double>(g.channels * Geometry::product(g.kernel));
  return work >= least_work() && is_taken_by(own_kernel(kernel.schema), call) &&
         miopen() != nullptr;
}

// ---- Plans --------------------------------------------------------------------------------------------------------------

#define TENON_MIOPEN_HANDLE(Name, Handle, destroy)                      \
  struct Name##Deleter {                                                \
    void operator()(Handle handle) const { miopen()->destroy(handle); } \
  };                                                                    \
  using Name = std::unique_ptr<std::remove_pointer_t<Handle>, Name##Deleter>

TENON_MIOPEN_HANDLE(Tensor, miopenTensorDescriptor_t, miopenDestroyTensorDescriptor);
TENON_MIOPEN_HANDLE(Convolution, miopenConvolutionDescriptor_t, miopenDestroyConvolutionDescriptor);

struct Plan {
  Tensor a, b, result;
  Convolution convolution;
  bool has_solution = false;
  uint64_t solution = 0, workspace = 0;
};

miopenDataType_t type_of(tn_dtype dtype) {
  if (dtype == TN_DTYPE_F16) return miopenHalf;
  return dtype == TN_DTYPE_BF16 ? miopenBFloat16 : miopenFloat;
}

// Dense, with two or three spatial dimensions: a line is a plane that is one high.
Tensor make_tensor(const tn_view& view) {
  std::vector<int> sizes = {static_cast<int>(view.shape[0]), static_cast<int>(view.shape[1])};
  if (view.ndim == 3) sizes.push_back(1);
  for (uint32_t d = 2; d < view.ndim; ++d) sizes.push_back(static_cast<int>(view.shape[d]));
  std::vector<int> strides(sizes.size(), 1);
  for (size_t d = sizes.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
  miopenTensorDescriptor_t made = nullptr;
  check(miopen()->miopenCreateTensorDescriptor(&made), "describing a tensor");
  Tensor tensor(made);
  check(
      miopen()->miopenSetTensorDescriptor(made, type_of(view.dtype), static_cast<int>(sizes.size()),
                                          sizes.data(), strides.data()),
      "describing a tensor");
  return tensor;
}

Convolution make_convolution(const Geometry& g, uint32_t ndim) {
  const uint32_t spatial = std::max(ndim - 2, 2u);
  int padding[3], stride[3], dilation[3];
  for (uint32_t d = 0; d < spatial; ++d) {
    padding[d] = static_cast<int>(g.padding[3 - spatial + d]);
    stride[d] = static_cast<int>(g.stride[3 - spatial + d]);
    dilation[d] = static_cast<int>(g.dilation[3 - spatial + d]);
  }
  constexpr const char* kWhat = "describing a convolution";
  miopenConvolutionDescriptor_t made = nullptr;
  check(miopen()->miopenCreateConvolutionDescriptor(&made), kWhat);
  Convolution convolution(made);
  check(miopen()->miopenInitConvolutionNdDescriptor(made, static_cast<int>(spatial), padding,
                                                    stride, dilation, miopenConvolution),
        kWhat);
  check(miopen()->miopenSetConvolutionGroupCount(made, static_cast<int>(g.groups)), kWhat);
  // A call gives the same each time.
  check(miopen()->miopenSetConvolutionAttribute(made, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1),
        kWhat);
  return convolution;
}

void choose(Plan& plan, const tn_call& call, const ConvKernel& kernel) {
  const MiopenHandle handle(call.device_index);
  miopenConvSolution_t found[kAsked] = {};
  size_t count = 0;
  check((miopen()->*kernel.get_solution)(handle, plan.a.get(), plan.b.get(), plan.convolution.get(),
                                         plan.result.get(), kAsked, &count, found),
        "choosing a solution");
  for (size_t i = 0; i < std::min(count, kAsked) && !plan.has_solution; ++i) {
    if (found[i].workspace_size > kMostWorkspace) continue;
    plan.has_solution = true;
    plan.solution = found[i].solution_id;
    plan.workspace = found[i].workspace_size;
  }
  if (!plan.has_solution) return;
  check((miopen()->*kernel.compile)(handle, plan.a.get(), plan.b.get(), plan.convolution.get(),
                                    plan.result.get(), plan.solution),
        "compiling a solution");
}

std::unique_ptr<Plan> make_plan(const tn_call& call, const ConvKernel& kernel) {
  auto plan = std::make_unique<Plan>();
  rt::use(call.device_index);
  try {
    const Operands operands = operands_of(call, kernel.pass);
    plan->a = make_tensor(*operands.a);
    plan->b = make_tensor(*operands.b);
    plan->result = make_tensor(*operands.result);
    plan->convolution = make_convolution(Geometry(call, kernel.pass), output(call).ndim);
    choose(*plan, call, kernel);
  } catch (const sdk::Error& error) {
    if (error.code() != TN_UNIMPLEMENTED) throw;
    plan->has_solution = false;
  }
  return plan;
}

// ---- Runs ---------------------------------------------------------------------------------------------------------------

void run(const Plan& plan, const tn_call& call, const ConvKernel& kernel) {
  const Running here(call, kernel.op, "MIOpen");
  const Operands operands = operands_of(call, kernel.pass);
  const rt::Stream stream = stream_of(call).handle();
  {
    MiopenHandle handle(call.device_index);
    handle.begin(stream);
    check(
        (miopen()->*kernel.run)(handle, plan.a.get(), operands.a->data, plan.b.get(),
                                operands.b->data, plan.convolution.get(), plan.result.get(),
                                operands.result->data, call.scratch, plan.workspace, plan.solution),
        "convolving");
    handle.end();
  }
  Timed::launched();
  const tn_view* const bias = kernel.pass == kForward ? input_or_null(call, 2) : nullptr;
  if (bias != nullptr) add_to_planes(call, output(call), *bias);
}

tn_kernel make_kernel(const ConvKernel& self) {
  tn_kernel kernel = sdk::make_kernel(
      self.schema, TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F16) | TN_MASK(TN_DTYPE_BF16),
      [](void* self, void* any, const tn_call* call) -> tn_status* {
        const Plan& plan = *static_cast<const Plan*>(any);
        const ConvKernel& kernel = kernel_of(self);
        return sdk::guard([&]() -> tn_status* {
          if (!plan.has_solution) {
            const tn_kernel& own = own_kernel(kernel.schema);
            return own.run(own.self, nullptr, call);
          }
          run(plan, *call, kernel);
          return nullptr;
        });
      },
      10);
  kernel.supports = [](void* self, const tn_call* call, uint32_t* yes) -> tn_status* {
    return sdk::guard([&] { *yes = takes(*call, kernel_of(self)) ? 1 : 0; });
  };
  kernel.prepare = [](void* self, const tn_call* call, void** plan) -> tn_status* {
    return sdk::guard([&] { *plan = make_plan(*call, kernel_of(self)).release(); });
  };
  kernel.scratch_size = [](void* self, const tn_call* call, void* any) {
    const Plan& plan = *static_cast<const Plan*>(any);
    return plan.has_solution ? plan.workspace
                             : scratch_of(own_kernel(kernel_of(self).schema), *call);
  };
  kernel.release = [](void*, void* plan) { delete static_cast<Plan*>(plan); };
  kernel.self = const_cast<ConvKernel*>(&self);
  return kernel;
}

}  // namespace

std::vector<tn_kernel> miopen_kernels() {
  std::vector<tn_kernel> made;
  for (const ConvKernel& kernel : kKernels) made.push_back(make_kernel(kernel));
  return made;
}

}  // namespace tenon::gpu
