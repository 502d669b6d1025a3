// What is used of rocBLAS's C interface. Declared here, as Debian has no headers of it; names, values and order of arguments
// are those of AMD's documentation: rocBLAS API reference, "rocBLAS enumeration", "rocBLAS helper functions" and "rocBLAS extension"
// (gemm_ex), and the values in hipFORT's "hipfort_rocblas_enums". The same from ROCm 5.0 to 7.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct ihipStream_t;
typedef struct _rocblas_handle* rocblas_handle;
typedef int32_t rocblas_int;     // sizes and pitches
typedef int64_t rocblas_stride;  // from one matrix of a batch to the next

enum rocblas_status : int32_t {
  rocblas_status_success = 0,
  rocblas_status_invalid_handle = 1,
  rocblas_status_not_implemented = 2,
  rocblas_status_invalid_pointer = 3,
  rocblas_status_invalid_size = 4,
  rocblas_status_memory_error = 5,
  rocblas_status_internal_error = 6,
  rocblas_status_perf_degraded = 7,  // done, by a slower way that needs less memory
  rocblas_status_invalid_value = 11,
};
enum rocblas_operation : int32_t {
  rocblas_operation_none = 111,
  rocblas_operation_transpose = 112,
};
enum rocblas_datatype : int32_t {
  rocblas_datatype_f16_r = 150,
  rocblas_datatype_f32_r = 151,
  rocblas_datatype_f64_r = 152,
  rocblas_datatype_bf16_r = 168,
};
enum rocblas_atomics_mode : int32_t { rocblas_atomics_not_allowed = 0 };
enum rocblas_gemm_algo : int32_t { rocblas_gemm_algo_standard = 0 };
constexpr uint32_t rocblas_gemm_flags_none = 0;

// For the device that hipSetDevice chose on this thread. Only one thread at a time may use a handle.
rocblas_status rocblas_create_handle(rocblas_handle* handle);
rocblas_status rocblas_set_stream(rocblas_handle handle, ihipStream_t* stream);
rocblas_status rocblas_set_workspace(rocblas_handle handle, void* address, size_t bytes);
rocblas_status rocblas_set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode mode);
const char* rocblas_status_to_string(rocblas_status status);
// d = alpha·op(a)·op(b) + beta·c for each of `copies`, column-major; alpha and beta have type `compute` and are on the host.
rocblas_status rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b, rocblas_int m,
    rocblas_int n, rocblas_int k, const void* alpha, const void* a, rocblas_datatype a_type,
    rocblas_int a_pitch, rocblas_stride a_step, const void* b, rocblas_datatype b_type,
    rocblas_int b_pitch, rocblas_stride b_step, const void* beta, const void* c,
    rocblas_datatype c_type, rocblas_int c_pitch, rocblas_stride c_step, void* d,
    rocblas_datatype d_type, rocblas_int d_pitch, rocblas_stride d_step, rocblas_int copies,
    rocblas_datatype compute, rocblas_gemm_algo algorithm, int32_t solution, uint32_t flags);

}  // extern "C"
