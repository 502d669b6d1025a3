// Support vector machines: each pair of classes is told apart by a weighted sum of kernels of x with the support vectors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "convert/scores.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

// Squared distances of rows x and vectors v. Some vectors at a time bound the memory that differences take.
Tensor squared_distances(const Tensor& x, const Tensor& vectors) {
  constexpr int64_t kBlock = 64;
  std::vector<Tensor> parts;
  for (int64_t from = 0; from < vectors.shape(0); from += kBlock) {
    const Tensor apart =
        x.unsqueeze(1) - vectors.narrow(0, from, std::min(kBlock, vectors.shape(0) - from));
    parts.push_back((apart * apart).sum({2}));
  }
  return parts.size() == 1 ? parts[0] : concat(parts, 1);
}

// K(x, v) for rows x and vectors v: (N, vectors).
Tensor kernels_of(const Call& call, const Tensor& x, const Tensor& vectors) {
  const std::string kind = call.s("kernel_type", "LINEAR");
  std::vector<double> parameters = call.floats("kernel_params");
  parameters.resize(3);
  const double gamma = parameters[0], shift = parameters[1], degree = parameters[2];
  if (kind == "RBF") return exp(squared_distances(x, vectors) * -gamma);
  Tensor dots = linear(x, vectors);
  if (kind == "LINEAR") return dots;
  if (kind == "POLY") return pow(dots * gamma + shift, degree);
  if (kind == "SIGMOID") return tanh(dots * gamma + shift);
  call.unsupported("kernel_type " + kind);
}

Tensor regressor(const Call& call) {
  const Tensor x = rows_of(call);
  const int64_t count = call.i("n_supports", 0), features = x.shape(1);
  const Tensor offset = call.weight("rho", {1}, 0);
  Tensor score;
  if (count > 0) {
    const Tensor kernels =
        kernels_of(call, x, call.weight("support_vectors", {count, features}, 1));
    score = linear(kernels, call.weight("coefficients", {1, count}, 2), offset);
  } else {
    score = linear(x, call.weight("coefficients", {1, features}, 1), offset);
  }
  return call.flag("one_class") ? where(greater(score, 0), ones_like(score), -ones_like(score))
                                : score;
}

// What a classifier computes scores and votes with, for its pairs of classes (0, 1), (0, 2) … in order.
struct Pairs {
  Tensor weights;  // (pairs, vectors)
  Tensor first,
      second;  // (classes, pairs): the class that a positive score votes for, and that of others
};

Pairs pairs_of(const Call& call, const std::vector<int64_t>& counts, int64_t vectors) {
  const auto classes = std::ssize(counts);
  const std::vector<double> given = call.floats("coefficients");
  if (std::ssize(given) != (classes - 1) * vectors)
    call.fail(std::to_string(given.size()) + " coefficients for " + std::to_string(vectors) +
              " vectors of " + std::to_string(classes) + " classes");
  std::vector<int64_t> starts(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), int64_t{0});
  const int64_t pairs = classes * (classes - 1) / 2;
  std::vector<double> weights(static_cast<size_t>(pairs * vectors)),
      first(static_cast<size_t>(classes * pairs)), second(first.size());
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      // The coefficients of class i against j are in row j - 1, those of class j against i in row i.
      const auto take = [&](int64_t of, int64_t row) {
        const int64_t from = starts[static_cast<size_t>(of)];
        std::copy_n(given.begin() + row * vectors + from, counts[static_cast<size_t>(of)],
                    weights.begin() + pair * vectors + from);
      };
      take(i, j - 1);
      take(j, i);
      first[static_cast<size_t>(i * pairs + pair)] = 1;
      second[static_cast<size_t>(j * pairs + pair)] = 1;
    }
  const auto made = [&](const std::vector<double>& numbers, int64_t rows, int64_t columns) {
    return tensor(numbers, {rows, columns}).to(DType::F32);
  };
  return {made(weights, pairs, vectors), made(first, classes, pairs), made(second, classes, pairs)};
}

