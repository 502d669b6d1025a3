// Random functions of tensors, made from a seed: elementwise ops of mixed dtypes, shapes that broadcast, reductions, copies, writes in
// place, branches, loops and scans.
#pragma once

#include <functional>
#include <random>

#include "tenon/creation.hpp"
#include "tenon/graph.hpp"
#include "tenon/ops.hpp"
#include "tenon/tensor.hpp"

namespace tenon::test {

class Expressions {
 public:
  explicit Expressions(uint64_t seed) : seed_(seed), random_(seed) {
    static const std::vector<std::vector<int64_t>> shapes = {
        {},    {1},      {7},      {3, 5},       {1, 9},  {4, 1, 6}, {2, 3, 33},
        {600}, {17, 40}, {3, 700}, {5, 2, 3, 4}, {64, 2}, {2, 4100}};
    shape_ = pick(shapes);
    for (int k = 0, n = 2 + below(3); k < n; ++k) forms_.push_back(form());
  }

  const std::vector<int64_t>& shape() const { return shape_; }
  std::vector<Tensor> inputs() const { return inputs(shape_, 0); }
  // New elements, in another shape with the same number of dimensions.
  std::vector<Tensor> inputs(const std::vector<int64_t>& shape, uint64_t draw) const {
    std::mt19937_64 random(seed_ + 2 + draw);
    std::vector<Tensor> made;
    for (const Form& one : forms_) made.push_back(input(one, shape, random));
    return made;
  }
  // The dimensions in which inputs have the shape's size, if it has more than one element there; each is named by its position in the
  // shape.
  graph::Dims dims() const {
    graph::Dims made;
    for (const Form& one : forms_) {
      auto& of = made.emplace_back();
      for (size_t d = 0; d < one.from.size(); ++d)
        if (one.from[d] >= 0 && shape_[static_cast<size_t>(one.from[d])] > 1)
          of[static_cast<uint32_t>(d)] = {"size" + std::to_string(one.from[d]), 2, 0};
    }
    return made;
  }

