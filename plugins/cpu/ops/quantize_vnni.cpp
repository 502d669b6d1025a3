// Products of integers of eight bits where the processor has VNNI with AVX-512: linear_w8a8, which makes them of x, and linear_integer.
#include "kernels.hpp"
#include "tenon/schemas.h"

#if defined(__x86_64__)
#include "ops/quantize_packed.hpp"
#include "ops/workspace.hpp"

namespace tenon::cpu {
namespace {

constexpr int64_t kMostTerms = 65536;  // whose sums 32 bits hold

// Times both scales, plus the bias.
struct Scaled {
  const float *steps, *scale, *bias;
  float* out;
  int64_t outputs;
  TENON_VNNI void store(__m512i sums, const Piece& at) const {
    const __m512 step = _mm512_castsi512_ps(by_rows(steps + at.row, at.rows));
    __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_mul_ps(step, by_columns(scale, at)));
    if (bias != nullptr) y = _mm512_add_ps(y, by_columns(bias, at));
    store_rows(_mm512_castps_si512(y), at, out, outputs);
  }
  TENON_VNNI void store_strip(__m512i sums, int64_t row, int64_t column) const {
    const __mmask16 there = first_of(outputs - column);
    const __m512 by =
        _mm512_mul_ps(_mm512_set1_ps(steps[row]), _mm512_maskz_loadu_ps(there, scale + column));
    __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), by);
    if (bias != nullptr) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(there, bias + column));
    _mm512_mask_storeu_ps(out + row * outputs + column, there, y);
  }
};
struct Whole {
  int32_t* out;
  int64_t outputs;
  TENON_VNNI void store(__m512i sums, const Piece& at) const { store_rows(sums, at, out, outputs); }
  TENON_VNNI void store_strip(__m512i sums, int64_t row, int64_t column) const {
    _mm512_mask_storeu_epi32(out + row * outputs + column, first_of(outputs - column), sums);
  }
};

// Memory for rows of x in eight bits, with a zero point and a step each.
struct Rows {
  Rows(int64_t rows, int64_t n)
      : count(rows),
        stride((n + kVnniLanes - 1) / kVnniLanes * kVnniLanes),
        room(Workspace::Packed, Room::bytes_of<uint8_t>(rows * stride) +
                                    Room::bytes_of<int32_t>(rows) + Room::bytes_of<float>(rows)) {}
  Bytes bytes() const { return {data, zeros, count, stride}; }
  int64_t count, stride;
  Room room;
  uint8_t* data = room.take<uint8_t>(count * stride);
  int32_t* zeros = room.take<int32_t>(count);
  float* steps = room.take<float>(count);
};

// From so many rows on, laying the weight out anew pays.
constexpr int64_t kPackRows = 12;

template <class Out>
void multiply(const Bytes& x, const ByteWeight& w, const PackedBytes* known, const Out& out) {
  if (known != nullptr) return packed_product(x, nullptr, *known, out);
  if (x.rows < kPackRows) return vnni_product(x, w, out);
  PackedBytes packed = {nullptr, nullptr, w.outputs, w.n};
  Room room(Workspace::Weights,
            Room::bytes_of<int8_t>(packed.bytes()) + Room::bytes_of<int32_t>(packed.columns()));
  packed.data = room.take<int8_t>(packed.bytes());
  packed.sums = room.take<int32_t>(packed.columns());
  packed_product(x, &w, packed, out);
}

}  // namespace

void run_w8a8(const tn_call& call, const PackedBytes* laid_out) {
  using arg = arg::linear_w8a8;
  const tn_view &x = input(call, arg::x), &packed = input(call, arg::packed);
  const tn_view* const bias = input_or_null(call, arg::bias);
  const tn_view* const given = input_or_null(call, arg::x_range);
  const ByteWeight w = {data_of<const int8_t>(packed), packed.shape[0], packed.shape[1]};
  const Rows rows(numel(x) / w.n, w.n);
  parallel_for(rows.count, std::max<int64_t>(1, kGrainMath / w.n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const row = data_of<const float>(x) + i * w.n;
      Range range;
      if (given == nullptr) {
        range = range_of(row, w.n);
      } else {
        const auto* const ends = data_of<const float>(*given);
        range = {std::min(ends[0], 0.0f), std::max(ends[1], 0.0f)};
      }
      rows.steps[i] =
          quantize(row, w.n, range, rows.data + i * rows.stride, rows.stride, rows.zeros[i]);
    }
  });
  multiply(rows.bytes(), w, laid_out,
           Scaled{rows.steps, data_of<const float>(input(call, arg::scale)),
                  bias == nullptr ? nullptr : data_of<const float>(*bias),
                  data_of<float>(output(call)), w.outputs});
}

