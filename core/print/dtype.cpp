// Names of dtypes.
#include <iterator>
#include <string_view>

#include "boundary.hpp"
#include "status.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

constexpr std::string_view kNames[TN_DTYPE_COUNT] = {
    "bool", "u8",   "u16", "u32", "u64", "i8",   "i16",     "i32",    "i64",
    "f16",  "bf16", "f32", "f64", "c64", "c128", "f8_e4m3", "f8_e5m2"};
constexpr std::string_view kLongNames[TN_DTYPE_COUNT] = {
    "bool",    "uint8",     "uint16",     "uint32",        "uint64",     "int8",
    "int16",   "int32",     "int64",      "float16",       "bfloat16",   "float32",
    "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"};

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
