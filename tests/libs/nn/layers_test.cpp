// Layers and losses, against values recorded from PyTorch's of the same names.
#include "recorded.hpp"

namespace tenon {
namespace {

Tensor input() {
  std::vector<float> values(200);
  for (int i = 0; i < 200; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i % 7 - 3) / 4;
  return tensor(values, {2, 4, 5, 5});
}

template <class M>
void check(M module, const Tensor& x, const std::vector<int64_t>& shape,
           const std::vector<double>& first, double sum, double weighted) {
  module = filled(std::move(module));
  SCOPED_TRACE(module.describe());
  recorded(module(x), shape, first, sum, weighted);
}

TEST(Layers, AsRecorded) {
  const Tensor x = input();
  check(nn::Conv2d(4, 6, 3, {.stride = 2, .padding = 1, .groups = 2}), x, {2, 6, 3, 3},
        {0.125, -0.925, -1, -0.975, -1.5, 1.175}, -3.82499981, 192.624998);
  check(nn::Conv1d(4, 2, 2, {.dilation = 2}), x[{Slice(), Slice(), 0}], {2, 2, 3},
        {0.1750001, -0.525, -0.875, 0.425, 1.15, 0.3}, -2.92499977, -23.2499998);
  check(nn::Conv3d(2, 3, {1, 2, 2}), x.reshape({2, 2, 2, 5, 5}), {2, 3, 2, 4, 4},
        {0.3249999, -0.725, -0.9, -0.9, -0.725, 0.325}, -18.6999998, -212.299907);
  check(nn::ConvTranspose2d(4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}),
        x, {2, 6, 10, 10}, {-0.2, -0.7, -0.3, -0.625, -0.4, -0.02499998}, -59.475, 5427.92551);
  check(nn::Linear(5, 3), x, {2, 4, 5, 3}, {-0.15, -0.25, 0.475, -1.075, -0.225, 0.07500002},
        -12.0999993, -678.999958);
  check(nn::Linear(5, 3, false), x, {2, 4, 5, 3}, {0.35, -0.15, 0.175, -0.575, -0.125, -0.225},
        -0.0999990106, 3.00006045);
  check(nn::MaxPool(2, {.padding = 1}), x, {2, 4, 3, 3}, {-0.75, -0.25, 0.25, 0.5, 0.75, 0.75},
        25.5, 975.5);
  check(nn::AvgPool(3, {.stride = 2, .padding = 1, .count_include_pad = false}), x, {2, 4, 3, 3},
        {0, -0.2083333, -0.125, 0.125, 0.1111111, 0}, -0.409722216, -25.5763888);
  check(nn::AdaptiveAvgPool({2, 3}), x, {2, 4, 2, 3},
        {0.04166667, 0.02777778, -0.08333334, -0.08333334, 0, 0.08333334}, -0.0138888899,
        4.11111108);
  check(nn::AdaptiveMaxPool({3, 2}), x, {2, 4, 3, 2}, {0.75, 0.25, 0.75, 0.75, 0.75, 0.5}, 32.25,
        754.25);
  check(nn::BatchNorm(4), x, {2, 4, 5, 5},
        {0.2535631, -0.004506469, -0.262576, -0.5206456, -0.7787151, -1.036785}, -34.9999994,
        -3161.60887);
  check(nn::LayerNorm({5, 5}), x, {2, 4, 5, 5},
        {0.2021687, 0.0791039, 0.2613299, -0.3511535, -0.2523737, 0.2860248}, -2.31983385,
        232.021964);
  check(nn::RMSNorm(5, {.eps = 1e-5}), x, {2, 4, 5, 5},
        {0.8660023, 0.2309339, -0.05773349, 0, -0.2309339, -0.4303251}, 3.2485314, 276.58818);
  check(nn::GroupNorm(2, 4), x, {2, 4, 5, 5},
        {0.226286, -0.02075008, -0.2677861, -0.5148222, -0.7618582, -1.008894}, -35.4699509,
        -3251.088);
  check(nn::Embedding(10, 3), tensor({{1, 9}, {0, 4}}, DType::I64), {2, 2, 3},
        {0.4, -0.4, -0.1, -0.1, 0.2, 0.5}, 0.200000003, 2.40000004);
  check(nn::Upsample({.scale_factor = 2}), x, {2, 4, 10, 10},
        {-0.75, -0.75, -0.5, -0.5, -0.25, -0.25}, -6, -1595);
  check(nn::Upsample({.scale_factor = 2, .mode = "linear"}), x, {2, 4, 10, 10},
        {-0.75, -0.6875, -0.5625, -0.4375, -0.3125, -0.1875}, -6, -1597.375);
  check(nn::ReLU(), x, {2, 4, 5, 5}, {0, 0, 0, 0, 0.25, 0.5}, 42, 4193);
  check(nn::Sigmoid(), x, {2, 4, 5, 5},
        {0.3208213, 0.3775407, 0.4378235, 0.5, 0.5621765, 0.6224594}, 99.6361871, 9925.74506);
  check(nn::Tanh(), x, {2, 4, 5, 5}, {-0.6351489, -0.4621172, -0.2449187, 0, 0.2449187, 0.4621172},
        -1.34218477, -91.8425791);
  check(nn::SiLU(), x, {2, 4, 5, 5}, {-0.240616, -0.1887703, -0.1094559, 0, 0.1405441, 0.3112297},
        11.2859964, 1144.90102);
  check(nn::Mish(), x, {2, 4, 5, 5}, {-0.2764947, -0.2207438, -0.129927, 0, 0.1695724, 0.3752452},
        14.1476083, 1433.36388);
  check(nn::SELU(), x, {2, 4, 5, 5}, {-0.927632, -0.6917582, -0.3888902, 0, 0.2626753, 0.5253505},
        -14.1106868, -1344.55995);
  check(nn::Hardsigmoid(), x, {2, 4, 5, 5},
        {0.375, 0.4166667, 0.4583333, 0.5, 0.5416667, 0.5833333}, 99.75, 9933.5);
  check(nn::Hardswish(), x, {2, 4, 5, 5},
        {-0.28125, -0.2083333, -0.1145833, 0, 0.1354167, 0.2916667}, 7.56249993, 775.395826);
  check(nn::LogSigmoid(), x, {2, 4, 5, 5},
        {-1.136871, -0.974077, -0.8259394, -0.6931472, -0.5759394, -0.474077}, -145.50385,
        -14450.8892);
  check(nn::GELU(), x, {2, 4, 5, 5}, {-0.1699705, -0.1542688, -0.1003234, 0, 0.1496766, 0.3457312},
        17.7999259, 1791.31843);
  check(nn::ELU(), x, {2, 4, 5, 5}, {-0.5276334, -0.3934693, -0.2211992, 0, 0.25, 0.5}, 8.87324268,
        922.337617);
  check(nn::LeakyReLU(), x, {2, 4, 5, 5}, {-0.0075, -0.005, -0.0025, 0, 0.25, 0.5}, 41.565,
        4150.08);
  check(nn::Softplus(), x, {2, 4, 5, 5},
        {0.386871, 0.474077, 0.5759394, 0.6931472, 0.8259394, 0.974077}, 144.00385, 14351.8892);
  check(nn::GELU("tanh"), x, {2, 4, 5, 5},
        {-0.1700394, -0.154286, -0.1003246, 0, 0.1496754, 0.345714}, 17.7949458, 1790.82425);
  check(nn::Softmax(-1), x, {2, 4, 5, 5},
        {0.1140507, 0.146444, 0.1880379, 0.2414454, 0.310022, 0.2931884}, 40.0000008, 3980.21564);
  check(nn::LogSoftmax(1), x, {2, 4, 5, 5},
        {-2.139201, -2.139201, -1.724344, -1.212811, -1.212811, -1.212811}, -299.212549,
        -29755.1301);
}

TEST(Layers, BatchNormKeepsStatistics) {
  const Tensor x = input();
  nn::BatchNorm norm = filled(nn::BatchNorm(4));
  norm(x);
  const auto mean = norm.running_mean->to_vector<float>(),
             variance = norm.running_var->to_vector<float>();
  const std::vector<double> means{-0.002, 0, 0.002, -0.003},
      variances{0.92393875, 0.92729592, 0.92393875, 0.92643875};
  EXPECT_EQ(norm.num_batches_tracked->item<int64_t>(), 1);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(mean[c], means[c], 1e-6);
    EXPECT_NEAR(variance[c], variances[c], 1e-6);
  }
  norm.eval();
  const auto y = norm(x).detach().to_vector<float>();
  const std::vector<double> first{-0.1109121, -0.2409549, -0.3709976,
                                  -0.5010403, -0.6310831, -0.7611258};
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(y[i], first[i], 1e-5);
}

