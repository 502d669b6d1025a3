// A computation for cuDNN's graph API: described with the frontend's headers, planned once, run with the addresses of a call.
#pragma once

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <memory>
#include <span>
#include <vector>

#include "cudnn.hpp"

namespace tenon::gpu {

// The device to plan for: an actual one, or only its properties.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  uint32_t architecture = 0;  // major·10 + minor
  std::shared_ptr<const cudnn_frontend::DeviceProperties> properties;
};

// What an engine may do for speed.
struct CudnnFreedom {
  bool tf32 = false;                     // round f32 to TF32
  bool nondeterministic = false;         // sum in an order that varies
  int64_t workspace = int64_t{1} << 30;  // bytes
};

using CudnnTensor = std::shared_ptr<cudnn_frontend::graph::Tensor_attributes>;

class CudnnGraph {
 public:
  // The type of inputs and results unless said otherwise: f16, bf16, f32 or f64. Sums are f32, for f64 they are f64.
  explicit CudnnGraph(tn_dtype dtype);

  // Operands, in the order in which run() takes their addresses, aligned to 16 bytes. Strides count elements.
  CudnnTensor input(std::span<const int64_t> sizes, std::span<const int64_t> strides);
  CudnnTensor input(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                    tn_dtype dtype);
  void result(const CudnnTensor& tensor, std::span<const int64_t> sizes,
              std::span<const int64_t> strides, tn_dtype dtype);
  cudnn_frontend::graph::Graph& operations() { return graph_; }

  // Plans by the library's heuristics. Takes the first engine that rounds no more than the dtypes do and, unless `may` allows it, is
  // reproducible. Throws TN_UNIMPLEMENTED if there is none, TN_FAILED_PRECONDITION if the library fails or the workspace is too small.
  void plan(const CudnnTarget& target, const CudnnFreedom& may = {});
  uint64_t workspace() const { return workspace_; }
  // Enqueues it. [stream-ordered]
  void run(cudnnHandle_t handle, std::span<void* const> addresses, void* workspace) const;

 private:
  cudnn_frontend::error_t choose(const CudnnFreedom& may, int64_t workspace);
  [[noreturn]] void refuse(const cudnn_frontend::error_t& why, const CudnnFreedom& may);
  uint64_t workspace_of_plan() const;

  cudnn_frontend::graph::Graph graph_;
  tn_dtype dtype_;
  int64_t operands_ = 0;
  uint64_t workspace_ = 0;
};

// The device of a call, for its plan.
CudnnTarget cudnn_target(uint32_t device, const CudnnHandle& handle);

// The most workspace for a plan: an eighth of the device's memory, or TENON_CUDA_CUDNN_WORKSPACE bytes.
int64_t most_workspace(uint32_t device);

// The alignment that cuDNN's engines require.
bool is_aligned_for_cudnn(const tn_view& view);

}  // namespace tenon::gpu
