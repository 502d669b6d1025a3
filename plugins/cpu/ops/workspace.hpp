// Memory that a thread keeps between calls, for packed copies of operands.
#pragma once

#include <cstddef>

namespace tenon::cpu {

enum class Workspace { Gemm, Columns, Packed, Sums, Weights, Attention, kCount };

// At least `bytes`, 64-byte aligned, valid until the next call on this thread for the same
// purpose. Throws std::bad_alloc.
void* workspace(Workspace purpose, size_t bytes);

}  // namespace tenon::cpu
