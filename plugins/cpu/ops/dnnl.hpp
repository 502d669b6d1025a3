// oneDNN on the plugin's threads: a plan cuts its work into parts, each of one thread. OpenMP's threads would wait for one another, and
// keep cores busy for milliseconds after.
#pragma once

#include <omp.h>

#include <dnnl.hpp>

#include "tenon/dtype.h"
#include "threads.hpp"

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

// An axis that a call's work is cut along, into parts of `step` places.
struct Cut {
  int64_t extent = 1, step = 1;
};

// What a plan makes for the parts: all but the last are alike.
template <class Part>
class Parts {
 public:
  // make(places of the axis)
  template <class Make>
  Parts(const Cut& cut, Make&& make) : cut_(cut), whole_(make(cut.step)) {
    const int64_t rest = cut.extent % cut.step;
    last_ = rest == 0 ? whole_ : make(rest);
  }
  const Part& whole() const { return whole_; }
  int64_t step() const { return cut_.step; }
  int64_t count() const { return (cut_.extent + cut_.step - 1) / cut_.step; }
  // body(part, first place of the axis), over the threads.
  template <class Body>
  void run(Body&& body) const {
    parallel_for(count(), 1, [&](int64_t begin, int64_t end) {
      const OneThread one;
      for (int64_t i = begin; i < end; ++i) body(i + 1 == count() ? last_ : whole_, i * cut_.step);
    });
  }

 private:
  Cut cut_;
  Part whole_, last_;
};

// Whether the processor multiplies numbers of a half type itself.
inline bool multiplies(tn_dtype half) {
  static const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(
      half == TN_DTYPE_BF16 ? dnnl::cpu_isa::avx512_core_bf16 : dnnl::cpu_isa::avx512_core_fp16);
  return (isa & wanted) == wanted;
}

}  // namespace tenon::cpu
