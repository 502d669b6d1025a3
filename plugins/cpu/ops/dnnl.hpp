// oneDNN on the plugin's threads: a plan cuts its work into parts, each of one thread. OpenMP's threads would wait for one another, and
// keep cores busy for milliseconds after.
#pragma once

#include <omp.h>

#include <dnnl.hpp>

#include "tenon/dtype.h"

namespace tenon::cpu {

inline const dnnl::engine& dnnl_engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}
// A stream serves one thread at a time.
inline dnnl::stream& dnnl_stream() {
  thread_local dnnl::stream own(dnnl_engine());
  return own;
}

// oneDNN asks OpenMP for its number of threads, when it makes a primitive and when it runs it.
class OneThread {
 public:
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_ = omp_get_max_threads();
};

// Whether the processor multiplies numbers of a half type itself.
inline bool multiplies(tn_dtype half) {
  static const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(
      half == TN_DTYPE_BF16 ? dnnl::cpu_isa::avx512_core_bf16 : dnnl::cpu_isa::avx512_core_fp16);
  return (isa & wanted) == wanted;
}

}  // namespace tenon::cpu
