// Names, sizes and promotion of dtypes.
#include <algorithm>
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

enum class Kind { Bool, Unsigned, Signed, Float, Complex };

// Codes are grouped by kind: bool, then four of each kind. Not valid for 8-bit floats.
Kind kind_of(tn_dtype dtype) { return static_cast<Kind>((dtype + 3) / 4); }

}  // namespace

// Array API 2024.12, "Type promotion rules". Mixed kinds, which it leaves open, go to
// the higher kind.
tn_dtype promote(tn_dtype a, tn_dtype b) {
  if (a > b) std::swap(a, b);
  if (b >= TN_DTYPE_COUNT) fail(TN_INVALID_ARGUMENT, "unknown dtype code {}", b);
  if (a == b) return a;
  if (is_float8(b))
    fail(TN_INVALID_ARGUMENT, "{} and {} have no common dtype{}", kNames[a], kNames[b],
         storage_hint(b));
  const Kind ka = kind_of(a), kb = kind_of(b);
  if (kb == Kind::Complex) return ka == kb || a == TN_DTYPE_F64 ? TN_DTYPE_C128 : b;
  // f16 and bf16 each lose what the other keeps.
  if (a == TN_DTYPE_F16 && b == TN_DTYPE_BF16) return TN_DTYPE_F32;
  if (ka == kb || ka == Kind::Bool || kb == Kind::Float) return b;
  if (a == TN_DTYPE_U64)
    fail(TN_INVALID_ARGUMENT,
         "u64 and {} have no common dtype in the Array API standard; cast one of them first",
         kNames[b]);
  // u8 needs i16 to hold all its values, u16 i32, u32 i64.
  return std::max(b, static_cast<tn_dtype>(a - TN_DTYPE_U8 + TN_DTYPE_I16));
}

std::string_view dtype_name(tn_dtype dtype) {
  return dtype < TN_DTYPE_COUNT ? kNames[dtype] : std::string_view("?");
}

}  // namespace tenon::core

using namespace tenon::core;

uint64_t tn_dtype_size(tn_dtype dtype) { return dtype_size(dtype); }
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

tn_status* tn_dtype_promote(tn_dtype a, tn_dtype b, tn_dtype* out) {
  TN_REQUIRE(out);
  return guarded([&] { *out = promote(a, b); });
}
