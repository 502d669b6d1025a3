// What the ops ask of cuDNN, independent of calls, so that tests can plan for devices they do not have.
#pragma once

#include "conv_geometry.hpp"
#include "cudnn_graph.hpp"

namespace tenon::gpu {

// A convolution or a gradient of one: the call's first two operands, dense, and its result.
struct CudnnConv {
  Pass pass = kForward;
  tn_dtype dtype = TN_DTYPE_F32;
  std::vector<int64_t> first, second, result;  // sizes, with two or three spatial dimensions
  std::vector<int64_t> stride, padding, dilation;
};
// Operands: x, weight, y; dy, weight, dx; dy, x, dweight. ops/conv.cpp.
std::unique_ptr<CudnnGraph> describe(const CudnnConv& conv);

// Attention without a mask, or its gradients. Sizes and strides of (N, H, L, E); the last dimension has stride 1.
struct CudnnAttention {
  struct Operand {
    std::vector<int64_t> sizes, strides;
  };
  bool is_backward = false;
  tn_dtype dtype = TN_DTYPE_BF16;
  Operand q, k, v, y, g;  // g is the gradient of y
  bool causal = false;
  float scale = 1;
  bool deterministic = true;  // for gradients
  // Strides of the gradients; dense if not given.
  Operand gq = {}, gk = {}, gv = {};
};
// Operands: q, k, v, y, lse; g, q, k, v, y, lse, gq, gk, gv. ops/attention.cpp.
std::unique_ptr<CudnnGraph> describe(const CudnnAttention& attention);

}  // namespace tenon::gpu
