// Rows of a table and their gradient.
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

}  // namespace

void add_embedding_samples(Table& table) { add_embeddings(table); }

}  // namespace tenon::conformance
