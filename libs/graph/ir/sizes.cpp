#include "ir/sizes.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ir/numbers.hpp"

namespace tenon::graph {
namespace {

[[noreturn]] void too_large() {
  throw Error(TN_OUT_OF_RANGE, "[graph] a size that follows those of the inputs is too large");
}

int64_t times(int64_t a, int64_t b) {
  int64_t made = 0;
  if (__builtin_mul_overflow(a, b, &made)) too_large();
  return made;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t made = 0;
  if (__builtin_add_overflow(a, b, &made)) too_large();
  return made;
}

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - static_cast<int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

int64_t finished(const Size& size, int64_t sum) {
  switch (size.kind) {
    case Size::Kind::Quotient:
      return floor_divide(sum, size.by);
    case Size::Kind::Least:
      return std::min(sum, size.by);
    case Size::Kind::Greatest:
      return std::max(sum, size.by);
    default:
      return sum;
  }
}

// Fills a graph with the numbers for other sizes.
struct Patcher {
  const std::vector<Varying>& varying;
  const std::vector<int64_t>& values;
  uint32_t place = 0;
  size_t next = 0;

  const Varying* here() {
    const bool found = next < varying.size() && varying[next].place == place;
    ++place;
    return found ? &varying[next++] : nullptr;
  }
  void operator()(int64_t& number, const Node*, size_t) {
    if (const Varying* one = here()) number = values[one->size];
  }
  void operator()(double& number, const Node*, size_t) {
    if (const Varying* one = here()) number = number_at(*one, values[one->size]);
  }
  void operator()(Number& number, const Node*, size_t) {
    const Varying* one = here();
    if (one == nullptr) return;
    const auto made = number_of(number.dtype, number_at(*one, values[one->size]));
    if (!made) throw Error(TN_DATA_LOSS, "[graph] a number of this dtype cannot vary");
    number = *made;
  }
};

}  // namespace

double in_form(Varying::Form form, int64_t size) {
  const auto n = static_cast<double>(size);
  switch (form) {
    case Varying::Form::Reciprocal:
      return 1 / n;
    case Varying::Form::Root:
      return std::sqrt(n);
    case Varying::Form::ReciprocalRoot:
      return 1 / std::sqrt(n);
    case Varying::Form::Unbiased:
      return n / (n - 1);
    case Varying::Form::Log:
      return std::log(n);
    default:
      return n;
  }
}

namespace {

double scaled(const Varying& how, double number) {
  switch (how.scale) {
    case Varying::Scale::Times:
      return number * how.factor;
    case Varying::Scale::By:
      return number / how.factor;
    case Varying::Scale::Over:
      return how.factor / number;
    default:
      return number;
  }
}

}  // namespace

double number_at(const Varying& how, int64_t size) {
  const double number = scaled(how, in_form(how.form, size));
  return how.plus == 0 ? number : number + how.plus;  // -0 stays
}

std::vector<int64_t> evaluate(const Sizes& sizes, std::span<const int64_t> dims) {
  std::vector<int64_t> values(dims.begin(), dims.end());
  values.reserve(dims.size() + sizes.sizes.size());
  for (const Size& size : sizes.sizes) {
    int64_t sum = 0;
    for (const Size::Term& term : size.terms) {
      int64_t product = term.factor;
      for (const uint32_t factor : term.of) product = times(product, values[factor]);
      sum = plus(sum, product);
    }
    values.push_back(finished(size, sum));
  }
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(dims.size()));
  return values;
}

namespace {

// Beyond some depth, formulas within formulas are named by their number: in a file each could use the one before twice.
std::string to_text(const Sizes& sizes, uint32_t index, int depth) {
  if (depth == 0) return fmt::format("size{}", index);
  const Size& size = sizes.sizes[index];
  std::string sum;
  for (const Size::Term& term : size.terms) {
    std::vector<std::string> factors;
    for (const uint32_t factor : term.of) {
      const auto count = static_cast<uint32_t>(sizes.dims.size());
      factors.push_back(factor < count
                            ? sizes.dims[factor].name
                            : fmt::format("({})", to_text(sizes, factor - count, depth - 1)));
    }
    const int64_t shown = sum.empty() ? term.factor : std::abs(term.factor);
    if (shown != 1 || factors.empty()) factors.push_back(std::to_string(shown));
    sum += sum.empty() ? "" : term.factor < 0 ? " - " : " + ";
    sum += fmt::format("{}", fmt::join(factors, "*"));
  }
  switch (size.kind) {
    case Size::Kind::Quotient:
      return size.terms.size() > 1 ? fmt::format("({})//{}", sum, size.by)
                                   : fmt::format("{}//{}", sum, size.by);
    case Size::Kind::Least:
      return fmt::format("min({}, {})", sum, size.by);
    case Size::Kind::Greatest:
      return fmt::format("max({}, {})", sum, size.by);
    default:
      return sum;
  }
}

}  // namespace

std::string to_text(const Sizes& sizes, uint32_t size) { return to_text(sizes, size, 3); }

std::vector<int64_t> dims_of(const Graph& graph, std::span<const std::span<const int64_t>> shapes) {
  const Sizes& sizes = graph.sizes;
  std::vector<int64_t> found(sizes.dims.size(), -1);
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      const int32_t dim = sizes.inputs[i][d];
      if (dim < 0) continue;
      const Dim& known = sizes.dims[dim];
      const int64_t size = shapes[i][d];
      if (size < known.min || size > known.max || size % known.multiple != 0)
        throw Error(TN_INVALID_ARGUMENT,
                    fmt::format("[graph] {} is {} in input {}; the program takes {} to {}{}",
                                known.name, size, i, known.min, known.max,
                                known.multiple == 1 ? "" : fmt::format(" by {}", known.multiple)));
      if (found[dim] >= 0 && found[dim] != size)
        throw Error(TN_INVALID_ARGUMENT, fmt::format("[graph] {} is {} and, in input {}, {}",
                                                     known.name, found[dim], i, size));
      found[dim] = size;
    }
  return found;
}

std::unordered_map<const void*, const Varying*> varying_numbers(const Graph& graph) {
  std::unordered_map<const void*, const Varying*> found;
  uint32_t place = 0;
  size_t next = 0;
  const auto& varying = graph.sizes.varying;
  each_number(graph, [&](const auto& number, const Node*, size_t) {
    if (next < varying.size() && varying[next].place == place) found[&number] = &varying[next++];
    ++place;
  });
  return found;
}

void mark_shapes(Graph& graph) {
  const auto marked = varying_numbers(graph);
  const auto shapes_of = [&](const std::vector<View>& views) {
    std::vector<std::vector<int64_t>> shapes;
    for (const View& view : views) {
      auto& shape = shapes.emplace_back();
      for (const int64_t& size : view.shape) shape.push_back(marked.contains(&size) ? -1 : size);
    }
    return shapes;
  };
  graph.sizes.input_shapes = shapes_of(graph.inputs);
  graph.sizes.result_shapes = shapes_of(graph.results);
}

Graph concrete(const Graph& graph, std::span<const int64_t> dims) {
  Graph made = graph;
  made.sizes = {};
  make_concrete(made, graph.sizes, dims);
  return made;
}

void make_concrete(Graph& made, const Sizes& sizes, std::span<const int64_t> dims) {
  const std::vector<int64_t> values = evaluate(sizes, dims);
  each_number(made, Patcher{sizes.varying, values});
  check_reach(made);
}

}  // namespace tenon::graph
