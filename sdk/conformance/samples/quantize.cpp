// Weights in four and eight bits.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// The shape of a product's x, the number of outputs, and the number of entries that share a scale.
struct Product {
  const char* name;
  Shape x;
  int64_t outputs, group;
};
const Product kProducts[] = {
    {"small groups", {2, 4, 16}, 3, 8}, {"a token", {1, 192}, 7, 32},
    {"some tokens", {5, 96}, 9, 32},    {"a scale for each row", {3, 64}, 6, 64},
    {"two rows", {2, 64}, 5, 32},       {"many rows", {40, 64}, 10, 32}};

constexpr int64_t kRows = 3, kColumns = 16, kGroup = 8;
constexpr double kScales[] = {0.5, 0.25, 2,
                              1,   0,    0.125};  // for each group; scale 0 makes its entries equal
constexpr double kOffsets[] = {-2, 0, 0.5, -16, 3, -1};

Array of_groups(DType dtype, const double (&values)[6]) {
  Array made(dtype, {kRows, kColumns / kGroup});
  std::copy(std::begin(values), std::end(values), made.v.begin());
  return made;
}

// Integers from `least` to `most`. Each group contains both of these, except that a group of scale 0 contains only zeros.
int exact(size_t i, int least, int most) {
  if (kScales[i / kGroup] == 0) return 0;
  if (i % kGroup < 2) return i % kGroup == 0 ? least : most;
  return static_cast<int>(i * 37 % static_cast<size_t>(most - least + 1)) + least;
}

Array random_bytes(Rng& rng, DType dtype, int64_t rows, int64_t columns) {
  Array made = random_array(rng, DType::F64, {rows, columns});
  made.dtype = dtype;
  for (Complex& v : made.v) {
    const double whole = std::clamp(std::round(v.real() * 100), -127.0, 127.0);
    v = dtype == DType::U8 ? whole + 128 : whole;
  }
  return made;
}

// The value at (row, column), computed from the arguments of dequantize or linear.
double weight_int4(const Array& packed, const Array& scale, const Array& offset, size_t at) {
  const int both = static_cast<int>(packed.re(at / 2));
  const size_t group = at / (2 * packed.size() / scale.size());
  return (at % 2 == 0 ? both & 15 : both >> 4) * scale.re(group) + offset.re(group);
}
double weight_int8(const Array& packed, const Array& scale, size_t at) {
  return packed.re(at) * scale.re(at / (packed.size() / scale.size()));
}

template <class W>
std::vector<Array> product(const Array& x, const Array& bias, W&& weight) {
  const size_t columns = static_cast<size_t>(x.shape.back()), outputs = bias.size();
  Shape shape = x.shape;
  shape.back() = static_cast<int64_t>(outputs);
  Array out(x.dtype, shape);
  for (size_t i = 0; i < out.size(); ++i) {
    out.v[i] = bias.v[i % outputs];
    for (size_t k = 0; k < columns; ++k)
      out.v[i] += x.v[i / outputs * columns + k] * weight(i % outputs * columns + k);
  }
  return one(out);
}

void add_int4(Table& t) {
  t.add(
       "quantize_int4", "exact", kFloats,
       [](DType dtype, Rng&) {
         Array w(dtype, {kRows, kColumns});
         for (size_t i = 0; i < w.size(); ++i)
           w.v[i] = exact(i, 0, 15) * kScales[i / kGroup] + kOffsets[i / kGroup];
         return Args{w, kGroup};
       },
       [](const Args& a) {
         const DType dtype = array(a, arg::quantize_int4::w).dtype;
         Array packed(DType::U8, {kRows, kColumns / 2});
         for (size_t i = 0; i < packed.size(); ++i)
           packed.v[i] = exact(2 * i, 0, 15) + 16 * exact(2 * i + 1, 0, 15);
         return std::vector<Array>{packed, of_groups(dtype, kScales), of_groups(dtype, kOffsets)};
       })
      .layouts = false;
  t.add(
       "dequantize_int4", "groups", kFloats,
       [](DType dtype, Rng& rng) {
         return Args{random_bytes(rng, DType::U8, kRows, kColumns / 2),
                     random_array(rng, dtype, {kRows, kColumns / kGroup}),
                     random_array(rng, dtype, {kRows, kColumns / kGroup})};
       },
       [](const Args& a) {
         using arg = tenon::arg::dequantize_int4;
         Array out(array(a, arg::scale).dtype, {kRows, kColumns});
         for (size_t i = 0; i < out.size(); ++i)
           out.v[i] =
               weight_int4(array(a, arg::packed), array(a, arg::scale), array(a, arg::offset), i);
         return one(out);
       })
      .tolerance = 4;
  for (const Product& p : kProducts)
    t.add(
         "linear_int4", p.name, kFloats,
         [&p](DType dtype, Rng& rng) {
           const Shape groups = {p.outputs, p.x.back() / p.group};
           return Args{random_array(rng, dtype, p.x),
                       random_bytes(rng, DType::U8, p.outputs, p.x.back() / 2),
                       random_array(rng, dtype, groups), random_array(rng, dtype, groups),
                       random_array(rng, dtype, {p.outputs})};
         },
         [](const Args& a) {
           using arg = tenon::arg::linear_int4;
           return product(array(a, arg::x), array(a, arg::bias), [&](size_t at) {
             return weight_int4(array(a, arg::packed), array(a, arg::scale), array(a, arg::offset),
                                at);
           });
         })
        .tolerance = 64;
}

