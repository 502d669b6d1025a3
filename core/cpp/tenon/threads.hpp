// The number of threads that ops use. Over a draft of the C ABI.
#ifndef TENON_THREADS_HPP
#define TENON_THREADS_HPP

#include <cstdint>

#include "tenon/error.hpp"
#include "tenon/ext/draft/threads.h"

namespace tenon {

// The most threads that an op uses, including the calling one.
inline int64_t num_threads() { return tn_num_threads(); }
// Applies to all later ops, on all threads of the program. Throws unless 1 <= n <= 1024.
inline void set_num_threads(int64_t n) { detail::check(tn_set_num_threads(n)); }

}  // namespace tenon
#endif
