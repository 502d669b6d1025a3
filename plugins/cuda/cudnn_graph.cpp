#include "cudnn_graph.hpp"

#include <limits>
#include <string_view>
#include <unordered_map>

#include "backend.hpp"
#include "library_kernel.hpp"

namespace tenon::gpu {
namespace {

namespace fe = cudnn_frontend;

constexpr uintptr_t kAlignment = 16;

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

// Statuses of the library that no shape causes: something is missing, has another version, or is broken.
constexpr std::string_view kBroken[] = {"NOT_INITIALIZED",
                                        "SUBLIBRARY",
                                        "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
                                        "DEPRECATED",
                                        "NOT_SUPPORTED_INCOMPATIBLE",
                                        "INTERNAL_ERROR",
                                        "EXECUTION_FAILED",
                                        "LICENSE_ERROR"};

// Whether an engine failed for such a reason. The library lists its engines' statuses as "Warning: CUDNN_STATUS_…; Reason: …"; reasons may
// also name statuses.
bool names_broken(std::string_view words) {
  constexpr std::string_view kStatus = ": CUDNN_STATUS_";
  for (size_t at = words.find(kStatus); at != words.npos; at = words.find(kStatus, at + 1))
    for (const std::string_view broken : kBroken)
      if (words.substr(at + kStatus.size()).starts_with(broken)) return true;
  return false;
}

// For describing and planning: whether the library has no way to compute this, or failed.
bool lacks_way(const fe::error_t& error) {
  switch (error.code) {
    case fe::error_code_t::ATTRIBUTE_NOT_SET:
    case fe::error_code_t::SHAPE_DEDUCTION_FAILED:
    case fe::error_code_t::GRAPH_NOT_SUPPORTED:
    case fe::error_code_t::UNSUPPORTED_GRAPH_FORMAT:
    case fe::error_code_t::HEURISTIC_QUERY_FAILED:
    case fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED:
    case fe::error_code_t::CUDNN_BACKEND_API_FAILED:
      return !names_broken(error.err_msg);
    default:
      return false;
  }
}

[[noreturn]] void fail_plan(const fe::error_t& error) {
  if (lacks_way(error))
    sdk::fail(TN_UNIMPLEMENTED, "[cuda] cuDNN has no plan for these shapes: ", error.err_msg);
  sdk::fail(TN_FAILED_PRECONDITION, "[cuda] cuDNN could not plan: ", error.err_msg,
            "; `tenon devices` shows which libraries are used, TENON_CUDA_CUDNN=0 does without it");
}

void check_plan(const fe::error_t& error) {
  if (error.is_bad()) fail_plan(error);
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
  const fe::error_t chosen = choose(may, may.workspace);
  if (chosen.is_bad()) refuse(chosen, may);
  check_plan(graph_.build_plans());
  workspace_ = workspace_of_plan();
}

// Asks the heuristics and takes the first allowed engine.
fe::error_t CudnnGraph::choose(const CudnnFreedom& may, int64_t workspace) {
  check_plan(graph_.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
  std::vector<fe::NumericalNote_t> refused = {fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION};
  if (!may.nondeterministic) refused.push_back(fe::NumericalNote_t::NONDETERMINISTIC);
  // For f32, matrix units use TF32.
  if (!may.tf32 && dtype_ == TN_DTYPE_F32)
    refused.insert(refused.end(),
                   {fe::NumericalNote_t::DOWN_CONVERT_INPUTS, fe::NumericalNote_t::TENSOR_CORE});
  graph_.deselect_numeric_notes(refused).deselect_workspace_greater_than(workspace);
  return graph_.check_support();
}

uint64_t CudnnGraph::workspace_of_plan() const {
  int64_t bytes = 0;
  check_plan(graph_.get_workspace_size(bytes));
  return static_cast<uint64_t>(bytes);
}

// If a plan with more memory exists, the shapes are not the reason. Engines that were too large stay barred when all are asked again.
void CudnnGraph::refuse(const fe::error_t& why, const CudnnFreedom& may) {
  if (choose(may, std::numeric_limits<int64_t>::max()).is_bad() || graph_.build_plans().is_bad())
    fail_plan(why);
  sdk::fail(
      TN_FAILED_PRECONDITION, "[cuda] cuDNN's plan for these shapes needs ", workspace_of_plan(),
      " bytes of workspace, above the ", may.workspace,
      " that are allowed: TENON_CUDA_CUDNN_WORKSPACE=BYTES allows more",
      may.nondeterministic
          ? ""
          : ", and TENON_CUDA_NONDETERMINISTIC=1 sums that need less, in another order each time");
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

// Reproducible attention gradients take b·h·s²·2 bytes on Hopper: 4 × 12 heads of 1024 places 100 MB, 8 × 32 heads of 4096 places 8.6 GB.
int64_t most_workspace(uint32_t device) {
  const double eighth = static_cast<double>(backend().device(device).memory) / 8;
  return static_cast<int64_t>(number_from("TENON_CUDA_CUDNN_WORKSPACE", eighth));
}

bool is_aligned_for_cudnn(const tn_view& view) { return is_aligned(view.data, kAlignment); }

}  // namespace tenon::gpu
