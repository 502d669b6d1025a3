// Rows of a table and their gradient.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

void add_embeddings(Table& t) {
  for (bool padded : {false, true}) {
    Arg padding;
    if (padded) padding = int64_t{2};
    std::string label = padded ? "padding" : "plain";
    t.add(
         "embedding", label, kFloats,
         [=](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, {5, 4}), random_indices(rng, {2, 3}, 0, 5),
                       padding};
         },
         [](const Args& a) {
           Array out(array(a, arg::embedding::weight).dtype, {2, 3, 4});
           for (size_t i = 0; i < out.size(); ++i)
             out.v[i] =
                 array(a, arg::embedding::weight)
                     .v[static_cast<size_t>(array(a, arg::embedding::index).re(i / 4)) * 4 + i % 4];
           return one(out);
         })
        .gradient = !padded;  // the gradient leaves the padding row out on purpose
    t.add(
         "embedding_backward", label, kFloats,
         [=](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, {2, 3, 4}), random_indices(rng, {2, 3}, 0, 5),
                       int64_t{5}, padding};
         },
         [=](const Args& a) {
           using arg = tenon::arg::embedding_backward;
           Array out(array(a, arg::g).dtype, {5, 4});
           for (size_t i = 0; i < array(a, arg::g).size(); ++i) {
             auto row = static_cast<size_t>(array(a, arg::index).re(i / 4));
             if (!padded || row != 2) out.v[row * 4 + i % 4] += array(a, arg::g).v[i];
           }
           return one(out);
         })
        .tolerance = 4;
  }
}

struct Bags {
  int64_t rows, width, count;
  std::vector<int64_t> offsets;
  std::string mode;
  bool factors = false, padded = false;

  int64_t bags() const { return static_cast<int64_t>(offsets.size()); }
  std::string label() const {
    return mode + " " + std::to_string(width) + (factors ? " weighted" : "") +
           (padded ? " padded" : "");
  }
};

Array combined(const Bags& s, const Args& a) {
  using arg = tenon::arg::embedding_bag;
  const Array &weight = array(a, arg::weight), &index = array(a, arg::index),
              &offsets = array(a, arg::offsets);
  Array out(weight.dtype, {s.bags(), s.width});
  for_each_index(out.shape, [&](const Shape& at) {
    std::vector<double> come;
    const auto b = static_cast<size_t>(at[0]);
    const int64_t end = b + 1 < offsets.size() ? static_cast<int64_t>(offsets.re(b + 1)) : s.count;
    for (auto i = static_cast<int64_t>(offsets.re(b)); i < end; ++i) {
      const auto row = static_cast<int64_t>(index.re(static_cast<size_t>(i)));
      if (s.padded && row == 2) continue;
      const double factor =
          s.factors ? array(a, arg::per_sample_weights).re(static_cast<size_t>(i)) : 1;
      come.push_back(factor * weight.re(weight.at({row, at[1]})));
    }
    if (come.empty()) return;
    double sum = 0;
    for (const double x : come) sum += x;
    out.v[out.at(at)] = s.mode == "sum"    ? sum
                        : s.mode == "mean" ? sum / static_cast<double>(come.size())
                                           : *std::max_element(come.begin(), come.end());
  });
  return one(out)[0];
}

void add_bags(Table& t, const Bags& s) {
  Sample& sample = t.add(
      "embedding_bag", s.label(), kFloats,
      [=](DType dtype, Rng& rng) {
        Array offsets(DType::I64, {s.bags()});
        for (size_t b = 0; b < s.offsets.size(); ++b)
          offsets.v[b] = static_cast<double>(s.offsets[b]);
        return Args{random_array(rng, dtype, {s.rows, s.width}),
                    random_indices(rng, {s.count}, 0, s.rows),
                    offsets,
                    s.mode,
                    maybe(s.factors, random_array(rng, dtype, {s.count})),
                    s.padded ? Arg(int64_t{2}) : Arg()};
      },
      [=](const Args& a) { return one(combined(s, a)); });
  sample.tolerance = 8;
  sample.gradient = s.width < 10;
}

}  // namespace

// Widths of whole vectors and of parts of them; a bag without rows.
void add_embedding_samples(Table& table) {
  add_embeddings(table);
  for (const char* mode : {"sum", "mean", "max"}) {
    add_bags(table, {5, 3, 9, {0, 4, 4, 6}, mode});
    add_bags(table, {5, 4, 9, {0, 2, 5}, mode, false, true});
    add_bags(table, {7, 101, 12, {0, 5}, mode, false, true});
  }
  add_bags(table, {5, 3, 9, {0, 4}, "sum", true});
  add_bags(table, {6, 70, 9, {0, 4}, "sum", true, true});
}

}  // namespace tenon::conformance
