// Activations and their gradients.
#include "binary.hpp"
#include "unary.hpp"

namespace tenon::conformance {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

void add_activations(Table& t) {
  real(t, "relu", [](double x) { return x > 0 ? x : 0; }, {.dtypes = kReals});
  special(t, "relu", [](double x) { return std::isnan(x) ? x : x > 0 ? x : 0.0; });
  real(t, "sigmoid", sigmoid, {.low = -6, .high = 6, .fraction = true});
  real(t, "silu", [](double x) { return x * sigmoid(x); }, {.low = -6, .high = 6});
  real(t, "mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); },
       {.low = -5, .high = 5, .tolerance = 3});
  real(t, "selu",
       [](double x) {
         constexpr double kAlpha = 1.6732632423543772,
                          kScale = 1.0507009873554805;  // Klambauer et al. 2017
         return kScale * (x > 0 ? x : kAlpha * std::expm1(x));
       },
       {.tolerance = 2});
  real(t, "hardsigmoid", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); },
       {.low = -4, .high = 4, .tolerance = 2});
  real(t, "hardswish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); },
       {.low = -4, .high = 4, .tolerance = 2});
  real(t, "log_sigmoid", [](double x) { return -std::log1p(std::exp(-x)); },
       {.low = -5, .high = 5, .tolerance = 2});
  struct Parameterised {
    const char* op;
    Args rest;
    std::function<double(double)> fn;
  };
  const std::vector<Parameterised> list = {
      {"gelu", {std::string("none")}, [](double x) { return x * normal_cdf(x); }},
      {"gelu", {std::string("tanh")}, gelu_tanh},
      {"elu", {0.7}, [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }},
      {"leaky_relu", {0.1}, [](double x) { return x > 0 ? x : 0.1 * x; }},
      {"shrink", {0.7}, [](double x) { return std::abs(x) <= 0.7 ? 0 : x; }},
      {"shrink",
       {0.5, 0.25},
       [](double x) { return std::abs(x) <= 0.5 ? 0 : x - std::copysign(0.25, x); }},
      {"softplus",
       {2.0, 5.0},
       [](double x) { return 2 * x > 5 ? x : std::log1p(std::exp(2 * x)) / 2; }},
  };
  for (const Parameterised& p : list)
    for (const Shape& shape : usual_shapes()) {
      std::string label =
          label_of(shape) + (p.rest.size() == 1 && std::holds_alternative<std::string>(p.rest[0])
                                 ? " " + std::get<std::string>(p.rest[0])
                                 : "");
      Sample& s = t.add(
          p.op, label, kFloats,
          [=](DType dtype, Rng& rng) {
            Args args = {random_array(rng, dtype, shape, -4, 4)};
            args.insert(args.end(), p.rest.begin(), p.rest.end());
            return args;
          },
          [=](const Args& a) {
            const Array& x = array(a, arg::gelu::x);
            return one(map(x, x.dtype, [&](Complex v) { return Complex(p.fn(v.real())); }));
          });
      s.tolerance = 2;
      s.gradient = shape.size() == 3;
    }
}

void add_prelu(Table& t) {
  for (const auto& [a, b] : pairs())
    t.add(
         "prelu", label_of(a) + label_of(b), kFloats,
         [a = a, b = b](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, a), random_array(rng, dtype, b)};
         },
         [](const Args& args) {
           const Array& x = array(args, arg::prelu::x);
           return one(zip(x, array(args, arg::prelu::weight), x.dtype,
                          [](Complex v, Complex w) { return v.real() > 0 ? v : v * w; }));
         })
        .gradient = a.size() != 1;
}

void add_sigmoid_gate(Table& t) {
  for (const auto& [a, b] : pairs())
    t.add(
         "sigmoid_gate", label_of(a) + label_of(b), kFloats,
         [a = a, b = b](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, a), random_array(rng, dtype, b, -9, 9)};
         },
         [](const Args& args) {
           using arg = arg::sigmoid_gate;
           return one(zip(array(args, arg::x), array(args, arg::gate), array(args, arg::x).dtype,
                          [](Complex x, Complex gate) { return x / (1.0 + std::exp(-gate)); }));
         })
        .tolerance = 4;
}

// g·f'(x), written with the derivative in closed form.
void add_backwards(Table& t) {
  struct Backward {
    const char* op;
    Args rest;
    std::function<double(double)> derivative;  // of the saved value
    double low, high;
  };
  auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); };
  auto tanh_slope = [](double x) {
    double k = std::sqrt(2 / M_PI), u = k * (x + 0.044715 * x * x * x), th = std::tanh(u);
    return 0.5 * (1 + th) + 0.5 * x * (1 - th * th) * k * (1 + 3 * 0.044715 * x * x);
  };
  const std::vector<Backward> list = {
      {"gelu_backward",
       {std::string("none")},
       [=](double x) { return normal_cdf(x) + x * density(x); },
       -4,
       4},
      {"gelu_backward", {std::string("tanh")}, tanh_slope, -4, 4},
      {"silu_backward",
       {},
       [](double x) {
         double s = sigmoid(x);
         return s * (1 + x * (1 - s));
       },
       -4,
       4},
      {"sigmoid_backward", {}, [](double y) { return y * (1 - y); }, 0.05, 0.95},
      {"tanh_backward", {}, [](double y) { return 1 - y * y; }, -0.9, 0.9},
      {"relu_backward", {}, [](double y) { return y > 0 ? 1.0 : 0.0; }, -2, 2},
      {"leaky_relu_backward", {0.1}, [](double x) { return x > 0 ? 1.0 : 0.1; }, -2, 2},
      {"hardswish_backward",
       {},
       [](double x) { return x < -3  ? 0.0
                             : x > 3 ? 1.0
                                     : x / 3 + 0.5; },
       -5,
       5},
  };
  for (const Backward& b : list)
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{37}, Shape{}, Shape{0}}) {
      const bool named = !b.rest.empty() && std::holds_alternative<std::string>(b.rest[0]);
      std::string kind = named ? " " + std::get<std::string>(b.rest[0]) : "";
      Sample& s = t.add(
          b.op, label_of(shape) + kind, kFloats,
          [=](DType dtype, Rng& rng) {
            Args args = {random_array(rng, dtype, shape),
                         random_array(rng, dtype, shape, b.low, b.high)};
            args.insert(args.end(), b.rest.begin(), b.rest.end());
            return args;
          },
          [=](const Args& a) {
            using arg = tenon::arg::gelu_backward;
            const Array& g = array(a, arg::g);
            return one(zip(g, array(a, arg::x), g.dtype, [&](Complex arrived, Complex x) {
              return arrived * b.derivative(x.real());
            }));
          });
      s.tolerance = 3;
      s.gradient = shape.size() == 3;
    }
}

}  // namespace

void add_activation_samples(Table& table) {
  add_activations(table);
  add_prelu(table);
  add_sigmoid_gate(table);
  add_backwards(table);
}

}  // namespace tenon::conformance
