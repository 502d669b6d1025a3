// Sizes and promotion of dtypes.
#include <algorithm>

#include "boundary.hpp"
#include "status.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

enum class Kind { Bool, Unsigned, Signed, Float, Complex };

// Codes are grouped by kind: bool, then four of each kind. Not valid for 8-bit floats.
Kind kind_of(tn_dtype dtype) { return static_cast<Kind>((dtype + 3) / 4); }

[[noreturn, gnu::cold]] void fail_promotion(tn_dtype a, tn_dtype b, std::string_view why) {
  fail(TN_INVALID_ARGUMENT, "{} and {} have no common dtype{}", dtype_name(a), dtype_name(b), why);
}

}  // namespace

// Array API 2024.12, "Type promotion rules". Mixed kinds, which it leaves open, go to
// the higher kind.
tn_dtype promote(tn_dtype a, tn_dtype b) {
  if (a > b) std::swap(a, b);
  if (b >= TN_DTYPE_COUNT) fail(TN_INVALID_ARGUMENT, "unknown dtype code {}", b);
  if (a == b) return a;
  if (is_float8(b)) fail_promotion(a, b, storage_hint(b));
  const Kind ka = kind_of(a), kb = kind_of(b);
  if (kb == Kind::Complex) return ka == kb || a == TN_DTYPE_F64 ? TN_DTYPE_C128 : b;
  // f16 and bf16 each lose what the other keeps.
  if (a == TN_DTYPE_F16 && b == TN_DTYPE_BF16) return TN_DTYPE_F32;
  if (ka == kb || ka == Kind::Bool || kb == Kind::Float) return b;
  if (a == TN_DTYPE_U64) fail_promotion(a, b, " in the Array API standard; cast one of them first");
  // u8 needs i16 to hold all its values, u16 i32, u32 i64.
  return std::max(b, static_cast<tn_dtype>(a - TN_DTYPE_U8 + TN_DTYPE_I16));
}

}  // namespace tenon::core

using namespace tenon::core;

uint64_t tn_dtype_size(tn_dtype dtype) { return dtype_size(dtype); }
tn_status* tn_dtype_promote(tn_dtype a, tn_dtype b, tn_dtype* out) {
  TN_REQUIRE(out);
  return guarded([&] { *out = promote(a, b); });
}
