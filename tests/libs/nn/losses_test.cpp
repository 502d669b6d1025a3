// Losses, compared with values recorded from PyTorch's classes of the same names.
#include "../scratch.hpp"
#include "recorded.hpp"

namespace tenon {
namespace {

Tensor input() {
  std::vector<float> values(200);
  for (int i = 0; i < 200; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i % 7 - 3) / 4;
  return tensor(values, {2, 4, 5, 5});
}

double value(const Tensor& loss) { return loss.item<double>(); }

TEST(Losses, AsRecorded) {
  const Tensor rows = input().reshape({40, 5});
  std::vector<int64_t> labels(40);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i % 5);
  labels[3] = -100;
  const Tensor t = tensor(labels);
  EXPECT_NEAR(value(nn::CrossEntropyLoss()(rows, t)), 1.69978666, 1e-5);
  EXPECT_NEAR(value(nn::CrossEntropyLoss({.label_smoothing = 0.1})(rows, t)), 1.7018379, 1e-5);
  EXPECT_NEAR(value(nn::CrossEntropyLoss(
                  {.weight = tensor({1.f, 2.f, 3.f, 4.f, 5.f}), .reduction = "sum"})(rows, t)),
              196.764603, 1e-3);
  EXPECT_NEAR(value(nn::NLLLoss()(rows.log_softmax(1), t)), 1.69978666, 1e-5);
  const Tensor a = input().flatten(), b = input().flip({3}).flatten();
  EXPECT_NEAR(value(nn::MSELoss()(a, b)), 0.54375, 1e-6);
  EXPECT_NEAR(value(nn::L1Loss("sum")(a, b)), 125, 1e-4);
  EXPECT_NEAR(value(nn::SmoothL1Loss("mean", 0.5)(a, b)), 0.425, 1e-6);
  const Tensor target = (b > 0).to(DType::F32);
  EXPECT_NEAR(value(nn::BCELoss()(a.sigmoid(), target)), 0.75501925, 1e-5);
  EXPECT_NEAR(value(nn::BCEWithLogitsLoss()(a, target)), 0.75501925, 1e-5);
  EXPECT_NEAR(value(nn::BCEWithLogitsLoss({.pos_weight = tensor({2.f})})(a, target)), 1.07584858,
              1e-5);
  EXPECT_NEAR(value(nn::KLDivLoss("sum")(rows.log_softmax(1), rows.flip({1}).softmax(1))),
              10.4062758, 1e-4);
  EXPECT_NEAR(value(nn::KLDivLoss("batchmean")(rows.log_softmax(1), rows.flip({1}).softmax(1))),
              10.4062758 / 40, 1e-6);
  EXPECT_EQ(nn::MSELoss("none")(a, b).numel(), 200);
}

TEST(Losses, OfPyTorchAsRecorded) {
  const Tensor a = steps({6, 5}), b = steps({6, 5}, 3), c = steps({6, 5}, 7),
               sign = where(b > 0, 1.0, -1.0).to(DType::F32);
  const Tensor t = tensor({0, 4, 2, 1, 3, 3}, DType::I64),
               weight = tensor({1.f, 2.f, 3.f, 4.f, 5.f}), counts = b * 8 + 6;
  const auto manhattan = [](const Tensor& x, const Tensor& y) { return (x - y).abs().sum(-1); };
  EXPECT_NEAR(value(nn::HuberLoss("mean", 0.5)(a, b)), 0.170833334, 1e-5);
  EXPECT_NEAR(value(nn::SoftMarginLoss()(a, sign)), 0.772971988, 1e-5);
  EXPECT_NEAR(value(nn::HingeEmbeddingLoss(0.5)(a, sign)), 0.204166666, 1e-5);
  EXPECT_NEAR(value(nn::MarginRankingLoss(0.25)(a, b, sign)), 0.754166663, 1e-5);
  EXPECT_NEAR(value(nn::CosineEmbeddingLoss(0.1)(a, b, sign.select(1, 0))), 0.452434152, 1e-5);
  EXPECT_NEAR(value(nn::TripletMarginLoss()(a, b, c)), 1.07668436, 1e-5);
  EXPECT_NEAR(value(nn::TripletMarginLoss({.p = 1, .swap = true})(a, b, c)), 1.41666663, 1e-5);
  EXPECT_NEAR(value(nn::TripletMarginWithDistanceLoss(
                  {.distance_function = manhattan, .margin = 2})(a, b, c)),
              2.16666675, 1e-5);
  EXPECT_NEAR(value(nn::MultiMarginLoss()(a, t)), 0.766666651, 1e-5);
  EXPECT_NEAR(value(nn::MultiMarginLoss({.p = 2, .margin = 0.5, .weight = weight})(a, t)),
              1.1953125, 1e-5);
  EXPECT_NEAR(value(nn::MultiMarginLoss()(a[0], t[0])), 1.39999998, 1e-5);
  const Tensor labels = tensor({{3, 0, -1, 1, 1},
                                {-1, 2, 2, 2, 2},
                                {4, 1, 0, 2, 3},
                                {0, -1, 0, 0, 0},
                                {2, 1, -1, -1, 3},
                                {1, 2, 3, -1, 0}});
  EXPECT_NEAR(value(nn::MultiLabelMarginLoss()(a, labels)), 0.933333337, 1e-5);
  EXPECT_NEAR(value(nn::MultiLabelSoftMarginLoss(weight)(a, (sign > 0).to(DType::F32))), 2.33790898,
              1e-5);
  EXPECT_NEAR(value(nn::PoissonNLLLoss()(a, counts)), 1.25576234, 1e-5);
  EXPECT_NEAR(value(nn::PoissonNLLLoss({.log_input = false, .full = true, .reduction = "sum"})(
                  a.exp(), counts)),
              261.555878, 1e-3);
  EXPECT_NEAR(value(nn::GaussianNLLLoss({.eps = 0.1})(a, b, a.square())), 0.0728941187, 1e-5);
  EXPECT_NEAR(
      value(nn::GaussianNLLLoss({.full = true})(a, b, tensor({0.5f, 1.f, 2.f, 3.f, 4.f, 5.f}))),
      1.41052878, 1e-5);
  EXPECT_EQ(nn::TripletMarginLoss({.reduction = "none"})(a, b, c).numel(), 6);
  EXPECT_EQ(nn::MultiMarginLoss({.reduction = "none"})(a, t).numel(), 6);
}

TEST(Losses, CTC) {
  Tensor x = steps({6, 3, 5}).log_softmax(2).detach().requires_grad_();
  const Tensor labels = tensor({{1, 2, 2, 4}, {3, 3, 0, 0}, {4, 1, 0, 0}}),
               joined = tensor({1, 2, 2, 4, 3, 3, 4, 1});
  const Tensor inputs = tensor({6, 5, 3}), lengths = tensor({4, 2, 2}),
               short_one = tensor({3, 5, 3});
  EXPECT_NEAR(value(nn::CTCLoss()(x, labels, inputs, lengths)), 2.19134784, 1e-5);
  EXPECT_NEAR(value(nn::CTCLoss()(x, joined, inputs, lengths)), 2.19134784, 1e-5);
  EXPECT_NEAR(value(nn::CTCLoss(4)(x.select(1, 1), labels[1].slice(0, 0, 2), tensor(6), tensor(2))),
              3.05192566, 1e-5);
  const Tensor each = nn::CTCLoss(0, "none")(x, labels, inputs, lengths);
  recorded(each, {3}, {8.149126, 5.719416, 3.354107}, 17.2226496, 12.4276309);
  each.sum().backward();
  recorded(x.grad(), {6, 3, 5}, {0.0644782, -0.7788395, 0.3475921, 0.127872}, 0, 3.91723044);
  // With more labels than steps there is no alignment.
  EXPECT_EQ(nn::CTCLoss(0, "none")(x, labels, short_one, lengths)[0].item<float>(), INFINITY);
  EXPECT_EQ(nn::CTCLoss(0, "none", true)(x, labels, short_one, lengths)[0].item<float>(), 0);
  EXPECT_EQ(error_of([&] { nn::CTCLoss(5)(x, labels, inputs, lengths); }),
            "[ctc_loss] blank 5 of 5 classes");
  EXPECT_EQ(error_of([&] {
              nn::CTCLoss()(x, labels, tensor({7, 5, 3}), lengths);
            }),
            "[ctc_loss] input_lengths must be 0 to 6, target_lengths not negative");
}

TEST(Losses, Gradients) {
  // Away from the points where slopes jump.
  const Tensor a = steps({6, 5}, 5, DType::F64) + 0.031, b = steps({6, 5}, 3, DType::F64),
               c = steps({6, 5}, 7, DType::F64) + 0.017;
  const Tensor sign = where(b > 0, 1.0, -1.0).to(DType::F64);
  const auto check = [&](const auto& loss, auto... more) {
    expect_gradients({a}, [&] { return loss(a, more...); });
  };
  check(nn::HuberLoss("none", 0.5), b);
  check(nn::SoftMarginLoss("none"), sign);
  check(nn::HingeEmbeddingLoss(0.5, "none"), sign);
  check(nn::MarginRankingLoss(0.25, "none"), b, sign);
  check(nn::CosineEmbeddingLoss(0.1, "none"), b, sign.select(1, 0));
  check(nn::TripletMarginLoss({.swap = true, .reduction = "none"}), b, c);
  check(nn::MultiMarginLoss({.p = 2, .reduction = "none"}), tensor({0, 4, 2, 1, 3, 3}, DType::I64));
  check(nn::PoissonNLLLoss({.full = true, .reduction = "none"}), b * 8 + 6);
  check(nn::GaussianNLLLoss({.reduction = "none"}), b, c.square() + 0.1);
}

TEST(Losses, Mistakes) {
  const Tensor a = steps({6, 5});
  EXPECT_EQ(error_of([&] { nn::GaussianNLLLoss()(a, a, a); }),
            "[gaussian_nll_loss] var must not be negative");
  EXPECT_EQ(error_of([&] { nn::MultiMarginLoss()(a, a); }),
            "[multi_margin_loss] input has shape (6, 5) and target (6, 5), must be (N, C) or (C) "
            "and (6,)");
  EXPECT_EQ(error_of([&] { nn::TripletMarginLoss()(a, a[0], a); }),
            "[triplet_margin_loss] ranks 2, 1 and 2 differ");
  EXPECT_EQ(error_of([&] { nn::MSELoss().call(std::vector{a}); }),
            "[MSELoss] 1 tensors, must be 2");
  EXPECT_EQ(nn::MSELoss().call(std::vector{a, a})[0].item<float>(), 0);
}

TEST(Losses, WeightsAreBuffers) {
  nn::BCEWithLogitsLoss loss({.weight = tensor({1.f, 2.f}), .pos_weight = tensor({3.f, 4.f})});
  loss.to(DType::F64);
  EXPECT_EQ(loss.weight->dtype(), DType::F64);
  EXPECT_EQ(loss.state_dict().at("pos_weight").dtype(), DType::F64);
  EXPECT_TRUE(loss.parameters().empty());
  const Tensor x = zeros({3, 2}, DType::F64);
  EXPECT_NEAR(value(loss(x, ones_like(x))), (3 + 8) * std::log(2.0) / 2, 1e-12);
}

TEST(Losses, AdaptiveSoftmaxAsRecorded) {
  auto loss =
      filled(nn::AdaptiveLogSoftmaxWithLoss(8, 12, {4, 9}, {.div_value = 2, .head_bias = true}));
  const Tensor x = steps({6, 8}), labels = tensor({0, 5, 11, 3, 9, 8}, DType::I64);
  const auto [output, mean] = loss(x, labels);
  recorded(output, {6}, {-2.2181728, -3.3868513, -2.5582366, -1.962522}, -16.2962019, -41.9671586);
  EXPECT_NEAR(value(mean), 2.716033697, 1e-6);
  recorded(loss.log_prob(x), {6, 12}, {-2.2181728, -1.6556728, -0.9556728, -2.1806729}, -199.457618,
           -7027.25026);
  EXPECT_EQ(loss.predict(x).to_vector<int64_t>(), (std::vector<int64_t>{2, 2, 2, 3, 1, 2}));
  const auto [one, own] = loss(x[1], labels[1]);
  EXPECT_EQ(one.ndim(), 0);
  EXPECT_NEAR(value(own), 3.3868513, 1e-6);
  loss.to(DType::F64);
  std::vector<Tensor> leaves = {steps({6, 8}, 5, DType::F64)};
  for (const Tensor& parameter : loss.parameters()) leaves.push_back(parameter);
  expect_gradients(leaves, [&] { return std::get<0>(loss(leaves[0], labels)); });
  EXPECT_EQ(error_of([&] { loss(x, labels.narrow(0, 0, 5)); }),
            "[AdaptiveLogSoftmaxWithLoss] input (6, 8) and target (5,) must be (N, in_features) "
            "and (N), or (in_features) and ()");
  EXPECT_EQ(error_of([&] { loss(x, labels + 1); }),
            "[AdaptiveLogSoftmaxWithLoss] labels must be 0 to 11");
}

}  // namespace
}  // namespace tenon
