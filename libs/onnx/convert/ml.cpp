// The few ops of classical machine learning that only use numbers.
#include <cmath>
#include <limits>
#include <map>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

// Maps numbers to numbers; a NaN key matches NaN.
Tensor label_encoder(const Call& call) {
  const Tensor x = call.x(0).cpu();
  const auto numbers = [&](const char* kind) -> std::vector<double> {
    const std::string prefix(kind);
    if (const Tensor given = call.tensor(prefix + "_tensor"); given.defined())
      return read<double>(given);
    if (call.find(prefix + "_int64s") != nullptr) {
      const std::vector<int64_t> list = call.list(prefix + "_int64s");
      return {list.begin(), list.end()};
    }
    if (call.find(prefix + "_floats") != nullptr) return call.floats(prefix + "_floats");
    call.unsupported("an encoder of strings");
  };
  const std::vector<double> keys = numbers("keys"), values = numbers("values");
  if (keys.size() != values.size()) call.fail("keys and values of different lengths");
  DType dtype = call.find("values_int64s") != nullptr ? DType::I64 : DType::F32;
  if (const Tensor given = call.tensor("values_tensor"); given.defined()) dtype = given.dtype();
  double otherwise = dtype == DType::I64 ? static_cast<double>(call.i("default_int64", -1))
                                         : call.f("default_float", -0.0);
  if (const Tensor given = call.tensor("default_tensor"); given.defined())
    otherwise = read<double>(given).at(0);
  std::vector<double> found;
  for (const double element : read<double>(x)) {
    double value = otherwise;
    for (size_t i = 0; i < keys.size(); ++i)
      if (element == keys[i] || (std::isnan(element) && std::isnan(keys[i]))) value = values[i];
    found.push_back(value);
  }
  return tensor(found, x.shape()).to(dtype).to(call.device());
}

// Counts the n-grams of a pool in each row (or whether they occur), with weights.
Tensor tf_idf(const Call& call) {
  if (call.find("pool_strings") != nullptr) call.unsupported("a vocabulary of strings");
  const Tensor x = call.x(0);
  const std::string mode = call.s("mode", "TF");
  const auto starts = call.list("ngram_counts"), columns = call.list("ngram_indexes"),
             pool = call.list("pool_int64s");
  const std::vector<double> weights = call.floats("weights");
  const int64_t shortest = call.i("min_gram_length", 1), longest = call.i("max_gram_length", 1),
                most_skips = call.i("max_skip_count", 0);
  std::map<std::vector<int64_t>, size_t> grams;  // its position in the pool, by its elements
  for (size_t n = 0, at = 0, k = 0; n < starts.size(); ++n) {
    const size_t end = n + 1 < starts.size() ? static_cast<size_t>(starts[n + 1]) : pool.size();
    for (at = static_cast<size_t>(starts[n]); at + n + 1 <= end && end <= pool.size();
         at += n + 1, ++k)
      grams[{pool.begin() + static_cast<std::ptrdiff_t>(at),
             pool.begin() + static_cast<std::ptrdiff_t>(at + n + 1)}] = k;
  }
  int64_t width = 0;
  for (const int64_t column : columns) {
    if (column < 0 || column > (1 << 24)) call.fail("a column of " + std::to_string(column));
    width = std::max(width, column + 1);
  }
  const std::vector<int64_t> elements = read<int64_t>(x);
  const int64_t rows = x.ndim() == 2 ? x.shape(0) : 1,
                length = x.ndim() == 2 ? x.shape(1) : x.numel();
  std::vector<double> counts(static_cast<size_t>(rows * width));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t n = shortest; n <= longest; ++n)
      for (int64_t skip = 0; skip <= (n == 1 ? 0 : most_skips); ++skip)
        for (int64_t i = 0; i + (n - 1) * (skip + 1) < length; ++i) {
          std::vector<int64_t> gram;
          for (int64_t j = 0; j < n; ++j)
            gram.push_back(elements[static_cast<size_t>(row * length + i + j * (skip + 1))]);
          const auto found = grams.find(gram);
          if (found == grams.end() || found->second >= columns.size()) continue;
          counts[static_cast<size_t>(row * width + columns[found->second])] += 1;
        }
  for (size_t k = 0; mode != "TF" && k < columns.size(); ++k)
    for (int64_t row = 0; row < rows; ++row) {
      double& count = counts[static_cast<size_t>(row * width + columns[k])];
      const double weight = k < weights.size() ? weights[k] : 1;
      count = mode == "IDF" ? (count > 0 ? weight : 0) : count * weight;
    }
  const Tensor made = tensor(counts, {rows, width}).to(DType::F32);
  return (x.ndim() == 2 ? made : made.reshape({width})).to(call.device());
}

}  // namespace

Family ml_ops() {
  static const Entry ops[] = {
      {"Binarizer", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return greater(x, call.f("threshold", 0)).to(x.dtype());
       },
       kMl},
      {"LabelEncoder", 1, label_encoder, kMl},
      {"TfIdfVectorizer", 9, tf_idf},
  };
  return ops;
}

}  // namespace tenon::onnx
