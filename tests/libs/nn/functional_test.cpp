// The functions of networks: PyTorch's names, and values recorded from PyTorch's functions of the same names in float32.
#include "../scratch.hpp"
#include "recorded.hpp"

namespace tenon {
namespace {

namespace F = nn::functional;

Tensor ints(const std::vector<int64_t>& values) { return tensor(values); }

TEST(Functional, ConvolutionsAsRecorded) {
  const Tensor x = steps({2, 4, 9}), w = steps({6, 2, 3}, 3), bias = steps({6}, 2);
  const F::ConvFuncOptions options = {.stride = 2, .padding = 1, .groups = 2};
  recorded(F::conv1d(x, w, bias, options), {2, 6, 5}, {-0.78125, -1.015625, -0.828125}, -8.3125,
           -46.203125);
  recorded(F::conv1d(x[0], w, bias, options), {6, 5}, {-0.78125, -1.015625, -0.828125}, -3.34375,
           68.78125);
  recorded(F::conv_transpose2d(steps({2, 4, 5, 6}), steps({4, 3, 3, 2}, 3), {},
                               {.stride = 2, .output_padding = 1, .dilation = 2}),
           {2, 3, 14, 14}, {0.65625, 0, 0}, 0.890625, 952.6875);
  recorded(F::conv3d(steps({2, 3, 4, 5, 4}), steps({2, 3, 2, 2, 2}, 7), {}, {.padding = {1, 0, 1}}),
           {2, 2, 5, 4, 5}, {-0.390625, 0.25, 0.546875}, 1.0625, -23.75);
}

TEST(Functional, PoolsAsRecorded) {
  const Tensor x = steps({2, 4, 9}), image = steps({2, 4, 5, 6}), volume = steps({2, 3, 4, 5, 4});
  recorded(F::max_pool2d(image, 3, {.stride = 2, .padding = 1}), {2, 4, 3, 3}, {0.375, 0.5, 0.75},
           45, 1601.625);
  const auto [values, indices] = F::max_pool2d_with_indices(image[0], 2);
  recorded(indices.to(DType::F32), {4, 2, 3}, {7, 2, 5}, 279, 3518);
  recorded(F::max_unpool2d(values, indices, 2, {.output_size = {5, 6}}), {4, 5, 6}, {0, 0, 0.5}, 14,
           798.625);
  recorded(F::avg_pool1d(x, 3, {.stride = 2, .padding = 1, .count_include_pad = false}), {2, 4, 5},
           {-0.4375, -0.0416666679, 0.125}, 0.0416666679, 7.31250013);
  recorded(F::avg_pool3d(volume, 2, {.ceil_mode = true}), {2, 3, 2, 3, 2},
           {-0.046875, -0.015625, -0.125}, -0.203125, -8.640625);
  recorded(F::adaptive_avg_pool2d(image, {2, 4}), {2, 4, 2, 4},
           {-0.208333328, -0.125, 0.0416666679}, 0, 19.5208333);
  recorded(F::adaptive_max_pool1d(x[0], 4), {4, 4}, {0.5, 0.5, 0.75}, 8.375, 63.625);
  recorded(F::lp_pool1d(x.abs(), 2, 3, {.stride = 2}), {2, 4, 4},
           {0.910013735, 0.718070328, 0.800390542}, 25.7714451, 400.383095);
  const Tensor samples = full({2, 4, 2}, 0.3);
  recorded(F::fractional_max_pool2d(image, 2,
                                    {.output_size = nn::Sizes{3, 4}, ._random_samples = samples}),
           {2, 4, 3, 4}, {0.375, 0.5, 0.625}, 55.75, 2664.625);
}

TEST(Functional, PlacesAsRecorded) {
  const Tensor image = steps({2, 4, 5, 6});
  recorded(F::pad(image, {1, -2, 0, 3}, "constant", 0.5), {2, 4, 8, 5}, {0.5, -0.75, -0.125},
           79.125, 13365.375);
  recorded(F::pad(image, {2, 1, 1, 0}, "reflect"), {2, 4, 6, 9}, {-0.625, 0.375, -0.25}, 2.625,
           692.625);
  recorded(
      F::interpolate(
          image, {.scale_factor = nn::Factors{2, 0.5}, .mode = "bilinear", .align_corners = true}),
      {2, 4, 10, 3}, {-0.75, 0, 0.75}, 0, -49.9235939);
  recorded(F::grid_sample(image, F::affine_grid(steps({2, 2, 3}), {2, 4, 3, 3})), {2, 4, 3, 3},
           {-0.0625, 0.21875003, -0.255208105}, 0.115235217, -7.85091867);
  const nn::UnfoldOptions windows = {.padding = 1, .stride = 2};
  recorded(F::fold(F::unfold(image, {2, 3}, windows), {5, 6}, {2, 3}, windows), {2, 4, 5, 6},
           {-0.75, -0.25, 0.5}, -0.625, 89.75);
  recorded(F::pixel_shuffle(image, 2), {2, 1, 10, 12}, {-0.75, 0.125, -0.125}, 0, 112.875);
}

TEST(Functional, NormsAsRecorded) {
  const Tensor x = steps({2, 4, 9}), image = steps({2, 4, 5, 6}), weight = steps({4}, 3),
               bias = steps({4}, 2);
  Tensor mean = zeros({4}), variance = ones({4});
  recorded(F::batch_norm(
               image, mean, variance,
               {.weight = weight, .bias = bias, .training = true, .momentum = 0.3, .eps = 1e-3}),
           {2, 4, 5, 6}, {0.420678616, -0.571421921, -1.56352246}, -90.0000021, -8530.59474);
  recorded(mean, {4}, {-0.00375000015, 0.00687500043, -0.00687500043}, 0, 0.00437500002);
  recorded(variance, {4}, {0.767801881, 0.766338706, 0.766338706}, 3.06828117, 4.60242176);
  recorded(F::batch_norm(image, mean, variance), {2, 4, 5, 6},
           {-0.851641715, -0.138373941, 0.574893832}, 0, 95.1983786);
  recorded(mean, {4}, {-0.00375000015, 0.00687500043, -0.00687500043}, 0, 0.00437500002);
  mean = zeros({4}), variance = ones({4});
  recorded(F::instance_norm(x, {.running_mean = mean,
                                .running_var = variance,
                                .weight = weight,
                                .bias = bias,
                                .momentum = 0.3}),
           {2, 4, 9}, {0.298135579, -0.645186424, -1.58850849}, -26.9999995, -757.230941);
  recorded(mean, {4}, {0, -0.0187500007, 0.0166666675}, -0.00416666688, 0.0083333333);
  recorded(variance, {4}, {0.783333302, 0.763020813, 0.779947877}, 3.09355456, 4.62467426);
  recorded(F::layer_norm(x, {4, 9}), {2, 4, 9}, {-1.56831396, -0.236726642, 1.09486067}, 0,
           11.9809307);
  recorded(F::group_norm(x, 2), {2, 4, 9}, {-1.52049124, -0.178881332, 1.16272843}, 0, -26.2351725);
  recorded(F::rms_norm(x, {9}), {2, 4, 9}, {-1.49999964, -0.24999994, 0.999999762}, -0.698084384,
           11.2585965);
  recorded(F::local_response_norm(image, 3, 0.5, 0.6, 2), {2, 4, 5, 6},
           {-0.481041402, -0.0801735669, 0.324827671}, 0, 56.427709);
  recorded(F::normalize(x), {2, 4, 9}, {-0.702246904, -0.147441953, 0.565685451}, -0.285269439,
           6.8047408);
  recorded(F::normalize(x, 1, -1), {2, 4, 9}, {-0.1875, -0.03125, 0.125}, -0.096040871, 1.00089007);
}

TEST(Functional, VectorsAndTablesAsRecorded) {
  const Tensor table = steps({5, 3}), index = ints({0, 3, 1, 1, 2, 4});
  recorded(F::pdist(table), {10}, {0.433012694, 1.32876825, 1.375}, 11.8483987, 55.5260787);
  recorded(F::pdist(table, 1), {10}, {0.75, 2.125, 2.375}, 18.75, 85.875);
  recorded(F::embedding(index.reshape({2, 3}), table), {2, 3, 3}, {-0.75, -0.125, 0.5}, -0.5,
           -6.875);
  recorded(F::embedding_bag(
               index, table,
               {.offsets = ints({0, 2, 2, 6}), .include_last_offset = true, .padding_idx = 1}),
           {3, 3}, {-0.375, 0.25, 0.0625}, -0.625, -3.9375);
  recorded(F::embedding_bag(index.reshape({3, 2}), table,
                            {.mode = "sum", .per_sample_weights = steps({3, 2}, 3)}),
           {3, 3}, {0.5625, -0.140625, -0.234375}, 0.265625, -0.109375);
  recorded(F::embedding_bag(index, table, {.offsets = ints({0, 4}), .mode = "max"}), {2, 3},
           {0, 0.625, 0.75}, 1.875, 3.75);
  recorded(F::one_hot(index).to(DType::F32), {6, 5}, {1, 0, 0}, 6, 86);
  recorded(F::bilinear(steps({4, 3}), steps({4, 2}, 3), steps({5, 3, 2}, 7), steps({5}, 2)), {4, 5},
           {-1.06640625, -0.658203125, -0.478515625}, -4.86523438, -34.6132812);
}

TEST(Functional, LossesAsRecorded) {
  const Tensor x = steps({5, 3}), other = steps({5, 3}, 3), labels = ints({0, 2, 1, 1, 2});
  const Tensor weight = tensor({1.f, 2.f, 3.f});
  recorded(F::cross_entropy(
               x, labels,
               {.weight = weight, .ignore_index = 2, .reduction = "none", .label_smoothing = 0.1}),
           {5}, {1.86812043, 0, 1.40784454}, 4.68380952, 7.03922272);
  recorded(F::nll_loss(x, labels, {.ignore_index = 0, .reduction = "sum"}), {}, {-1.625}, -1.625,
           0);
  recorded(
      F::binary_cross_entropy_with_logits(x, (other > 0).to(DType::F32),
                                          {.weight = steps({5, 3}, 2).abs(), .pos_weight = weight}),
      {}, {0.413409203}, 0.413409203, 0);
  recorded(F::kl_div(x, other, "batchmean", true), {}, {0.648463249}, 0.648463249, 0);
  recorded(F::ctc_loss(steps({6, 2, 4}).log_softmax(2), tensor({{1, 2}, {3, 0}}), ints({6, 5}),
                       ints({2, 1}), 0, "none"),
           {2}, {5.24820709, 3.07281065}, 8.32101774, 3.07281065);
}

TEST(Functional, AttentionAsRecorded) {
  const Tensor q = steps({2, 4, 5, 6}), k = steps({2, 2, 7, 6}, 3), v = steps({2, 2, 7, 3}, 7);
  recorded(F::scaled_dot_product_attention(q, k, v,
                                           {.attn_mask = steps({5, 7}, 3) > -0.5, .scale = 0.7}),
           {2, 4, 5, 3}, {0.193942651, -0.275830865, 0.318942636}, -1.2146646, 3.04710405);
  recorded(F::scaled_dot_product_attention(q, q, q, {.is_causal = true}), {2, 4, 5, 6},
           {-0.75, -0.125, 0.5}, -1.41341203, -77.9728696);
}

TEST(Functional, ModulesGiveTheSame) {
  const Tensor x = steps({6, 5}), y = steps({6, 5}, 3), z = steps({6, 5}, 7);
  const Tensor sign = where(y > 0, 1.0, -1.0).to(DType::F32), labels = ints({0, 4, 2, 1, 3, 3});
  const std::pair<Tensor, Tensor> pairs[] = {
      {F::soft_margin_loss(x, sign), nn::SoftMarginLoss()(x, sign)},
      {F::hinge_embedding_loss(x, sign, 0.5), nn::HingeEmbeddingLoss(0.5)(x, sign)},
      {F::margin_ranking_loss(x, y, sign, 0.2), nn::MarginRankingLoss(0.2)(x, y, sign)},
      {F::triplet_margin_loss(x, y, z, {.p = 1}), nn::TripletMarginLoss({.p = 1})(x, y, z)},
      {F::triplet_margin_with_distance_loss(x, y, z), nn::TripletMarginWithDistanceLoss()(x, y, z)},
      {F::multi_margin_loss(x, labels, {.p = 2}), nn::MultiMarginLoss({.p = 2})(x, labels)},
      {F::poisson_nll_loss(x, z), nn::PoissonNLLLoss()(x, z)},
      {F::gaussian_nll_loss(x, y, z.abs()), nn::GaussianNLLLoss()(x, y, z.abs())},
  };
  for (const auto& [function, module] : pairs)
    EXPECT_EQ(function.item<float>(), module.item<float>());
  nn::EmbeddingBag bag(5, 3, {.mode = "sum", .padding_idx = 2});
  const Tensor once =
      F::embedding_bag(labels.reshape({2, 3}), bag.weight, {.mode = "sum", .padding_idx = 2});
  EXPECT_TRUE(allclose(bag(labels.reshape({2, 3})), once));
  bag(labels.reshape({2, 3})).sum().backward();
  EXPECT_EQ(bag.weight->grad()[2].abs().sum().item<float>(), 0);
  EXPECT_EQ(bag.weight->grad()[3].sum().item<float>(), 6);
}

TEST(Functional, RandomOnesKeepTheirPromises) {
  manual_seed(0);
  const Tensor x = ones({4, 8, 50, 50}), logits = steps({1000, 4});
  for (const Tensor& y : {F::dropout(x, 0.25), F::dropout2d(x, 0.25), F::dropout3d(x, 0.25)})
    EXPECT_TRUE(((y == 0) | ((y - 4.0 / 3).abs() < 1e-6)).all().item<bool>());
  EXPECT_EQ(F::dropout(x, 0.25, false).get(), x.get());
  const Tensor channels = F::dropout2d(x, 0.5).flatten(2);
  EXPECT_TRUE((channels.max(2) == channels.min(2)).all().item<bool>());
  const Tensor hard = F::gumbel_softmax(logits, 0.5, true);
  EXPECT_TRUE(((hard == 0) | ((hard - 1).abs() < 1e-6)).all().item<bool>());
  EXPECT_TRUE(allclose(hard.sum(-1), ones({1000})));
  // Hard samples are draws of the categorical distribution of the logits.
  const Tensor row = tensor({1.f, 2.f, 0.f});
  const Tensor share = F::gumbel_softmax(row.expand({20000, 3}), 1, true).mean(0);
  EXPECT_LT((share - row.softmax(0)).abs().max().item<double>(), 0.02);
}

TEST(Functional, RefuseByName) {
  const Tensor image = steps({2, 4, 5, 6});
  EXPECT_EQ(error_of([&] {
              F::conv2d(image[0][0], steps({2, 4, 3, 3}));
            }),
            "[conv2d] input has rank 2, must be 3 or 4");
  EXPECT_EQ(error_of([&] { F::max_pool1d(image, 2); }),
            "[max_pool1d] input has rank 4, must be 2 or 3");
  EXPECT_EQ(error_of([&] { F::unfold(image, 2, {.stride = 0}); }),
            "[unfold] stride is 0, must be at least 1");
  EXPECT_EQ(error_of([&] {
              F::fold(steps({2, 4, 1}), 0, 2);
            }),
            "[fold] output_size is 0, must be at least 1");
  EXPECT_EQ(error_of([&] { F::soft_margin_loss(image, image, "some"); }),
            "[soft_margin_loss] reduction is \"some\", must be \"mean\", \"sum\" or \"none\"");
  EXPECT_EQ(error_of([&] { F::dropout(image, 2); }), "[dropout] p is 2.0, must be 0 to 1");
  EXPECT_EQ(error_of([&] { F::pad(image, {1}); }),
            "[pad] padding (1,) must have two sizes for each dimension");
  EXPECT_EQ(error_of([&] { F::one_hot(zeros({0}, DType::I64)); }),
            "[one_hot] without labels num_classes must be given");
  EXPECT_NE(error_of([&] { F::max_unpool2d(image, zeros({2, 4, 5, 6}, DType::I64), 0); }), "");
  EXPECT_NE(error_of([&] { F::lp_pool2d(image, 2, 0); }), "");
}

// The functions of LibTorch's torch::nn::functional, all but multi_head_attention_forward, which is MultiheadAttention's forward.
// tests/python/torch/test_names.py compares this list with LibTorch's headers.
namespace names {
using nn::functional::adaptive_avg_pool1d;
using nn::functional::adaptive_avg_pool2d;
using nn::functional::adaptive_avg_pool3d;
using nn::functional::adaptive_max_pool1d;
using nn::functional::adaptive_max_pool1d_with_indices;
using nn::functional::adaptive_max_pool2d;
using nn::functional::adaptive_max_pool2d_with_indices;
using nn::functional::adaptive_max_pool3d;
using nn::functional::adaptive_max_pool3d_with_indices;
using nn::functional::affine_grid;
using nn::functional::alpha_dropout;
using nn::functional::avg_pool1d;
using nn::functional::avg_pool2d;
using nn::functional::avg_pool3d;
using nn::functional::batch_norm;
using nn::functional::bilinear;
using nn::functional::binary_cross_entropy;
using nn::functional::binary_cross_entropy_with_logits;
using nn::functional::celu;
using nn::functional::channel_shuffle;
using nn::functional::conv1d;
using nn::functional::conv2d;
using nn::functional::conv3d;
using nn::functional::conv_transpose1d;
using nn::functional::conv_transpose2d;
using nn::functional::conv_transpose3d;
using nn::functional::cosine_embedding_loss;
using nn::functional::cosine_similarity;
using nn::functional::cross_entropy;
using nn::functional::ctc_loss;
using nn::functional::dropout;
using nn::functional::dropout1d;
using nn::functional::dropout2d;
using nn::functional::dropout3d;
using nn::functional::elu;
using nn::functional::embedding;
using nn::functional::embedding_bag;
using nn::functional::feature_alpha_dropout;
using nn::functional::fold;
using nn::functional::fractional_max_pool2d;
using nn::functional::fractional_max_pool2d_with_indices;
using nn::functional::fractional_max_pool3d;
using nn::functional::fractional_max_pool3d_with_indices;
using nn::functional::gaussian_nll_loss;
using nn::functional::gelu;
using nn::functional::glu;
using nn::functional::grid_sample;
using nn::functional::group_norm;
using nn::functional::gumbel_softmax;
using nn::functional::hardshrink;
using nn::functional::hardsigmoid;
using nn::functional::hardswish;
using nn::functional::hardtanh;
using nn::functional::hinge_embedding_loss;
using nn::functional::huber_loss;
using nn::functional::instance_norm;
using nn::functional::interpolate;
using nn::functional::kl_div;
using nn::functional::l1_loss;
using nn::functional::layer_norm;
using nn::functional::leaky_relu;
using nn::functional::linear;
using nn::functional::local_response_norm;
using nn::functional::log_softmax;
using nn::functional::logsigmoid;
using nn::functional::lp_pool1d;
using nn::functional::lp_pool2d;
using nn::functional::lp_pool3d;
using nn::functional::margin_ranking_loss;
using nn::functional::max_pool1d;
using nn::functional::max_pool1d_with_indices;
using nn::functional::max_pool2d;
using nn::functional::max_pool2d_with_indices;
using nn::functional::max_pool3d;
using nn::functional::max_pool3d_with_indices;
using nn::functional::max_unpool1d;
using nn::functional::max_unpool2d;
using nn::functional::max_unpool3d;
using nn::functional::mish;
using nn::functional::mse_loss;
using nn::functional::multi_margin_loss;
using nn::functional::multilabel_margin_loss;
using nn::functional::multilabel_soft_margin_loss;
using nn::functional::nll_loss;
using nn::functional::normalize;
using nn::functional::one_hot;
using nn::functional::pad;
using nn::functional::pairwise_distance;
using nn::functional::pdist;
using nn::functional::pixel_shuffle;
using nn::functional::pixel_unshuffle;
using nn::functional::poisson_nll_loss;
using nn::functional::prelu;
using nn::functional::relu;
using nn::functional::relu6;
using nn::functional::rms_norm;
using nn::functional::rrelu;
using nn::functional::scaled_dot_product_attention;
using nn::functional::selu;
using nn::functional::sigmoid;
using nn::functional::silu;
using nn::functional::smooth_l1_loss;
using nn::functional::soft_margin_loss;
using nn::functional::softmax;
using nn::functional::softmin;
using nn::functional::softplus;
using nn::functional::softshrink;
using nn::functional::softsign;
using nn::functional::tanh;
using nn::functional::tanhshrink;
using nn::functional::threshold;
using nn::functional::triplet_margin_loss;
using nn::functional::triplet_margin_with_distance_loss;
using nn::functional::unfold;
}  // namespace names

}  // namespace
}  // namespace tenon
