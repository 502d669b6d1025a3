// A stand-in for libMIOpen on the host: the functions of miopen_functions.def, written after AMD's MIOpen documentation, as plain loops in
// double precision. It shows what the plugin asks the library for, without a GPU. What the real library would refuse is an error here, and
// one that the plugin does not take for "no way to compute this".
#include <array>
#include <atomic>
#include <cstring>

#include "../gpu/blas/fake_blas.hpp"
#include "miopen_abi.hpp"

namespace {

constexpr uint64_t kSolution = 42;
constexpr size_t kWorkspace = 512, kTooMuch = size_t{1} << 40;
using Three = std::array<int64_t, 3>;

}  // namespace

struct miopenHandle {
  bool has_stream = false;
  std::atomic<bool> busy = false;
};
struct miopenTensorDescriptor {
  miopenDataType_t type;
  int ndim = 0;
  int sizes[5], strides[5];

  fake_blas::Element element() const {
    if (type == miopenHalf) return fake_blas::Element::kHalf;
    return type == miopenBFloat16 ? fake_blas::Element::kBFloat : fake_blas::Element::kFloat;
  }
  // Of the last three dimensions; the first is 1 if there are only two.
  Three spatial() const { return {ndim == 5 ? sizes[2] : 1, sizes[ndim - 2], sizes[ndim - 1]}; }
  int64_t place(int64_t n, int64_t c, const Three& at) const {
    const int64_t plane = ndim == 5 ? at[0] * strides[2] : 0;
    return n * strides[0] + c * strides[1] + plane + at[1] * strides[ndim - 2] +
           at[2] * strides[ndim - 1];
  }
};
struct miopenConvolutionDescriptor {
  int spatial = 0, groups = 1;
  Three padding{0, 0, 0}, stride{1, 1, 1}, dilation{1, 1, 1};
  bool deterministic = false;
  bool compiled = false;
};

namespace {

template <class Fn>
void for_each_place(const Three& sizes, const Fn& fn) {
  for (int64_t z = 0; z < sizes[0]; ++z)
    for (int64_t y = 0; y < sizes[1]; ++y)
      for (int64_t x = 0; x < sizes[2]; ++x) fn(Three{z, y, x});
}

struct Problem {
  miopenTensorDescriptor_t x, w, y;
  miopenConvolutionDescriptor_t conv;

  bool fits() const {
    if (conv->spatial != x->ndim - 2 || x->ndim != w->ndim || x->ndim != y->ndim) return false;
    if (x->type != w->type || x->type != y->type || !conv->deterministic) return false;
    if (x->sizes[0] != y->sizes[0] || x->sizes[1] != w->sizes[1] * conv->groups ||
        y->sizes[1] != w->sizes[0] || y->sizes[1] % conv->groups != 0)
      return false;
    for (size_t d = 0; d < 3; ++d) {
      const int64_t reach = conv->dilation[d] * (w->spatial()[d] - 1) + 1;
      if (y->spatial()[d] != (x->spatial()[d] + 2 * conv->padding[d] - reach) / conv->stride[d] + 1)
        return false;
    }
    return true;
  }
};

// Calls fn(position in x, in w, in y) for each product of the convolution.
template <class Fn>
void for_each_product(const Problem& p, const Fn& fn) {
  const int64_t channels = p.w->sizes[1], filters = p.w->sizes[0] / p.conv->groups;
  for (int64_t n = 0; n < p.x->sizes[0]; ++n)
    for (int64_t f = 0; f < p.w->sizes[0]; ++f)
      for (int64_t c = 0; c < channels; ++c)
        for_each_place(p.y->spatial(), [&](const Three& o) {
          for_each_place(p.w->spatial(), [&](const Three& tap) {
            Three i{};
            for (size_t d = 0; d < 3; ++d) {
              i[d] = o[d] * p.conv->stride[d] - p.conv->padding[d] + tap[d] * p.conv->dilation[d];
              if (i[d] < 0 || i[d] >= p.x->spatial()[d]) return;
            }
            fn(p.x->place(n, f / filters * channels + c, i), p.w->place(f, c, tap),
               p.y->place(n, f, o));
          });
        });
}

miopenStatus_t solutions_of(const Problem& p, size_t most, size_t* count,
                            miopenConvSolution_t* solutions) {
  *count = 0;
  if (!p.fits() || most < 2) return miopenStatusInternalError;
  // Convolutions that it cannot compute, reported in both possible ways, to see who computes them instead.
  if (p.conv->groups > 4) return miopenStatusUnsupportedOp;
  if (p.conv->dilation[1] != p.conv->dilation[2]) return miopenStatusSuccess;
  solutions[0] = {0.5f, kTooMuch, kSolution + 1, 0};
  solutions[1] = {1, kWorkspace, kSolution, 0};
  *count = 2;
  return miopenStatusSuccess;
}

miopenStatus_t compile(const Problem& p, uint64_t solution) {
  if (!p.fits() || solution != kSolution) return miopenStatusInternalError;
  p.conv->compiled = true;
  return miopenStatusSuccess;
}

enum Role { kX, kW, kY };

miopenStatus_t compute(miopenHandle_t handle, const Problem& p, const void* (&data)[3], Role result,
                       void* to, void* workspace, size_t bytes, uint64_t solution) {
  if (handle->busy.exchange(true)) return miopenStatusInternalError;
  const bool good = handle->has_stream && p.fits() && p.conv->compiled && solution == kSolution &&
                    workspace != nullptr && bytes >= kWorkspace;
  if (good) {
    fake_blas::note_use("MIOpen");
    std::memset(workspace, 0x5a, kWorkspace);
    const miopenTensorDescriptor_t kinds[] = {p.x, p.w, p.y};
    int64_t count = 1;
    for (int d = 0; d < kinds[result]->ndim; ++d) count *= kinds[result]->sizes[d];
    double* const sums = new double[static_cast<size_t>(count)]();
    const auto at = [&](Role role, int64_t place) {
      return fake_blas::load(data[role], kinds[role]->element(), place);
    };
    for_each_product(p, [&](int64_t x, int64_t w, int64_t y) {
      if (result == kX) sums[x] += at(kW, w) * at(kY, y);
      if (result == kW) sums[w] += at(kX, x) * at(kY, y);
      if (result == kY) sums[y] += at(kX, x) * at(kW, w);
    });
    for (int64_t i = 0; i < count; ++i) fake_blas::store(to, kinds[result]->element(), i, sums[i]);
    delete[] sums;
  }
  handle->busy = false;
  return good ? miopenStatusSuccess : miopenStatusInternalError;
}

}  // namespace

