// Sorting few keys without a branch: each goes where the number of keys before it says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu {

constexpr size_t kMostFew = 128, kFewMargin = 16;

// ranks[i] = the place of keys[i] in stable order; false, with nothing done, where other ways are faster. Both arrays are
// kFewMargin elements longer.
bool rank_few(const int32_t* keys, size_t n, int32_t* ranks);
bool rank_few(const int64_t* keys, size_t n, int64_t* ranks);

// The same for kRowsOfFew rows at once: key i of row r lies at keys[i * kRowsOfFew + r], and so does its rank.
constexpr size_t kRowsOfFew = 16;
void rank_rows(const int32_t* keys, size_t n, int32_t* ranks);
void rank_rows(const int64_t* keys, size_t n, int64_t* ranks);

}  // namespace tenon::cpu
