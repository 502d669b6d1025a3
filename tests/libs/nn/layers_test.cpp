// Layers and losses, compared with values recorded from PyTorch's classes of the same names.
#include "../scratch.hpp"
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

TEST(Layers, PackedWeights) {
  const Tensor x = input().reshape({10, 20})[{Slice(), Slice(0, 16)}].contiguous();
  nn::Linear layer(16, 3);
  for (const int64_t bits : {8, 4}) {
    auto packed = nn::QuantizedLinear::from_float(layer.weight, layer.bias, bits, 8);
    const Tensor weight = bits == 8 ? dequantize_int8(packed.weight, packed.scale)
                                    : dequantize_int4(packed.weight, packed.scale, packed.offset);
    EXPECT_LT((weight - layer.weight).abs().max().item<double>(), 0.5 / (bits == 8 ? 127 : 15));
    const Tensor expected = linear(x, weight, layer.bias);
    EXPECT_LT((packed(x) - expected).abs().max().item<double>(), 1e-5);
    nn::QuantizedLinear other(16, 3, true, bits, 8);
    EXPECT_EQ(other(x).abs().max().item<double>(), 0);
    other.load_state_dict(packed.state_dict());
    EXPECT_EQ(other(x).to_vector<float>(), packed(x).to_vector<float>());
    EXPECT_TRUE(other.parameters().empty());
  }
  EXPECT_EQ(nn::QuantizedLinear(32, 2, false, 4).describe(),
            "QuantizedLinear(32, 2, no bias, 4 bits in groups of 32)");
  EXPECT_EQ(error_of([&] { nn::QuantizedLinear::from_float(layer.weight, {}, 8, 12); }),
            "[QuantizedLinear] 16 in_features do not divide into groups of 12");
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

TEST(Layers, ActivationsOfPyTorchAsRecorded) {
  const Tensor x = steps({2, 4, 3, 5});
  const auto check = [&](auto module, const std::vector<double>& first, double sum,
                         double weighted) {
    SCOPED_TRACE(module.describe());
    module.eval();
    recorded(filled(std::move(module))(x), {2, 4, 3, 5}, first, sum, weighted);
  };
  check(nn::ReLU6(), {0, 0, 0.5, 0}, 24.125, 1442.125);
  check(nn::Softsign(), {-0.4285714, -0.1111111, 0.3333333, -0.3333333}, -0.206349202, 3.60330851);
  check(nn::Tanhshrink(), {-0.1148511, -0.000647001, 0.03788283, -0.03788283}, -0.0776152238,
        -3.21857727);
  check(nn::Softmax2d(), {0.1171243, 0.1743714, 0.4025265, 0.1171243}, 30.0000009, 1794.23423);
  check(nn::CELU(0.5), {-0.3884349, -0.1105996, 0.5, -0.3160603}, 8.93442148, 547.710696);
  check(nn::Hardshrink(0.3), {-0.75, 0, 0.5, -0.5}, -0.25, -1.25);
  check(nn::Softshrink(0.3), {-0.45, 0, 0.2, -0.2}, -0.25, -7.25000024);
  check(nn::Softmin(), {0.4329197, 0.2874898, 0.1306812, 0.4329197}, 30.0000009, 1773.10727);
  check(nn::Hardtanh(-0.5, 0.25), {-0.5, -0.125, 0.25, -0.5}, -8.25, -468.75);
  check(nn::Threshold(0.1, 20), {20, 20, 0.5, 20}, 1324.125, 78502.125);
  check(nn::PReLU(4), {0.375, 0.0625, 0.5, 0.25}, 25.875, 1399.85);
  check(nn::RReLU(), {-0.171875, -0.02864583, 0.5, -0.1145833}, 18.5104166, 1111.83854);
  recorded(nn::GLU(1)(x), {2, 2, 3, 5}, {-0.398407, -0.08489734, 0.2189118, -0.2963333},
           -2.25106341, -58.8440598);
  const auto y = nn::RReLU(0.25, 0.5)(-ones({100})).to_vector<float>();
  EXPECT_TRUE(
      std::ranges::all_of(y, [](float value) { return value <= -0.25f && value >= -0.5f; }) &&
      y[0] != y[1]);
}

TEST(Layers, GradientsOfActivations) {
  // Away from the points where slopes jump.
  const Tensor x = steps({3, 7}, 5, DType::F64) + 0.03;
  nn::Sequential each(nn::CELU(0.5), nn::Hardshrink(0.01), nn::Softshrink(0.01), nn::Softsign(),
                      nn::Tanhshrink(), nn::Softmin());
  expect_gradients({x}, [&] { return each(x); });
  nn::Hardtanh hardtanh(-0.5, 0.25);
  expect_gradients({x}, [&] { return hardtanh(x); });
  nn::PReLU prelu(7);
  prelu.to(DType::F64);
  expect_gradients({x, prelu.weight}, [&] { return prelu(x); });
  Tensor edge = tensor({-1., 1., 0.}).requires_grad_();
  nn::Hardtanh()(edge).sum().backward();
  EXPECT_EQ(edge.grad().to_vector<double>(), (std::vector<double>{0, 0, 1}));  // as in PyTorch
}

TEST(Layers, TablesAndDistancesAsRecorded) {
  const Tensor x = steps({2, 4, 3, 5}), other = steps({2, 4, 3, 5}, 3);
  recorded(filled(nn::Bilinear(4, 3, 2))(steps({5, 4}), steps({5, 3}, 3)), {5, 2},
           {-0.93125, -0.3390625, -0.5953125, -0.4203125}, -3.91562492, -11.801562);
  recorded(nn::CosineSimilarity()(x, other), {2, 3, 5},
           {0.6821091, -0.5562578, -0.3183275, -0.5227084}, -2.71967071, -35.5034648);
  recorded(nn::PairwiseDistance(3, 1e-6, true)(x, other), {2, 4, 3, 1},
           {1.017906, 1.607555, 0.9383332, 1.44131}, 29.9251565, 340.702957);
  const Tensor rows = tensor({{1, 2, 6}, {0, 2, 2}}), row = tensor({1, 2, 6, 0, 5}),
               offsets = tensor({0, 3, 3});
  const auto bag = [](const char* mode) {
    return filled(nn::EmbeddingBag(7, 3, {.mode = mode, .padding_idx = 2}));
  };
  recorded(bag("sum")(rows), {2, 3}, {0.9, -0.7, -0.1, -0.5}, -0.500000075, -2.70000006);
  recorded(bag("mean")(rows), {2, 3}, {0.45, -0.35, -0.05, -0.5}, -0.550000038, -2.25000003);
  recorded(bag("max")(rows), {2, 3}, {0.5, -0.3, 0, -0.5}, -0.400000013, -2.10000002);
  recorded(bag("sum")(row, offsets), {3, 3}, {0.9, -0.7, -0.1, 0}, -0.800000049, -5.9999999);
  recorded(bag("mean")(row, offsets), {3, 3}, {0.45, -0.35, -0.05, 0}, -0.400000025, -2.99999995);
  recorded(bag("max")(row, offsets), {3, 3}, {0.5, -0.3, 0, 0}, -0.100000016, -1.80000003);
  recorded(filled(nn::EmbeddingBag(7, 3, {.mode = "sum", .include_last_offset = true}))(
               row, tensor({0, 3, 5}), steps({5})),
           {2, 3}, {-0.07500002, 0.08750001, 0.1125, 0.2}, 0.387499994, 1.13750002);
  nn::EmbeddingBag summed(7, 3, {.mode = "sum"});
  summed.to(DType::F64);
  const Tensor weights = steps({5}, 5, DType::F64);
  expect_gradients({summed.weight, weights}, [&] { return summed(row, offsets, weights); });
  nn::Bilinear bilinear(4, 3, 2);
  bilinear.to(DType::F64);
  expect_gradients(bilinear.parameters(), [&] {
    return bilinear(steps({5, 4}, 5, DType::F64), steps({5, 3}, 3, DType::F64));
  });
  EXPECT_EQ(error_of([&] { summed(row); }).substr(0, 42),
            "[embedding_bag] index has rank 1: must be ");
}

// The share of channels that are zero as a whole; a channel is never zeroed in part.
double zeroed(const Tensor& y) {
  const Tensor any = (y != 0).any({2, 3}), all = (y != 0).all({2, 3});
  EXPECT_TRUE((any == all).all().item<bool>());
  return 1 - any.to(DType::F32).mean().item<double>();
}

TEST(Layers, DropoutsOfChannels) {
  manual_seed(5);
  const Tensor x = ones({40, 50, 2, 2});
  nn::Dropout2d channels(0.25);
  EXPECT_NEAR(zeroed(channels(x)), 0.25, 0.04);
  EXPECT_NEAR(channels(x).max().item<double>(), 4.0 / 3, 1e-6);
  EXPECT_EQ(channels(x[0]).ndim(), 3);
  channels.eval();
  EXPECT_EQ(channels(x).get(), x.get());
  EXPECT_EQ(nn::Dropout2d(1)(x).max().item<double>(), 0);
  EXPECT_NE(error_of([&] { nn::Dropout1d()(x); }), "");
  const Tensor many = randn({200, 500});
  for (const Tensor& y : {nn::AlphaDropout(0.3)(many), nn::FeatureAlphaDropout(0.3)(many)}) {
    EXPECT_NEAR(y.mean().item<double>(), 0, 0.03);
    EXPECT_NEAR(y.std().item<double>(), 1, 0.03);
    EXPECT_GT((y - many).abs().min().item<double>(), 0);
  }
}

TEST(Init, MatricesAndKernels) {
  manual_seed(0);
  Tensor x = full({3, 4}, 7.0);
  EXPECT_TRUE((nn::init::eye_(x) == eye(3, 4)).all().item<bool>());
  Tensor kernel = full({4, 2, 3, 3}, 7.0);
  nn::init::dirac_(kernel, 2);
  const Tensor image = steps({1, 4, 5, 5});
  EXPECT_TRUE(
      allclose(nn::functional::conv2d(image, kernel, {}, {.padding = 1, .groups = 2}), image));
  for (const auto& shape : {std::vector<int64_t>{6, 2, 2}, {3, 8}, {5, 5}}) {
    Tensor w = zeros(shape);
    const Tensor rows = nn::init::orthogonal_(w, 2).flatten(1);
    const bool wide = rows.shape(0) < rows.shape(1);
    const Tensor square = wide ? rows.matmul(rows.t()) : rows.t().matmul(rows);
    EXPECT_LT((square - 4 * eye(square.shape(0), square.shape(0))).abs().max().item<double>(),
              1e-5);
  }
  Tensor some = zeros({10, 200});
  nn::init::sparse_(some, 0.25, 2);
  EXPECT_TRUE(((some == 0).to(DType::I64).sum(0) == 3).all().item<bool>());
  EXPECT_NEAR(some.square().mean().item<double>(), 4 * 0.7, 0.3);
  Tensor many = zeros({20000});
  nn::init::trunc_normal_(many, 1, 2, 0, 2);
  EXPECT_GE(many.min().item<double>(), 0);
  EXPECT_LE(many.max().item<double>(), 2);
  EXPECT_NEAR(many.mean().item<double>(), 1, 0.02);
  EXPECT_NEAR(many.var().item<double>(), 0.3206, 0.02);  // 4 (1 - 2·½φ(½) / (2Φ(½) - 1))
  EXPECT_EQ(error_of([&] { nn::init::eye_(kernel); }), "[eye_] tensor has rank 4, must be 2");
  EXPECT_EQ(error_of([&] { nn::init::dirac_(x); }), "[dirac_] tensor has rank 2, must be 3 to 5");
}

TEST(Utils, ParametersAsAVector) {
  nn::Linear layer(3, 2);
  const Tensor vector = nn::utils::parameters_to_vector(layer.parameters());
  EXPECT_EQ(vector.numel(), 8);
  nn::utils::vector_to_parameters(vector.detach() * 2 + 1, layer.parameters());
  EXPECT_TRUE(
      allclose(nn::utils::parameters_to_vector(layer.parameters()), vector.detach() * 2 + 1));
  EXPECT_EQ(error_of([&] { nn::utils::vector_to_parameters(ones({7}), layer.parameters()); }),
            "[vector_to_parameters] vector has shape (7,), must be one row of 8");
  EXPECT_EQ(error_of([&] { nn::utils::parameters_to_vector({}); }),
            "[parameters_to_vector] there are no parameters");
}

}  // namespace
}  // namespace tenon