namespace {

// A row of bytes with some of their bits turned, and zeros behind.
TENON_VNNI void copy_turned(const uint8_t* from, int64_t n, uint8_t turn, uint8_t* to,
                            int64_t stride) {
  const __m512i bits = _mm512_set1_epi8(static_cast<char>(turn));
  for (int64_t p = 0; p < stride; p += kVnniLanes) {
    const __mmask64 there = n - p >= kVnniLanes ? ~__mmask64{0} : (__mmask64{1} << (n - p)) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(there, from + p);
    _mm512_storeu_si512(to + p, _mm512_maskz_mov_epi8(there, _mm512_xor_si512(bytes, bits)));
  }
}

}  // namespace

void run_integer(const tn_call& call, const PackedBytes* laid_out) {
  using arg = arg::linear_integer;
  const tn_view &x = input(call, arg::x), &weight = input(call, arg::weight);
  const ByteWeight w = {data_of<const int8_t>(weight), weight.shape[0], weight.shape[1]};
  const auto* const from = static_cast<const uint8_t*>(x.data);
  const uint8_t zero = x.dtype == TN_DTYPE_I8 ? 128 : 0;  // its sign bit turned: 128 more
  const Whole out = {data_of<int32_t>(output(call)), w.outputs};
  const int64_t count = numel(x) / w.n;
  if (zero == 0 && w.n % kQuad == 0 && (laid_out != nullptr || count >= kPackRows))  // as they lie
    return multiply({from, nullptr, count, w.n}, w, laid_out, out);
  const Rows rows(count, w.n);
  std::fill_n(rows.zeros, count, int32_t{zero});
  parallel_for(rows.count, std::max<int64_t>(1, kGrainCopy / w.n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      copy_turned(from + i * w.n, w.n, zero, rows.data + i * rows.stride, rows.stride);
  });
  const Bytes bytes = {rows.data, zero == 0 ? nullptr : rows.zeros, count, rows.stride};
  multiply(bytes, w, laid_out, out);
}

namespace {

void w8a8(const tn_call& call) { run_w8a8(call, nullptr); }
void integer(const tn_call& call) { run_integer(call, nullptr); }

template <class Arg>
bool fits(const tn_call& call, const tn_view& weight) {
  return numel(weight) > 0 && numel(input(call, Arg::x)) > 0 && weight.shape[1] <= kMostTerms;
}
bool w8a8_fits(const tn_call& call) {
  return fits<arg::linear_w8a8>(call, input(call, arg::linear_w8a8::packed));
}
bool integer_fits(const tn_call& call) {
  return fits<arg::linear_integer>(call, input(call, arg::linear_integer::weight));
}

bool has_vnni() {
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace

void add_quantize_vnni_kernels(KernelList& list) {
  if (!has_vnni()) return;  // f32 products, by decomposition
  list.add({.schema = TN_SCHEMA_LINEAR_W8A8,
            .dtypes = TN_MASK(TN_DTYPE_F32),
            .run = run_of<w8a8>,
            .supports = supports_of<w8a8_fits>});
  list.add({.schema = TN_SCHEMA_LINEAR_INTEGER,
            .dtypes = TN_MASK(TN_DTYPE_I8) | TN_MASK(TN_DTYPE_U8),
            .run = run_of<integer>,
            .supports = supports_of<integer_fits>});
}

}  // namespace tenon::cpu
#else
namespace tenon::cpu {
void add_quantize_vnni_kernels(KernelList&) {}
}  // namespace tenon::cpu
#endif
