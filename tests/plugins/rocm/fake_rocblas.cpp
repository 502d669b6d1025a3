// A stand-in for librocblas on the host: the functions of rocblas_functions.def, written after AMD's rocBLAS documentation, as plain loops
// in double precision. It shows what the plugin asks the library for, without a GPU. It refuses what the real library would refuse, and
// what the plugin should never ask for.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "../gpu/blas/fake_blas.hpp"
#include "rocblas_abi.hpp"

struct _rocblas_handle {
  bool has_stream = false;  // the simulator does not say which one
  void* workspace = nullptr;
  size_t bytes = 0;
  bool atomics = true;
  std::atomic<bool> busy = false;
};

namespace {

bool element_of(rocblas_datatype type, fake_blas::Element& element) {
  switch (type) {
    case rocblas_datatype_f64_r:
      element = fake_blas::Element::kDouble;
      return true;
    case rocblas_datatype_f32_r:
      element = fake_blas::Element::kFloat;
      return true;
    case rocblas_datatype_f16_r:
      element = fake_blas::Element::kHalf;
      return true;
    case rocblas_datatype_bf16_r:
      element = fake_blas::Element::kBFloat;
      return true;
  }
  return false;
}

// Only one thread at a time may use a handle.
class Busy {
 public:
  explicit Busy(rocblas_handle handle) : handle_(handle), alone_(!handle->busy.exchange(true)) {}
  ~Busy() {
    if (alone_) handle_->busy = false;
  }
  bool alone() const { return alone_; }

 private:
  rocblas_handle handle_;
  bool alone_;
};

// The real library's launches fail, or drop what is beyond the grid.
constexpr rocblas_int kMostBlocks = 65535, kLeastOfBlock = 16;

}  // namespace

extern "C" {

#if defined(ANOTHER_HIP)
int hipSetDevice(int) { return 0; }
#endif

rocblas_status rocblas_create_handle(rocblas_handle* handle) {
  *handle = new _rocblas_handle;
  return rocblas_status_success;
}
rocblas_status rocblas_set_stream(rocblas_handle handle, ihipStream_t*) {
  handle->has_stream = true;
  return rocblas_status_success;
}
rocblas_status rocblas_set_workspace(rocblas_handle handle, void* address, size_t bytes) {
  handle->workspace = address;
  handle->bytes = bytes;
  return rocblas_status_success;
}
rocblas_status rocblas_set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode mode) {
  handle->atomics = mode != rocblas_atomics_not_allowed;
  return rocblas_status_success;
}
const char* rocblas_status_to_string(rocblas_status status) {
  switch (status) {
    case rocblas_status_invalid_size:
      return "rocblas_status_invalid_size";
    case rocblas_status_invalid_pointer:
      return "rocblas_status_invalid_pointer";
    case rocblas_status_not_implemented:
      return "rocblas_status_not_implemented";
    default:
      return "the stand-in refuses it";
  }
}

rocblas_status rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b, rocblas_int m,
    rocblas_int n, rocblas_int k, const void* alpha, const void* a, rocblas_datatype a_type,
    rocblas_int a_pitch, rocblas_stride a_step, const void* b, rocblas_datatype b_type,
    rocblas_int b_pitch, rocblas_stride b_step, const void* beta, const void* c,
    rocblas_datatype c_type, rocblas_int c_pitch, rocblas_stride c_step, void* d,
    rocblas_datatype d_type, rocblas_int d_pitch, rocblas_stride d_step, rocblas_int copies,
    rocblas_datatype compute, rocblas_gemm_algo algorithm, int32_t solution, uint32_t flags) {
  const Busy busy(handle);
  if (!busy.alone() || !handle->has_stream || handle->atomics) return rocblas_status_internal_error;
  // A workspace of the handle's own would be shared by streams.
  if (handle->workspace == nullptr || handle->bytes == 0) return rocblas_status_memory_error;
  if (algorithm != rocblas_gemm_algo_standard || solution != 0 || flags != rocblas_gemm_flags_none)
    return rocblas_status_invalid_value;
  for (const rocblas_operation op : {op_a, op_b})
    if (op != rocblas_operation_none && op != rocblas_operation_transpose)
      return rocblas_status_invalid_value;
  const bool at = op_a == rocblas_operation_transpose, bt = op_b == rocblas_operation_transpose;
  if (m <= 0 || n <= 0 || k <= 0 || copies <= 0 || a_pitch < (at ? k : m) ||
      b_pitch < (bt ? n : k) || c_pitch < m)
    return rocblas_status_invalid_size;
  if (c != d || c_pitch != d_pitch || c_step != d_step || c_step < int64_t{c_pitch} * n)
    return rocblas_status_invalid_size;
  if (copies > kMostBlocks || (n - 1) / kLeastOfBlock >= kMostBlocks)
    return rocblas_status_invalid_size;
  for (const void* address : {alpha, a, b, beta, c})
    if (address == nullptr) return rocblas_status_invalid_pointer;
  fake_blas::Element element, scale;
  if (a_type != b_type || a_type != c_type || a_type != d_type || !element_of(a_type, element) ||
      !element_of(compute, scale) ||
      compute != (a_type == rocblas_datatype_f64_r ? a_type : rocblas_datatype_f32_r))
    return rocblas_status_not_implemented;
  std::memset(handle->workspace, 0x5a, std::min<size_t>(handle->bytes, 4096));
  const double by = fake_blas::load(alpha, scale, 0), keep = fake_blas::load(beta, scale, 0);
  fake_blas::note_use("rocblas");
  fake_blas::multiply({a, element, at, a_pitch, a_step}, {b, element, bt, b_pitch, b_step}, m, n, k,
                      copies, [&](int64_t copy, int64_t row, int64_t column, double sum) {
                        const int64_t place = copy * d_step + column * int64_t{d_pitch} + row;
                        sum *= by;
                        // Without beta the old contents are not read: they may be NaN.
                        if (keep != 0) sum += keep * fake_blas::load(c, element, place);
                        fake_blas::store(d, element, place, sum);
                      });
  return rocblas_status_success;
}

}  // extern "C"
