// conv and its gradients by MIOpen's immediate mode. A plan holds the descriptors and MIOpen's first solution for the shapes, compiled. If
// there is none, the plan leaves the call to the plugin's own kernel.
#include <algorithm>
#include <memory>
#include <vector>

#include "backend.hpp"
#include "conv_geometry.hpp"
#include "library_kernel.hpp"
#include "miopen.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace {

constexpr uint64_t kMostWorkspace = uint64_t{1} << 30;
constexpr size_t kAsked = 16;  // solutions to ask for, since one may need no more memory

struct PassFunctions {
  Pass pass;
  const char* schema;
  decltype(Miopen::miopenConvolutionForwardGetSolution) Miopen::*get_solution;
  decltype(Miopen::miopenConvolutionForwardCompileSolution) Miopen::*compile;
  decltype(Miopen::miopenConvolutionForwardImmediate) Miopen::*run;
};
#define PASS(Name)                                       \
  &Miopen::miopenConvolution##Name##GetSolution,         \
      &Miopen::miopenConvolution##Name##CompileSolution, \
      &Miopen::miopenConvolution##Name##Immediate
constexpr PassFunctions kPasses[] = {
    {kForward, TN_SCHEMA_CONV, PASS(Forward)},
    {kInput, TN_SCHEMA_CONV_BACKWARD_INPUT, PASS(BackwardData)},
    {kWeight, TN_SCHEMA_CONV_BACKWARD_WEIGHT, PASS(BackwardWeights)},
};
#undef PASS

// MIOpen's operands in its order, which is the call's: w, x; dy, w; dy, x.
struct Operands {
  const tn_view *a, *b, *result;
};
Operands operands_of(const tn_call& call, Pass pass) {
  const tn_view &first = input(call, arg::conv::x), &second = input(call, arg::conv::weight);
  if (pass == kForward) return {&second, &first, &output(call)};
  return {&first, &second, &output(call)};
}

// ---- Plans --------------------------------------------------------------------------------------------------------------

#define TENON_MIOPEN_HANDLE(Name, Handle, destroy)                      \
  struct Name##Deleter {                                                \
    void operator()(Handle handle) const { miopen()->destroy(handle); } \
  };                                                                    \
  using Name = std::unique_ptr<std::remove_pointer_t<Handle>, Name##Deleter>

TENON_MIOPEN_HANDLE(Tensor, miopenTensorDescriptor_t, miopenDestroyTensorDescriptor);
TENON_MIOPEN_HANDLE(Convolution, miopenConvolutionDescriptor_t, miopenDestroyConvolutionDescriptor);

class Plan final : public LibraryPlan {
 public:
  // Throws TN_UNIMPLEMENTED if MIOpen has no solution.
  Plan(const tn_call& call, const PassFunctions& functions);
  void run(const tn_call& call) const override;

 private:
  void choose(const tn_call& call);

  const PassFunctions& functions_;
  Tensor a_, b_, result_;
  Convolution convolution_;
  uint64_t solution_ = 0;
};

miopenDataType_t type_of(tn_dtype dtype) {
  if (dtype == TN_DTYPE_F16) return miopenHalf;
  return dtype == TN_DTYPE_BF16 ? miopenBFloat16 : miopenFloat;
}

Tensor make_tensor(const tn_view& view) {
  const std::vector<int64_t> sizes = plane_sizes(view), strides = dense_strides(sizes);
  const std::vector<int> counts(sizes.begin(), sizes.end()), steps(strides.begin(), strides.end());
  constexpr const char* kWhat = "describing a tensor";
  miopenTensorDescriptor_t made = nullptr;
  check(miopen()->miopenCreateTensorDescriptor(&made), kWhat);
  Tensor tensor(made);
  check(
      miopen()->miopenSetTensorDescriptor(
          made, type_of(view.dtype), static_cast<int>(counts.size()), counts.data(), steps.data()),
      kWhat);
  return tensor;
}

