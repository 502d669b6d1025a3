// Names of dtypes.
#include <iterator>
#include <string_view>

#include "boundary.hpp"
#include "status.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

#define DTYPE(code, name, long_name, size) name,
constexpr std::string_view kNames[TN_DTYPE_COUNT] = {
#include "tenon/dtypes.def"
};
#undef DTYPE
#define DTYPE(code, name, long_name, size) long_name,
constexpr std::string_view kLongNames[TN_DTYPE_COUNT] = {
#include "tenon/dtypes.def"
};
#undef DTYPE
#define DTYPE(code, name, long_name, size) static_assert(kNames[TN_DTYPE_##code] == name);
#include "tenon/dtypes.def"
#undef DTYPE

}  // namespace

std::string_view dtype_name(tn_dtype dtype) {
  return dtype < TN_DTYPE_COUNT ? kNames[dtype] : std::string_view("?");
}

}  // namespace tenon::core

using namespace tenon::core;

tn_str tn_dtype_name(tn_dtype dtype) { return to_str(dtype_name(dtype)); }

tn_status* tn_dtype_find(tn_str name, tn_dtype* out) {
  TN_REQUIRE(name.data, out);
  return guarded([&] {
    for (tn_dtype dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype)
      if (to_view(name) == kNames[dtype] || to_view(name) == kLongNames[dtype])
        return void(*out = dtype);
    std::string near = nearest_name(to_view(name), {std::begin(kNames), std::end(kNames)});
    fail(TN_NOT_FOUND, "no dtype '{}'{}", to_view(name),
         near.empty() ? "" : "; did you mean '" + near + "'?");
  });
}
