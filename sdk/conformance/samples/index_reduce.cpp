// Reductions into indexed places, by the definition.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

struct Case {
  Shape x, index;
  int64_t dim;
};

// What src and, if included, x contribute to one place.
double reduced(const std::string& reduce, std::vector<double> values, DType dtype) {
  double found = values[0];
  for (size_t i = 1; i < values.size(); ++i)
    found = reduce == "prod"   ? found * values[i]
            : reduce == "amax" ? std::max(found, values[i])
            : reduce == "amin" ? std::min(found, values[i])
                               : found + values[i];
  if (reduce == "mean") found /= static_cast<double>(values.size());
  return reduce == "mean" && (TN_MASK(static_cast<tn_dtype>(dtype)) & kInts) != 0
             ? std::floor(found)
             : found;
}

void add_scatter_reduce(Table& t, const Case& g, const std::string& reduce, bool include_self) {
  t.add(
       "scatter_reduce",
       reduce + label_of(g.x) + label_of(g.index) + " dim " + std::to_string(g.dim) +
           (include_self ? "" : " without self"),
       reduce == "prod" ? kFloats : kReals,
       [=](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, g.x),
                     g.dim,
                     random_indices(rng, g.index, 0, g.x[static_cast<size_t>(g.dim)]),
                     random_array(rng, dtype, g.index),
                     reduce,
                     include_self};
       },
       [=](const Args& a) {
         using arg = tenon::arg::scatter_reduce;
         const Array &x = array(a, arg::x), &index = array(a, arg::index),
                     &src = array(a, arg::src);
         std::vector<std::vector<double>> come(x.size());
         for_each_index(g.index, [&](Shape at) {
           const size_t from = src.at(at);
           at[static_cast<size_t>(g.dim)] = static_cast<int64_t>(index.re(index.at(at)));
           come[x.at(at)].push_back(src.re(from));
         });
         Array out = x;
         for (size_t i = 0; i < out.size(); ++i) {
           if (come[i].empty()) continue;
           if (include_self) come[i].push_back(x.re(i));
           out.v[i] = reduced(reduce, come[i], x.dtype);
         }
         return one(out);
       })
      .tolerance = 8;
}

}  // namespace

void add_index_reduce_samples(Table& t) {
  for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"}) {
    for (const bool include_self : {true, false})
      for (const Case& g : {Case{{4, 5}, {6, 5}, 0}, Case{{2, 3, 4}, {2, 5, 3}, 1}})
        add_scatter_reduce(t, g, reduce, include_self);
    add_scatter_reduce(t, {{6}, {9}, 0}, reduce, true);
  }
}

}  // namespace tenon::conformance