extern "C" {

const char* miopenGetErrorString(miopenStatus_t) { return "the stand-in refuses it"; }
miopenStatus_t miopenCreate(miopenHandle_t* handle) {
  *handle = new miopenHandle;
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetStream(miopenHandle_t handle, ihipStream_t*) {
  handle->has_stream = true;
  return miopenStatusSuccess;
}

miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t* made) {
  *made = new miopenTensorDescriptor;
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensor, miopenDataType_t type,
                                         int ndim, const int* sizes, const int* strides) {
  if (ndim != 4 && ndim != 5) return miopenStatusInternalError;
  if (type != miopenHalf && type != miopenFloat && type != miopenBFloat16)
    return miopenStatusInternalError;
  tensor->type = type;
  tensor->ndim = ndim;
  int64_t dense = 1;
  for (int d = ndim; d-- > 0; dense *= sizes[d]) {
    if (sizes[d] <= 0 || strides[d] != dense) return miopenStatusInternalError;
    tensor->sizes[d] = sizes[d];
    tensor->strides[d] = strides[d];
  }
  return miopenStatusSuccess;
}
miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensor) {
  delete tensor;
  return miopenStatusSuccess;
}

miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* made) {
  *made = new miopenConvolutionDescriptor;
  return miopenStatusSuccess;
}
miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t conv, int spatial,
                                                 const int* padding, const int* stride,
                                                 const int* dilation,
                                                 miopenConvolutionMode_t mode) {
  if ((spatial != 2 && spatial != 3) || mode != miopenConvolution) return miopenStatusInternalError;
  conv->spatial = spatial;
  for (int d = 0; d < spatial; ++d) {
    if (padding[d] < 0 || stride[d] <= 0 || dilation[d] <= 0) return miopenStatusInternalError;
    const auto to = static_cast<size_t>(3 - spatial + d);
    conv->padding[to] = padding[d];
    conv->stride[to] = stride[d];
    conv->dilation[to] = dilation[d];
  }
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t conv, int groups) {
  conv->groups = groups;
  return groups > 0 ? miopenStatusSuccess : miopenStatusInternalError;
}
miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t conv,
                                             miopenConvolutionAttrib_t which, int value) {
  if (which != MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC) return miopenStatusInternalError;
  conv->deterministic = value == 1;
  return miopenStatusSuccess;
}
miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t conv) {
  delete conv;
  return miopenStatusSuccess;
}

// For each pass, which of x, w and y are its operands and which is its result.
#define PASS(Pass, A, B, Result)                                                                \
  static Problem problem_of_##Pass(miopenTensorDescriptor_t a, miopenTensorDescriptor_t b,      \
                                   miopenConvolutionDescriptor_t conv,                          \
                                   miopenTensorDescriptor_t result) {                           \
    miopenTensorDescriptor_t kinds[3];                                                          \
    kinds[A] = a;                                                                               \
    kinds[B] = b;                                                                               \
    kinds[Result] = result;                                                                     \
    return {kinds[kX], kinds[kW], kinds[kY], conv};                                             \
  }                                                                                             \
  miopenStatus_t miopenConvolution##Pass##GetSolution(                                          \
      miopenHandle_t, miopenTensorDescriptor_t a, miopenTensorDescriptor_t b,                   \
      miopenConvolutionDescriptor_t conv, miopenTensorDescriptor_t result, size_t most,         \
      size_t* count, miopenConvSolution_t* solutions) {                                         \
    return solutions_of(problem_of_##Pass(a, b, conv, result), most, count, solutions);         \
  }                                                                                             \
  miopenStatus_t miopenConvolution##Pass##CompileSolution(                                      \
      miopenHandle_t, miopenTensorDescriptor_t a, miopenTensorDescriptor_t b,                   \
      miopenConvolutionDescriptor_t conv, miopenTensorDescriptor_t result, uint64_t solution) { \
    return compile(problem_of_##Pass(a, b, conv, result), solution);                            \
  }                                                                                             \
  miopenStatus_t miopenConvolution##Pass##Immediate(                                            \
      miopenHandle_t handle, miopenTensorDescriptor_t a_kind, const void* a,                    \
      miopenTensorDescriptor_t b_kind, const void* b, miopenConvolutionDescriptor_t conv,       \
      miopenTensorDescriptor_t result_kind, void* result, void* workspace, size_t bytes,        \
      uint64_t solution) {                                                                      \
    const void* data[3];                                                                        \
    data[A] = a;                                                                                \
    data[B] = b;                                                                                \
    data[Result] = result;                                                                      \
    return compute(handle, problem_of_##Pass(a_kind, b_kind, conv, result_kind), data, Result,  \
                   result, workspace, bytes, solution);                                         \
  }

PASS(Forward, kW, kX, kY)
PASS(BackwardData, kY, kW, kX)
PASS(BackwardWeights, kY, kX, kW)

}  // extern "C"
