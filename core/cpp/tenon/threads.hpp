// How many threads ops compute on. Over a draft of the C ABI.
#ifndef TENON_THREADS_HPP
#define TENON_THREADS_HPP

#include <cstdint>

#include "tenon/error.hpp"
#include "tenon/ext/draft/threads.h"

namespace tenon {

// The most threads that an op computes on, the calling one included.
inline int64_t num_threads() { return tn_num_threads(); }
// Holds for every op from the next one on, on all threads of the program; throws unless 1 <= n <= 1024.
inline void set_num_threads(int64_t n) { detail::check(tn_set_num_threads(n)); }

}  // namespace tenon
#endif