TEST(Layers, RMSNormTakesTheEpsilonOfItsInput) {
  const Tensor x = tensor({1e-8, 2e-8});
  EXPECT_NEAR(nn::RMSNorm(2).to(DType::F64)(x)[1].item<double>(),
              2e-8 / std::sqrt(2.5e-16 + 0x1p-52), 1e-9);
  const Tensor half = tensor({F16(0.01f), F16(0.02f)});
  EXPECT_NEAR(nn::RMSNorm(2).to(DType::F16)(half)[1].item<double>(),
              0.02 / std::sqrt(2.5e-4 + 0x1p-10), 2e-3);
}

TEST(Layers, DropoutScalesWhatIsLeft) {
  manual_seed(3);
  nn::Dropout dropout(0.25);
  const Tensor x = ones({100, 100});
  const auto y = dropout(x).to_vector<float>();
  size_t left = 0;
  for (float value : y) {
    EXPECT_TRUE(value == 0 || std::abs(value - 4.f / 3) < 1e-6);
    left += value != 0;
  }
  EXPECT_NEAR(static_cast<double>(left), 7500, 200);
  dropout.eval();
  EXPECT_EQ(dropout(x).get(), x.get());
}

TEST(Layers, AffineGrids) {
  const Tensor shifted = tensor({1.f, 0.f, 0.5f, 0.f, 1.f, -0.5f}).reshape({1, 2, 3});
  const Tensor grid = nn::affine_grid(shifted, {1, 1, 1, 2}, false),
               aligned = nn::affine_grid(shifted, {1, 1, 1, 2}, true);
  EXPECT_EQ(grid.to_vector<float>(), (std::vector<float>{0, -0.5f, 1, -0.5f}));
  EXPECT_EQ(aligned.to_vector<float>(), (std::vector<float>{-0.5f, -0.5f, 1.5f, -0.5f}));
  EXPECT_THROW(nn::affine_grid(shifted, {1, 1, 2}), Error);
  EXPECT_THROW(nn::affine_grid(shifted, {2, 1, 1, 2}), Error);
}