void add_int8(Table& t) {
  t.add(
       "quantize_int8", "exact", kFloats,
       [](DType dtype, Rng&) {
         Array w(dtype, {kRows, kColumns});
         for (size_t i = 0; i < w.size(); ++i) w.v[i] = exact(i, -127, 127) * kScales[i / kGroup];
         return Args{w, kGroup};
       },
       [](const Args& a) {
         Array packed(DType::I8, {kRows, kColumns});
         for (size_t i = 0; i < packed.size(); ++i) packed.v[i] = exact(i, -127, 127);
         return std::vector<Array>{packed,
                                   of_groups(array(a, arg::quantize_int8::w).dtype, kScales)};
       })
      .layouts = false;
  t.add(
      "dequantize_int8", "groups", kFloats,
      [](DType dtype, Rng& rng) {
        return Args{random_bytes(rng, DType::I8, kRows, kColumns),
                    random_array(rng, dtype, {kRows, kColumns / kGroup})};
      },
      [](const Args& a) {
        using arg = tenon::arg::dequantize_int8;
        Array out(array(a, arg::scale).dtype, {kRows, kColumns});
        for (size_t i = 0; i < out.size(); ++i)
          out.v[i] = weight_int8(array(a, arg::packed), array(a, arg::scale), i);
        return one(out);
      });
  for (const Product& p : kProducts)
    t.add(
         "linear_int8", p.name, kFloats,
         [&p](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, p.x),
                       random_bytes(rng, DType::I8, p.outputs, p.x.back()),
                       random_array(rng, dtype, {p.outputs, p.x.back() / p.group}),
                       random_array(rng, dtype, {p.outputs})};
         },
         [](const Args& a) {
           using arg = tenon::arg::linear_int8;
           return product(array(a, arg::x), array(a, arg::bias), [&](size_t at) {
             return weight_int8(array(a, arg::packed), array(a, arg::scale), at);
           });
         })
        .tolerance = 64;
}

// Rows of whole numbers times `step`; each row ranges over 255 of them, from -55 to 200.
Array whole_rows(Rng& rng, DType dtype, const Shape& shape, double step) {
  Array made = random_bytes(rng, DType::I8, 1, static_cast<int64_t>(Array(dtype, shape).size()));
  made.dtype = dtype, made.shape = shape;
  const size_t row = static_cast<size_t>(shape.back());
  for (size_t i = 0; i < made.size(); ++i)
    made.v[i] = step * (i % row == 0 ? -55 : i % row == 1 ? 200 : std::abs(made.re(i)) - 55);
  return made;
}

// Rounds each element to the nearest of 255 steps from low to high. The range is widened to include 0, which is one of the steps.
void round_to_range(Array& x, const Array& range) {
  const double low = std::min(range.re(0), 0.0), high = std::max(range.re(1), 0.0);
  const double step = (high - low) / 255;
  if (step == 0) return void(x.v.assign(x.v.size(), 0));
  const double zero = std::round(-low / step);
  for (Complex& v : x.v)
    v = (std::clamp(std::round(v.real() / step) + zero, 0.0, 255.0) - zero) * step;
}

// x consists of whole numbers times its step, so nothing is rounded; a given range clips some of them.
void add_w8a8(Table& t) {
  for (const Product& p : kProducts)
    for (const bool given : {false, true})
      t.add(
           "linear_w8a8", std::string(p.name) + (given ? ", a given range" : ""), kFloats,
           [&p, given](DType dtype, Rng& rng) {
             Args args{whole_rows(rng, dtype, p.x, 0.125),
                       random_bytes(rng, DType::I8, p.outputs, p.x.back()),
                       random_array(rng, dtype, {p.outputs, 1}),
                       random_array(rng, dtype, {p.outputs})};
             if (!given) return args;
             Array range(dtype, {2});
             range.v[0] = -3.875, range.v[1] = 12.0625;  // 255 sixteenths
             args.push_back(range);
             return args;
           },
           [](const Args& a) {
             using arg = tenon::arg::linear_w8a8;
             Array x = array(a, arg::x);
             if (a.size() > arg::x_range) round_to_range(x, array(a, arg::x_range));
             return product(x, array(a, arg::bias), [&](size_t at) {
               return weight_int8(array(a, arg::packed), array(a, arg::scale), at);
             });
           })
          .tolerance = 64;
}

void add_integer(Table& t) {
  for (const Product& p : kProducts)
    t.add(
        "linear_integer", p.name, TN_MASK(TN_DTYPE_U8) | TN_MASK(TN_DTYPE_I8),
        [&p](DType dtype, Rng& rng) {
          const int64_t rows = static_cast<int64_t>(Array(dtype, p.x).size()) / p.x.back();
          Array x = random_bytes(rng, dtype, rows, p.x.back());
          x.shape = p.x;
          return Args{x, random_bytes(rng, DType::I8, p.outputs, p.x.back())};
        },
        [](const Args& a) {
          using arg = tenon::arg::linear_integer;
          const Array& weight = array(a, arg::weight);
          Array none(DType::I32, {weight.shape[0]});
          std::vector<Array> found =
              product(array(a, arg::x), none, [&](size_t at) { return weight.re(at); });
          found[0].dtype = DType::I32;
          return found;
        });
}

}  // namespace

void add_quantize_samples(Table& table) {
  add_int4(table);
  add_int8(table);
  add_w8a8(table);
  add_integer(table);
}

}  // namespace tenon::conformance
