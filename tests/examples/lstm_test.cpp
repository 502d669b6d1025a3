// examples/plugins/lstm.c: a third-party layer, trained on each device, with products in bf16.
#include "lstm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "gradcheck.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using Values = std::vector<double>;
using Dims = std::vector<int64_t>;

Dims shape_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

Values values(const Tensor& x) { return x.to(Device("cpu")).to(DType::F64).to_vector<double>(); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Weights and inputs of a layer of `hidden` units, uniform in [-0.5, 0.5).
struct Layer {
  Layer(int64_t features, int64_t hidden, DType dtype, Device device, uint64_t seed = 7) {
    Generator generator(seed);
    const auto uniform = [&](const std::vector<int64_t>& shape) {
      return (rand(shape, DType::F64, {}, generator) - 0.5).to(dtype).to(device);
    };
    weights = std::vector<Tensor>{uniform({4 * hidden, features}), uniform({4 * hidden, hidden}),
                                  uniform({4 * hidden})};
    state = uniform({3, hidden});
    cell = uniform({3, hidden});
    x = uniform({5, 3, features});
  }
  std::vector<Tensor> inputs() const {
    return {x, state, cell, weights[0], weights[1], weights[2]};
  }
  std::vector<Tensor> weights;
  Tensor x, state, cell;
};

std::vector<Tensor> lstm(const std::vector<Tensor>& in) {
  return Op("acme.lstm").many(3, in[0], in[1], in[2], in[3], in[4], in[5]);
}

// The layer, written out in double precision.
std::vector<Values> reference(const Layer& layer) {
  const int64_t steps = layer.x.shape()[0], batch = layer.x.shape()[1], in = layer.x.shape()[2],
                n = layer.state.shape()[1];
  const Values x = values(layer.x), w = values(layer.weights[0]), u = values(layer.weights[1]),
               bias = values(layer.weights[2]);
  Values h = values(layer.state), c = values(layer.cell), shown;
  for (int64_t t = 0; t < steps; ++t) {
    Values next(h.size());
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t j = 0; j < n; ++j) {
        double gate[4];
        for (int64_t k = 0; k < 4; ++k) {
          gate[k] = bias[k * n + j];
          for (int64_t i = 0; i < in; ++i)
            gate[k] += w[(k * n + j) * in + i] * x[(t * batch + b) * in + i];
          for (int64_t i = 0; i < n; ++i) gate[k] += u[(k * n + j) * n + i] * h[b * n + i];
        }
        double& cell = c[b * n + j];
        cell = sigmoid(gate[1]) * cell + sigmoid(gate[0]) * std::tanh(gate[2]);
        next[b * n + j] = sigmoid(gate[3]) * std::tanh(cell);
      }
    h = next;
    shown.insert(shown.end(), h.begin(), h.end());
  }
  return {shown, h, c};
}

void expect_near(const Values& found, const Values& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], tolerance) << i;
}

// Computes products in bf16 for the lifetime of the object.
class Autocast {
 public:
  Autocast() {
    const void* found = nullptr;
    detail::check(tn_plugin_interface(detail::to_str("com.acme.lstm"),
                                      detail::to_str("acme.autocast"), 1, &found));
    table_ = static_cast<const acme_autocast*>(found);
    detail::check(table_->begin());
  }
  ~Autocast() { tn_status_release(table_->end()); }
  Autocast(const Autocast&) = delete;

 private:
  const acme_autocast* table_ = nullptr;
};

struct Lstm : ::testing::Test {
  static void SetUpTestSuite() { load_plugin(LSTM_PLUGIN); }
};

// One for each device.
struct LstmOn : Lstm, ::testing::WithParamInterface<std::string> {
  Device device{GetParam()};
};

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  std::istringstream all(DEVICES);
  for (std::string name; std::getline(all, name, ',');) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Devices, LstmOn, ::testing::ValuesIn(device_names()),
                         [](const auto& one) { return one.param.substr(0, one.param.find(':')); });

TEST_P(LstmOn, FollowsTheEquations) {
  const Layer layer(4, 6, DType::F32, device);
  const std::vector<Tensor> found = lstm(layer.inputs());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(shape_of(found[0]), (Dims{5, 3, 6}));
  const std::vector<Values> wanted = reference(layer);
  for (size_t k = 0; k < 3; ++k) expect_near(values(found[k]), wanted[k], 2e-6);
}

TEST_P(LstmOn, TheCellHasAKernelOnTheHostAndADecompositionElsewhere) {
  const std::string_view provider =
      detail::to_view(tn_op_provider(Op("acme.lstm_cell").get(), device.get(), TN_DTYPE_F32));
  EXPECT_EQ(provider, device.id() == "cpu:0" ? "com.acme.lstm" : "decomposition");
}

// Says whether the sum of a sequence is positive.
TEST_P(LstmOn, Trains) {
  Layer layer(1, 8, DType::F32, device);
  std::vector<Tensor> parameters = layer.weights;
  parameters.push_back(full({1, 8}, 0.1).to(device));
  for (Tensor& parameter : parameters) parameter.requires_grad_();
  Generator generator(3);
  const Tensor x = rand({6, 32, 1}, DType::F32, {}, generator) - 0.5;
  const Tensor wanted = (x.sum({0}) > 0).to(DType::F32).to(device), sequence = x.to(device);
  const Tensor zero = zeros({32, 8}).to(device);
  const auto loss = [&] {
    const Tensor last =
        lstm({sequence, zero, zero, parameters[0], parameters[1], parameters[2]})[1];
    return mse_loss(sigmoid(matmul(last, parameters[3].t()) * 8), wanted);
  };
  const double before = values(loss())[0];
  for (int step = 0; step < 60; ++step) {
    loss().backward();
    const NoGrad quiet;
    for (Tensor& parameter : parameters) {
      EXPECT_TRUE(Op("acme.descend").many(0, parameter, parameter.grad(), 0.5).empty());
      parameter.zero_grad();
    }
  }
  EXPECT_LT(values(loss())[0], 0.6 * before);
}

