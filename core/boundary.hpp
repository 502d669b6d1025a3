// Checks that the functions of the C ABI make before they use their arguments. tests/fuzz/c_abi.py calls each function with NULL for
// each pointer.
#pragma once

#include <span>
#include <vector>

#include "status.hpp"
#include "tenon/value.h"

namespace tenon::core {

// `names` lists the checked arguments, separated by commas.
tn_status* null_argument(const char* function, std::string_view names, size_t index) noexcept;

template <class... Pointers>
tn_status* find_null(const char* function, const char* names, Pointers... given) noexcept {
  size_t index = 0;
  const bool good = ((given != nullptr && ++index != 0) && ...);
  return good ? nullptr : null_argument(function, names, index);
}

// The text of a tn_str; without data it is empty, whatever its size says.
inline std::string_view text_of(tn_str text) noexcept {
  return text.data == nullptr ? std::string_view() : to_view(text);
}

// Host memory for bools may hold any byte, but kernels rely on 0 and 1 (docs/adr/0017-bools.md). Where memory is to be shared by the
// function `name`, other bytes are an error; a copy makes each but 0 a 1.
void check_bools(std::string_view name, const tn_tensor& bools);
std::vector<uint8_t> to_bools(const void* data, uint64_t count);

}  // namespace tenon::core

// Returns from a function with an error status that names the function and the argument that is NULL.
#define TN_REQUIRE(...) \
  if (tn_status* null = tenon::core::find_null(__func__, #__VA_ARGS__, __VA_ARGS__)) return null
// The same for an array, which may be NULL when it has no entries.
#define TN_REQUIRE_ARRAY(pointer, count) \
  if ((pointer) == nullptr && (count) != 0) return tenon::core::null_argument(__func__, #pointer, 0)