TEST(Layers, UpsampleToASize) {
  const Tensor x = input();
  EXPECT_EQ(nn::Upsample({.size = {{7, 9}}})(x).shape(3), 9);
  EXPECT_EQ(nn::Upsample({.scale_factor = {{1.5, 2}}})(x).shape(2), 7);
}

TEST(Layers, Containers) {
  nn::ModuleDict<nn::Linear> parts;
  parts.insert("in", nn::Linear(5, 3));
  parts.insert("out", nn::Linear(3, 2));
  EXPECT_EQ(parts["out"](parts["in"](ones({1, 5}))).shape(-1), 2);
  EXPECT_TRUE(parts.contains("in") && !parts.contains("other") && parts.size() == 2);
  EXPECT_THROW(parts["other"], Error);
  EXPECT_THROW(parts.insert("in", nn::Linear(5, 3)), Error);
  EXPECT_EQ(parts.named_parameters()[2].first, "out.weight");
  nn::ParameterList list({tensor({1.f}), tensor({2.f})});
  list.push(tensor({3.f}));
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list[2]->item<float>(), 3);
  EXPECT_EQ(list.named_parameters()[2].first, "2");
}

TEST(Layers, Shapes) {
  const Tensor x = input();
  EXPECT_EQ(nn::Flatten()(x).shape(1), 100);
  EXPECT_EQ(nn::Unflatten(1, {2, 2})(x).ndim(), 5);
  EXPECT_EQ(nn::Identity()(x).get(), x.get());
  nn::ModuleList<nn::Linear> list;
  list.push(nn::Linear(5, 5));
  list.push(nn::Linear(5, 2));
  EXPECT_EQ(list[1](list[0](x)).shape(-1), 2);
  EXPECT_EQ(list.named_parameters()[2].first, "1.weight");
  nn::Embedding padded(5, 2, 0);
  EXPECT_EQ(padded.weight->detach()[0].to_vector<float>(), (std::vector<float>{0, 0}));
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

TEST(Losses, WeightsAreBuffers) {
  nn::BCEWithLogitsLoss loss({.weight = tensor({1.f, 2.f}), .pos_weight = tensor({3.f, 4.f})});
  loss.to(DType::F64);
  EXPECT_EQ(loss.weight->dtype(), DType::F64);
  EXPECT_EQ(loss.state_dict().at("pos_weight").dtype(), DType::F64);
  EXPECT_TRUE(loss.parameters().empty());
  const Tensor x = zeros({3, 2}, DType::F64);
  EXPECT_NEAR(value(loss(x, ones_like(x))), (3 + 8) * std::log(2.0) / 2, 1e-12);
}

}  // namespace
}  // namespace tenon