TEST_P(LstmOn, ProductsInBf16AreNearThoseInF32) {
  const Layer layer(4, 6, DType::F32, device);
  const Tensor plain = lstm(layer.inputs())[0];
  Tensor narrow, product;
  std::vector<Tensor> inputs = layer.inputs();
  for (Tensor& input : inputs) input.requires_grad_();
  {
    const Autocast bf16;
    narrow = lstm(inputs)[0];
    product = matmul(layer.weights[0], layer.weights[0].t());
  }
  EXPECT_EQ(narrow.dtype(), DType::F32);
  EXPECT_NE(values(narrow), values(plain));
  expect_near(values(narrow), values(plain), 2e-2);
  // Has exactly the bits that bf16 gives.
  const Tensor w = layer.weights[0].to(DType::BF16);
  EXPECT_EQ(values(product), values(matmul(w, w.t())));
  narrow.sum().backward();  // through the casts
  EXPECT_EQ(inputs[3].grad().dtype(), DType::F32);
  EXPECT_EQ(values(matmul(layer.weights[0], layer.weights[0].t())),
            values(matmul(layer.weights[0].clone(), layer.weights[0].clone().t())));
}

TEST_F(Lstm, EachWeightHasItsGradient) {
  const Layer layer(2, 2, DType::F64, Device("cpu"));
  EXPECT_EQ(testing::gradcheck(lstm, layer.inputs()), "");
}

// ---- The cell -----------------------------------------------------------------------------------------------------------------

Tensor points(const std::vector<int64_t>& shape, double first) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return (arange(0, n, 1, {DType::F64}) * 0.37 + first).reshape(shape);
}
std::vector<Tensor> cell(const std::vector<Tensor>& in) {
  return Op("acme.lstm_cell").many(2, in[0], in[1], in[2], in[3], in[4]);
}
std::vector<Tensor> gates() {
  return {points({2, 3}, -1), points({2, 3}, -0.5), points({3}, 0.1), points({2, 1}, 0.2),
          points({2, 3}, -0.8)};
}

TEST_F(Lstm, TheCellBroadcastsAndItsGradientIsRight) {
  EXPECT_EQ(shape_of(cell(gates())[1]), (Dims{2, 3}));
  EXPECT_EQ(testing::gradcheck(cell, gates()), "");
  EXPECT_EQ(testing::gradgradcheck(cell, gates()), "");
}

TEST_F(Lstm, TheCellPromotesAndTakesNumbers) {
  const Tensor i = points({2, 3}, -1).to(DType::F32);
  const auto found = Op("acme.lstm_cell").many(2, i, 1, i.to(DType::F64), i.to(DType::I32), 0.5);
  EXPECT_EQ(found[0].dtype(), DType::F64);
  const auto integers = Op("acme.lstm_cell").many(2, ones({2}).to(DType::I64), 1, 1, 1, 1);
  EXPECT_EQ(integers[0].dtype(), DType::F32);
}

// What is not saved may be overwritten before backward.
TEST_F(Lstm, TheCellKeepsWhatItsGradientReads) {
  std::vector<Tensor> in = gates();
  in[3].requires_grad_();
  const Tensor hidden = cell(in)[0];
  for (const size_t unread : {0, 1, 2, 4}) in[unread].fill_(0);
  hidden.sum().backward();
  EXPECT_TRUE(in[3].grad().defined());

  in = gates();
  in[1].requires_grad_();
  const Tensor changed = cell(in)[0];
  in[4].fill_(0);  // the gradient of f reads it
  EXPECT_THROW(changed.sum().backward(), Error);
}

TEST_F(Lstm, TheStepWritesItsParameterAndNothingElse) {
  const Tensor parameter = points({4}, 1), gradient = points({4}, 2);
  const Values before = values(parameter), slope = values(gradient);
  Op("acme.descend").many(0, parameter, gradient, 0.5);
  Values wanted;
  for (size_t i = 0; i < before.size(); ++i) wanted.push_back(before[i] - 0.5 * slope[i]);
  expect_near(values(parameter), wanted, 1e-12);
  EXPECT_EQ(values(gradient), slope);
  Tensor leaf = points({4}, 1).requires_grad_();
  EXPECT_THROW(Op("acme.descend").many(0, leaf, gradient, 0.5), Error);
}

TEST_F(Lstm, MissingInterfacesAreNotFound) {
  const void* found = nullptr;
  for (const auto& [id, name] :
       {std::pair{"com.acme.lstm", "acme.other"}, {"com.acme.nobody", "acme.autocast"}}) {
    tn_status* status = tn_plugin_interface(detail::to_str(id), detail::to_str(name), 1, &found);
    EXPECT_EQ(tn_status_code(status), TN_NOT_FOUND);
    tn_status_release(status);
  }
}

}  // namespace
}  // namespace tenon