// Probabilities p of classes that agree best with those of pairs: p·Q is the same for all of them, Q as below. From: Wu, Lin, Weng,
// "Probability Estimates for Multi-class Classification by Pairwise Coupling", 2004, their second method. `r` (classes, classes).
std::vector<double> coupled(const std::vector<double>& r, size_t classes) {
  std::vector<double> q(classes * classes), p(classes, 1.0 / static_cast<double>(classes)),
      qp(classes);
  for (size_t t = 0; t < classes; ++t)
    for (size_t j = 0; j < classes; ++j) {
      if (j == t) continue;
      q[t * classes + t] += r[j * classes + t] * r[j * classes + t];
      q[t * classes + j] = -r[j * classes + t] * r[t * classes + j];
    }
  const size_t rounds = std::max<size_t>(100, classes);
  for (size_t round = 0; round < rounds; ++round) {
    double pqp = 0, worst = 0;
    for (size_t t = 0; t < classes; ++t) {
      qp[t] = std::inner_product(p.begin(), p.end(),
                                 q.begin() + static_cast<std::ptrdiff_t>(t * classes), 0.0);
      pqp += p[t] * qp[t];
    }
    for (const double each : qp) worst = std::max(worst, std::abs(each - pqp));
    if (worst < 0.005 / static_cast<double>(classes)) break;
    for (size_t t = 0; t < classes; ++t) {
      const double own = q[t * classes + t], step = (pqp - qp[t]) / own, scale = 1 + step;
      p[t] += step;
      pqp = (pqp + step * (step * own + 2 * qp[t])) / scale / scale;
      for (size_t j = 0; j < classes; ++j) {
        qp[j] = (qp[j] + step * q[t * classes + j]) / scale;
        p[j] /= scale;
      }
    }
  }
  return p;
}

// The probability of each class from the scores of pairs (N, pairs), by a sigmoid for each pair.
Tensor probabilities(const Call& call, const Tensor& scores, int64_t classes) {
  const auto pairs = static_cast<size_t>(scores.shape(1)), count = static_cast<size_t>(classes);
  const std::vector<double> a = call.floats("prob_a"), b = call.floats("prob_b"),
                            given = read<double>(scores.cpu());
  if (a.size() != pairs || b.size() != pairs)
    call.fail("prob_a and prob_b do not have a number for each of " + std::to_string(pairs) +
              " pairs of classes");
  std::vector<double> made;
  for (size_t at = 0; at < given.size(); at += pairs) {
    std::vector<double> r(count * count);
    size_t pair = 0;
    for (size_t i = 0; i < count; ++i)
      for (size_t j = i + 1; j < count; ++j, ++pair) {
        const double of_pair = 1 / (1 + std::exp(given[at + pair] * a[pair] + b[pair]));
        r[i * count + j] = std::clamp(of_pair, 1e-7, 1 - 1e-7);
        r[j * count + i] = 1 - r[i * count + j];
      }
    const std::vector<double> p = coupled(r, count);
    made.insert(made.end(), p.begin(), p.end());
  }
  return tensor(made, {scores.shape(0), classes}).to(DType::F32).to(call.device());
}

// The scores of each class, without support vectors.
Results linear_classifier(const Call& call, const Tensor& x, const std::vector<int64_t>& labels,
                          const std::string& how) {
  const Tensor weights = call.weight("coefficients", {std::ssize(labels), x.shape(1)}, 0);
  const Tensor scores = linear(x, weights) + call.weight("rho", {1}, 1);
  return {host(labels).to(call.device()).index_select(0, argmax(scores, 1)),
          transformed(call, scores, how)};
}

// Returns (labels, scores): of classes where there are probabilities or only two classes, else of pairs of classes.
Results classifier(const Call& call) {
  const Tensor x = rows_of(call);
  const std::vector<int64_t> labels = labels_of(call, "classlabels_ints"),
                             counts = call.list("vectors_per_class");
  const std::string how = call.s("post_transform", "NONE");
  if (counts.empty()) return linear_classifier(call, x, labels, how);
  const auto classes = std::ssize(labels), most = std::ssize(call.floats("support_vectors"));
  const auto wrong = [&](int64_t count) { return count < 0 || count > most; };
  if (std::ranges::any_of(counts, wrong) || classes < 2 || std::ssize(counts) != classes)
    call.fail("vectors_per_class does not fit " + std::to_string(classes) + " labels");
  const int64_t vectors = std::reduce(counts.begin(), counts.end());
  const auto known = call.kept(
      true, [&] { return pairs_of(call, counts, vectors); }, 3);
  const auto placed = [&](const Tensor& host) { return traced(x) ? host : host.to(call.device()); };
  const Tensor kernels =
      kernels_of(call, x, call.weight("support_vectors", {vectors, x.shape(1)}, 0));
  const Tensor scores =
      linear(kernels, placed(known->weights), call.weight("rho", {known->weights.shape(0)}, 1));
  const Tensor sign = greater(scores, 0).to(DType::F32);
  Tensor best =
      argmax(linear(sign, placed(known->first)) + linear(1 - sign, placed(known->second)), 1);
  const bool likely = call.find("prob_a") != nullptr;
  Tensor found = likely ? probabilities(call, scores, classes) : scores;
  found = !likely && classes == 2 ? both_classes(found, how != "NONE" && how != "LOGISTIC", how)
                                  : transformed(call, found, how);
  return {host(labels).to(call.device()).index_select(0, best), found};
}

}  // namespace

Family support_vector_ops() {
  static const Entry ops[] = {
      {"SVMClassifier", 1, classifier, kMl},
      {"SVMRegressor", 1, regressor, kMl},
  };
  return ops;
}

}  // namespace tenon::onnx
