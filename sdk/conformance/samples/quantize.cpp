// Weights in four bits.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

constexpr int64_t kRows = 3, kColumns = 16, kGroup = 8;
constexpr double kScales[] = {0.5, 0.25, 2, 1, 0, 0.125};  // of the groups; one has zeros alone

// The integer that an entry is.
int entry(size_t i) { return i % kGroup == 1 ? 7 : static_cast<int>(i * 5 % 15) - 7; }

// A weight that four bits hold exactly: in each group some entry is the largest.
Array weight(DType dtype) {
  Array w(dtype, {kRows, kColumns});
  for (size_t i = 0; i < w.size(); ++i) w.v[i] = entry(i) * kScales[i / kGroup];
  return w;
}
Array scales(DType dtype) {
  Array s(dtype, {kRows, kColumns / kGroup});
  std::copy(std::begin(kScales), std::end(kScales), s.v.begin());
  return s;
}
// Where the scale is 0, entries are 0, too.
Array packed(bool zeros) {
  Array p(DType::U8, {kRows, kColumns / 2});
  const auto stored = [&](size_t i) {
    return 8 + (zeros && kScales[i / kGroup] == 0 ? 0 : entry(i));
  };
  for (size_t i = 0; i < p.size(); ++i) p.v[i] = stored(2 * i) + 16 * stored(2 * i + 1);
  return p;
}

// Entry i of what is packed.
double unpacked(const Array& packed, size_t i) {
  const int both = static_cast<int>(packed.re(i / 2));
  return (i % 2 == 0 ? both & 15 : both >> 4) - 8;
}

void add_layout(Table& t) {
  t.add(
       "quantize_int4", "exact", kFloats,
       [](DType dtype, Rng&) {
         return Args{weight(dtype), kGroup};
       },
       [](const Args& a) {
         return std::vector<Array>{packed(true), scales(array(a, arg::quantize_int4::w).dtype)};
       })
      .layouts = false;
  t.add(
      "dequantize_int4", "groups", kFloats,
      [](DType dtype, Rng& rng) {
        return Args{packed(false), random_array(rng, dtype, {kRows, kColumns / kGroup})};
      },
      [](const Args& a) {
        const Array& s = array(a, arg::dequantize_int4::scale);
        Array out(s.dtype, {kRows, kColumns});
        for (size_t i = 0; i < out.size(); ++i)
          out.v[i] = unpacked(array(a, arg::dequantize_int4::packed), i) * s.v[i / kGroup];
        return one(out);
      });
}

void add_linear(Table& t) {
  t.add(
       "linear_int4", "bias", kFloats,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {2, 4, kColumns}), packed(false),
                     random_array(rng, dtype, {kRows, kColumns / kGroup}),
                     random_array(rng, dtype, {kRows})};
       },
       [](const Args& a) {
         using arg = tenon::arg::linear_int4;
         Array out(array(a, arg::x).dtype, {2, 4, kRows});
         for (size_t i = 0; i < out.size(); ++i) {
           const size_t row = i / kRows, column = i % kRows;
           out.v[i] = array(a, arg::bias).v[column];
           for (size_t k = 0; k < kColumns; ++k) {
             const size_t at = column * kColumns + k;
             out.v[i] += array(a, arg::x).v[row * kColumns + k] *
                         unpacked(array(a, arg::packed), at) * array(a, arg::scale).v[at / kGroup];
           }
         }
         return one(out);
       })
      .tolerance = 16;
}

}  // namespace

void add_quantize_samples(Table& table) {
  add_layout(table);
  add_linear(table);
}

}  // namespace tenon::conformance
