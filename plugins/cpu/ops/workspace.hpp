// Memory that a thread keeps between calls, for packed copies of operands.
#pragma once

#include <cstddef>

namespace tenon::cpu {

// At least `bytes`, 64-byte aligned, valid until the next call on this thread. Throws
// std::bad_alloc.
void* workspace(size_t bytes);

}  // namespace tenon::cpu
