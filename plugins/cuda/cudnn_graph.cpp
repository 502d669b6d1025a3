#include "cudnn_graph.hpp"

#include <unordered_map>

#include "backend.hpp"
#include "library_kernel.hpp"

namespace tenon::gpu {
namespace {

namespace fe = cudnn_frontend;

constexpr uintptr_t kAlignment = 16;
constexpr int64_t kMostWorkspace = int64_t{1} << 30;

fe::DataType_t type_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_F16:
      return fe::DataType_t::HALF;
    case TN_DTYPE_BF16:
      return fe::DataType_t::BFLOAT16;
    case TN_DTYPE_F64:
      return fe::DataType_t::DOUBLE;
    default:
      return fe::DataType_t::FLOAT;
  }
}

std::vector<int64_t> list(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

// What describes or plans: all that it can fail with is that the library has no way for it.
void check_plan(const fe::error_t& error) {
  if (error.is_good()) return;
  sdk::fail(TN_UNIMPLEMENTED, "[cuda] cuDNN has no plan for these shapes: ", error.err_msg);
}

}  // namespace

CudnnGraph::CudnnGraph(tn_dtype dtype) : dtype_(dtype) {
  const fe::DataType_t sums = type_of(dtype == TN_DTYPE_F64 ? TN_DTYPE_F64 : TN_DTYPE_F32);
  graph_.set_io_data_type(type_of(dtype));
  graph_.set_intermediate_data_type(sums).set_compute_data_type(sums);
}

CudnnTensor CudnnGraph::input(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  return input(sizes, strides, dtype_);
}
CudnnTensor CudnnGraph::input(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                              tn_dtype dtype) {
  return graph_.tensor(fe::graph::Tensor_attributes()
                           .set_dim(list(sizes))
                           .set_stride(list(strides))
                           .set_data_type(type_of(dtype))
                           .set_uid(++operands_));
}
void CudnnGraph::result(const CudnnTensor& tensor, std::span<const int64_t> sizes,
                        std::span<const int64_t> strides, tn_dtype dtype) {
  tensor->set_output(true)
      .set_dim(list(sizes))
      .set_stride(list(strides))
      .set_data_type(type_of(dtype))
      .set_uid(++operands_);
}

void CudnnGraph::plan(const CudnnTarget& target, const CudnnFreedom& may) {
  graph_.set_sm_version(static_cast<int32_t>(target.architecture));
  if (target.properties != nullptr) graph_.set_device_properties(target.properties);
  check_plan(graph_.validate());
  check_plan(graph_.build_operation_graph(target.handle));
  check_plan(graph_.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
  std::vector<fe::NumericalNote_t> refused = {fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION};
  if (!may.nondeterministic) refused.push_back(fe::NumericalNote_t::NONDETERMINISTIC);
  // On f32 matrix units are TF32's.
  if (!may.tf32 && dtype_ == TN_DTYPE_F32)
    refused.insert(refused.end(),
                   {fe::NumericalNote_t::DOWN_CONVERT_INPUTS, fe::NumericalNote_t::TENSOR_CORE});
  graph_.deselect_numeric_notes(refused).deselect_workspace_greater_than(kMostWorkspace);
  check_plan(graph_.check_support());
  check_plan(graph_.build_plans());
  int64_t bytes = 0;
  check_plan(graph_.get_workspace_size(bytes));
  workspace_ = static_cast<uint64_t>(bytes);
}

void CudnnGraph::run(cudnnHandle_t handle, std::span<void* const> addresses,
                     void* workspace) const {
  std::unordered_map<int64_t, void*> pack;
  for (size_t i = 0; i < addresses.size(); ++i) pack[static_cast<int64_t>(i) + 1] = addresses[i];
  const fe::error_t error = graph_.execute(handle, pack, workspace);
  if (error.is_bad()) sdk::fail(TN_INTERNAL, "[cuda] running a plan of cuDNN: ", error.err_msg);
}

CudnnTarget cudnn_target(uint32_t device, const CudnnHandle& handle) {
  return {handle, backend().device(device).architecture, nullptr};
}

bool is_aligned_for_cudnn(const tn_view& view) { return is_aligned(view.data, kAlignment); }

}  // namespace tenon::gpu