Convolution make_convolution(const Geometry& g, uint32_t spatial) {
  const auto ints = [&](const Geometry::Three& sizes) {
    return std::vector<int>(sizes.end() - spatial, sizes.end());
  };
  const std::vector<int> padding = ints(g.padding), stride = ints(g.stride),
                         dilation = ints(g.dilation);
  constexpr const char* kWhat = "describing a convolution";
  miopenConvolutionDescriptor_t made = nullptr;
  check(miopen()->miopenCreateConvolutionDescriptor(&made), kWhat);
  Convolution convolution(made);
  check(miopen()->miopenInitConvolutionNdDescriptor(made, static_cast<int>(spatial), padding.data(),
                                                    stride.data(), dilation.data(),
                                                    miopenConvolution),
        kWhat);
  check(miopen()->miopenSetConvolutionGroupCount(made, static_cast<int>(g.groups)), kWhat);
  // Makes results reproducible.
  check(miopen()->miopenSetConvolutionAttribute(made, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1),
        kWhat);
  return convolution;
}

Plan::Plan(const tn_call& call, const PassFunctions& functions) : functions_(functions) {
  const Operands operands = operands_of(call, functions.pass);
  a_ = make_tensor(*operands.a);
  b_ = make_tensor(*operands.b);
  result_ = make_tensor(*operands.result);
  convolution_ = make_convolution(Geometry(call, functions.pass), spatial_of(output(call)));
  choose(call);
}

void Plan::choose(const tn_call& call) {
  const MiopenHandle handle(call.device_index);
  miopenConvSolution_t found[kAsked] = {};
  size_t count = 0;
  check((miopen()->*functions_.get_solution)(handle, a_.get(), b_.get(), convolution_.get(),
                                             result_.get(), kAsked, &count, found),
        "choosing a solution");
  auto* const end = found + std::min(count, kAsked);
  const auto* const chosen = std::find_if(
      found, end, [](const auto& solution) { return solution.workspace_size <= kMostWorkspace; });
  if (chosen == end) sdk::fail(TN_UNIMPLEMENTED, "[rocm] MIOpen has no solution for these shapes");
  solution_ = chosen->solution_id;
  workspace = chosen->workspace_size;
  check((miopen()->*functions_.compile)(handle, a_.get(), b_.get(), convolution_.get(),
                                        result_.get(), solution_),
        "compiling a solution");
}

void Plan::run(const tn_call& call) const {
  const Operands operands = operands_of(call, functions_.pass);
  const rt::Stream stream = stream_of(call).handle();
  {
    MiopenHandle handle(call.device_index);
    handle.begin(stream);
    check((miopen()->*functions_.run)(handle, a_.get(), operands.a->data, b_.get(),
                                      operands.b->data, convolution_.get(), result_.get(),
                                      operands.result->data, call.scratch, workspace, solution_),
          "convolving");
    handle.end();
  }
  Timed::launched();
  const tn_view* const bias =
      functions_.pass == kForward ? input_or_null(call, arg::conv::bias) : nullptr;
  if (bias != nullptr) add_to_planes(call, output(call), *bias);
}

// ---- Kernels ------------------------------------------------------------------------------------------------------------

// Planning may compile kernels, which takes seconds, so smaller convolutions are left to the plugin's own.
double least_work() {
  static const double least = number_from("TENON_ROCM_MIOPEN_LEAST", 1 << 24);
  return least;
}

class ConvKernel final : public LibraryKernel {
 public:
  explicit ConvKernel(const PassFunctions& functions)
      : LibraryKernel({functions.schema, "MIOpen",
                       TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F16) | TN_MASK(TN_DTYPE_BF16)}),
        functions_(functions) {}

  bool takes(const tn_call& call) const override {
    const Operands operands = operands_of(call, functions_.pass);
    // Its kernels count elements in 32 bits.
    for (const tn_view* view : {operands.a, operands.b, operands.result})
      if (numel(*view) == 0 || numel(*view) > INT32_MAX) return false;
    // A plan may leave the call to the plugin's own kernel.
    return Geometry(call, functions_.pass).work() >= least_work() &&
           is_taken_by(own_kernel(functions_.schema), call) && miopen() != nullptr;
  }
  std::unique_ptr<LibraryPlan> prepare(const tn_call& call) const override {
    return std::make_unique<Plan>(call, functions_);
  }

 private:
  const PassFunctions& functions_;
};

}  // namespace

std::vector<tn_kernel> miopen_kernels() {
  static const ConvKernel kernels[] = {ConvKernel(kPasses[0]), ConvKernel(kPasses[1]),
                                       ConvKernel(kPasses[2])};
  std::vector<tn_kernel> made;
  for (const ConvKernel& kernel : kernels) made.push_back(library_kernel(kernel));
  return made;
}

}  // namespace tenon::gpu
