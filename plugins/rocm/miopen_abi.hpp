// What is used of MIOpen's C interface. Declared here, as Debian has no headers of it; names, values and order of arguments are those
// of AMD's documentation: MIOpen API reference, "Handle", "Tensor" and "Convolutions" (immediate mode). The same from ROCm 5 to 7.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct ihipStream_t;
typedef struct miopenHandle* miopenHandle_t;
typedef struct miopenTensorDescriptor* miopenTensorDescriptor_t;
typedef struct miopenConvolutionDescriptor* miopenConvolutionDescriptor_t;

enum miopenStatus_t : int32_t {
  miopenStatusSuccess = 0,
  miopenStatusBadParm = 3,
  miopenStatusAllocFailed = 4,
  miopenStatusInternalError = 5,
  miopenStatusNotImplemented = 6,
  miopenStatusUnsupportedOp = 8,
};
enum miopenDataType_t : int32_t { miopenHalf = 0, miopenFloat = 1, miopenBFloat16 = 5 };
enum miopenConvolutionMode_t : int32_t { miopenConvolution = 0 };
enum miopenConvolutionAttrib_t : int32_t { MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1 };

// A way to compute a convolution, the fastest first.
struct miopenConvSolution_t {
  float time;
  size_t workspace_size;
  uint64_t solution_id;
  int32_t algorithm;
};

const char* miopenGetErrorString(miopenStatus_t status);
miopenStatus_t miopenCreate(miopenHandle_t* handle);
miopenStatus_t miopenSetStream(miopenHandle_t handle, ihipStream_t* stream);

miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t* made);
miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensor, miopenDataType_t type,
                                         int ndim, const int* sizes, const int* strides);
miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensor);
miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* made);
miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t conv, int spatial,
                                                 const int* padding, const int* stride,
                                                 const int* dilation, miopenConvolutionMode_t mode);
miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t conv, int groups);
miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t conv,
                                             miopenConvolutionAttrib_t which, int value);
miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t conv);

// Immediate mode, for each pass with its two operands and its result: w, x, y; dy, w, dx; dy, x, dw.
#define MIOPEN_PASS(Pass)                                                                          \
  miopenStatus_t miopenConvolution##Pass##GetSolution(                                             \
      miopenHandle_t handle, miopenTensorDescriptor_t a, miopenTensorDescriptor_t b,               \
      miopenConvolutionDescriptor_t conv, miopenTensorDescriptor_t result, size_t most,            \
      size_t* count, miopenConvSolution_t* solutions);                                             \
  miopenStatus_t miopenConvolution##Pass##CompileSolution(                                         \
      miopenHandle_t handle, miopenTensorDescriptor_t a, miopenTensorDescriptor_t b,               \
      miopenConvolutionDescriptor_t conv, miopenTensorDescriptor_t result, uint64_t solution);     \
  miopenStatus_t miopenConvolution##Pass##Immediate(                                               \
      miopenHandle_t handle, miopenTensorDescriptor_t a_kind, const void* a,                       \
      miopenTensorDescriptor_t b_kind, const void* b, miopenConvolutionDescriptor_t conv,          \
      miopenTensorDescriptor_t result_kind, void* result, void* workspace, size_t workspace_bytes, \
      uint64_t solution)
MIOPEN_PASS(Forward);
MIOPEN_PASS(BackwardData);
MIOPEN_PASS(BackwardWeights);
#undef MIOPEN_PASS

}  // extern "C"
