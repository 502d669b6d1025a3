// einsum.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// einsum by the definition: a loop over all labels.
Array by_definition(const std::vector<std::string>& terms, const std::string& result,
                    const std::vector<Array>& xs) {
  std::map<char, int64_t> sizes;
  for (size_t k = 0; k < xs.size(); ++k)
    for (size_t d = 0; d < terms[k].size(); ++d) sizes[terms[k][d]] = xs[k].shape[d];
  Shape all, out_shape;
  std::string labels;
  for (auto [label, size] : sizes) labels += label, all.push_back(size);
  for (char label : result) out_shape.push_back(sizes[label]);
  Array out(xs[0].dtype, out_shape);
  for_each_index(all, [&](const Shape& index) {
    auto pick = [&](const std::string& term) {
      Shape at;
      for (char label : term) at.push_back(index[labels.find(label)]);
      return at;
    };
    Complex value = 1;
    for (size_t k = 0; k < xs.size(); ++k) value *= xs[k].v[xs[k].at(pick(terms[k]))];
    out.v[out.at(pick(result))] += value;
  });
  return out;
}

void add_einsums(Table& t) {
  struct Equation {
    std::string text;
    std::vector<std::string> terms;
    std::string result;
    std::vector<Shape> shapes;
  };
  const std::vector<Equation> list = {
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{2, 3}, {3, 4}}},
      {"ij,jk", {"ij", "jk"}, "ik", {{2, 3}, {3, 4}}},
      {"bij,bjk->bik", {"bij", "bjk"}, "bik", {{2, 2, 3}, {2, 3, 2}}},
      {"ij->ji", {"ij"}, "ji", {{2, 3}}},
      {"ii->i", {"ii"}, "i", {{3, 3}}},
      {"ii", {"ii"}, "", {{3, 3}}},
      {"ij->", {"ij"}, "", {{2, 3}}},
      {"i,j->ij", {"i", "j"}, "ij", {{3}, {4}}},
      {"i,i", {"i", "i"}, "", {{5}, {5}}},
      {"ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {{2, 3}, {3, 2}, {2, 4}}},
      {"ijk,ikl->jl", {"ijk", "ikl"}, "jl", {{2, 3, 2}, {2, 2, 3}}},
      {"bhqd,bhkd->bhqk", {"bhqd", "bhkd"}, "bhqk", {{1, 2, 3, 2}, {1, 2, 2, 2}}},
      {"...ij,...jk->...ik", {"abij", "abjk"}, "abik", {{2, 1, 2, 3}, {2, 1, 3, 2}}}};
  for (const Equation& e : list)
    t.add(
         "einsum", e.text, kFloats | kComplex,
         [=](DType dtype, Rng& rng) {
           std::vector<Array> xs;
           for (const Shape& shape : e.shapes) xs.push_back(random_array(rng, dtype, shape));
           return Args{e.text, xs};
         },
         [=](const Args& args) {
           return one(by_definition(e.terms, e.result, arrays(args, arg::einsum::xs)));
         })
        .tolerance = 20;
}

}  // namespace

void add_einsum_samples(Table& table) { add_einsums(table); }

}  // namespace tenon::conformance