  // Makes the same calls each time. Returns some of the intermediate values.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs) {
    random_.seed(seed_ + 1);
    std::vector<Tensor> values;
    for (const Tensor& x : inputs) values.push_back(arranged(x));
    for (int k = 0, n = 3 + below(12); k < n; ++k) values.push_back(next(values));
    std::vector<Tensor> results = {values.back()};
    for (size_t k = inputs.size(); k + 1 < values.size(); ++k)
      if (below(4) == 0) results.push_back(values[k]);
    return results;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int>(from.size())))];
  }
  DType dtype() {
    static const std::vector<DType> all = {DType::F32, DType::F32,  DType::F32,  DType::F64,
                                           DType::F16, DType::BF16, DType::I32,  DType::I64,
                                           DType::U8,  DType::I16,  DType::Bool, DType::C64};
    return pick(all);
  }

  // For each dimension of an input, the dimension of the shape that it follows; -1 if its size is 1.
  struct Form {
    std::vector<int> from;
    DType dtype;
    bool has_nan;
  };
  // Some dimensions get size 1 or are left out.
  Form form() {
    Form made;
    const bool some = below(3) == 0;
    for (int d = 0; d < static_cast<int>(shape_.size()); ++d)
      made.from.push_back(some && below(2) == 0 ? -1 : d);
    if (below(4) == 0 && !made.from.empty()) made.from.erase(made.from.begin());
    made.has_nan = below(4) == 0;
    made.dtype = dtype();
    return made;
  }
  static Tensor input(const Form& form, const std::vector<int64_t>& of, std::mt19937_64& random) {
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const int d : form.from) {
      shape.push_back(d < 0 ? 1 : of[static_cast<size_t>(d)]);
      count *= shape.back();
    }
    std::vector<float> numbers(static_cast<size_t>(count));
    std::uniform_real_distribution<float> spread(-3, 3);
    for (float& number : numbers) number = random() % 40 == 0 ? 0.0f : spread(random);
    if (form.has_nan && count > 0) numbers[0] = std::numeric_limits<float>::quiet_NaN();
    return tensor(numbers).reshape(shape).to(form.dtype);
  }

  // The same elements in another layout: transposed, or every second element of a longer row.
  Tensor arranged(const Tensor& x) {
    const int how = below(5);
    if (how == 0 && x.ndim() >= 2) return x.transpose(-1, -2).contiguous().transpose(-1, -2);
    if (how == 1 && x.ndim() >= 1 && x.dtype() != DType::C64)
      return concat({x, x}, -1).slice(-1, 0, x.shape().back());
    return x;
  }

  Tensor next(std::vector<Tensor>& values) {
    const Tensor& x = pick(values);
    const Tensor& y = pick(values);
    const bool complex = is_complex(x.dtype()) || is_complex(y.dtype());
    switch (below(complex ? 8 : 22)) {
      case 0:
        return x + y;
      case 1:
        return x * y;
      case 2:
        return x - y;
      case 3:
        return equal(x, y);
      case 4:
        return x.clone();
      case 5:
        return -x.to(is_complex(x.dtype()) ? x.dtype() : DType::F32);
      case 6:
        return where(not_equal(x, y), x, y);
      case 7:
        return x * 1.5;
      case 8:
        return maximum(x, y);
      case 9:
        return x.to(dtype());
      case 10:
        return exp(x);
      case 11:
        return tanh(x * 0.5);
      case 12:
        return less(x, y);
      case 13:
        return x.to(DType::F32).clamp(-1.0, 2.0);
      case 14:
        return reduced(x.to(DType::F32));
      case 15:
        return x.ndim() == 0 ? sqrt(x) : x.reshape({-1}).reshape(x.shape());
      case 16:
        return pow(x.to(DType::F32), 2.0);
      case 17:
        return x.ndim() < 2 ? relu(x) : x.transpose(0, 1).clone().transpose(0, 1);
      case 18:
        return in_place(x.to(DType::F32).clone());
      case 19:
        return controlled(x.to(DType::F32), y.to(DType::F32));
      case 20:
        return scanned(x.to(DType::F32), y);
      default:
        return sigmoid(x.to(below(2) == 0 ? DType::F32 : DType::BF16));
    }
  }

  Tensor reduced(const Tensor& x) {
    if (x.ndim() == 0) return abs(x);
    switch (below(5)) {
      case 0:
        return sum(x, {-1}, true);
      case 1:
        return x - mean(x, {-1}, true);
      case 2:
        return max(x, {-1}, true);
      case 3:
        return x * rsqrt(mean(x * x, {-1}, true) + 1e-5);
      default:
        return sum(x, {0}, true);
    }
  }

  Tensor in_place(Tensor x) {
    x.add_(1.0);
    const Tensor y = x * 2.0;
    x.mul_(0.5);
    return x + y;
  }

  // Control flow that depends on values: one of two branches, and up to three turns of a loop. A program's results are row-major;
  // contiguous() makes the eager ones so, too, because the layout affects how a sum over them rounds.
  Tensor controlled(const Tensor& x, const Tensor& y) {
    const Tensor some = y.sum() > 0.0;
    const Tensor chosen = graph::cond(
        some, [&] { return std::vector{tanh(x) + 1.0}; }, [&] { return std::vector{x * 0.5}; })[0];
    const auto goes_on = [](std::span<const Tensor> in) { return in[1] < 3.0; };
    const auto turn = [&](std::span<const Tensor> in) {
      return std::vector{in[0] * 0.75 + x, in[1] + 1.0 + some.to(DType::F32)};
    };
    return graph::loop(goes_on, turn, {chosen, full({}, 0.0, DType::F32)})[0].contiguous();
  }

  // A scan along the first dimension, with another value beside it.
  Tensor scanned(const Tensor& x, const Tensor& y) {
    if (x.ndim() == 0) return x + 1.0;
    const Tensor beside = y.ndim() == 0 ? y.to(DType::F32) : y.to(DType::F32).sum();
    const auto turn = [&](std::span<const Tensor> in) {
      const Tensor total = in[0] * 0.5 + in[1];
      return std::vector{total, total * beside + in[1]};
    };
    const std::vector<Tensor> found = graph::scan(turn, {zeros_like(x.select(0, 0))}, {x});
    return (found[0] + found[1]).contiguous();
  }

  uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<int64_t> shape_;
  std::vector<Form> forms_;
};

}  // namespace tenon::test
