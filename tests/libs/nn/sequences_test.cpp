// Recurrent layers, attention and transformers, compared with values recorded from PyTorch.
#include "../scratch.hpp"
#include "recorded.hpp"

namespace tenon::nn {
namespace {

const auto in_eval = [](auto module) {
  module = filled(std::move(module));
  module.eval();
  return module;
};
// True above the diagonal.
Tensor later(int64_t size) { return triu(ones({size, size}), 1) > 0; }
// The padding mask of two sequences of length five.
Tensor padding() { return tensor({{0, 0, 1, 0, 0}, {0, 0, 0, 1, 1}}) > 0; }

TEST(Recurrent, LayersAsRecorded) {
  const Tensor x = steps({4, 2, 3});
  {
    auto [y, h] =
        filled(RNN(3, 4, {.num_layers = 2, .nonlinearity = "relu", .bidirectional = true}))(x);
    recorded(y, {4, 2, 8}, {0, 0, 0, 0.3632813}, 12.0933475, 392.154585);
    recorded(h, {4, 2, 4}, {0, 0.6375, 0, 0}, 4.43349132, 96.8342296);
  }
  {
    auto [y, h] = filled(RNN(3, 4))(x, steps({1, 2, 4}));
    recorded(y, {4, 2, 4}, {0.1853332, -0.421899, -0.2566324, -0.3363755}, -4.63867848,
             -63.6554225);
    recorded(h, {1, 2, 4}, {-0.8029248, 0.6126679, -0.2658777, 0.1942136}, -0.916963831,
             -2.26955526);
  }
  {
    auto [y, h] = filled(GRU(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true}))(
        steps({2, 4, 3}));
    recorded(y, {2, 4, 8}, {0.1044333, 0.1599247, 0.3368216, -0.1602798}, 5.60556026, 201.132335);
    recorded(h, {4, 2, 4}, {0.3600092, -0.1301012, 0.006468825, -0.561206}, -1.98268629,
             -19.3934162);
  }
  {
    auto [y, h] = filled(GRU(3, 4))(steps({5, 3}), steps({1, 4}));
    recorded(y, {5, 4}, {-0.5346779, 0.05523631, 0.3813013, -0.2800242}, -1.59864781, -20.3885468);
    recorded(h, {1, 4}, {0.09743206, -0.1942489, -0.02598684, -0.5563972}, -0.679200847,
             -1.91541415);
  }
}

TEST(Recurrent, LSTMAsRecorded) {
  const Tensor x = steps({4, 2, 3});
  {
    auto [y, state] = filled(LSTM(3, 4, {.num_layers = 2, .bidirectional = true}))(
        x, {steps({4, 2, 4}), steps({4, 2, 4}, 3)});
    recorded(y, {4, 2, 8}, {0.0540546, 0.4683329, 0.2279595, -0.2446805}, 3.91434783, 134.68784);
    recorded(std::get<0>(state), {4, 2, 4}, {-0.06265222, 0.07467943, -0.01882978, -0.2957197},
             -1.59622454, -17.520103);
    recorded(std::get<1>(state), {4, 2, 4}, {-0.1035413, 0.1442287, -0.04087057, -0.7134441},
             -4.04147274, -46.0134458);
  }
  {
    auto [y, state] = filled(LSTM(3, 4, {.bidirectional = true, .proj_size = 2}))(x);
    recorded(y, {4, 2, 4}, {-0.05207659, 0.008704936, 0.2924558, -0.04242016}, 0.547942671,
             5.18321508);
    recorded(std::get<0>(state), {2, 2, 2}, {-0.158111, -0.001844296, -0.1379111, 0.00941122},
             0.214510547, 2.18803563);
    recorded(std::get<1>(state), {2, 2, 4}, {-0.04195223, 0.06143985, 0.05295177, -0.8472193},
             -5.08615983, -52.1259365);
  }
  auto [y, state] = filled(LSTM(3, 4, {.bias = false}))(x);
  recorded(y, {4, 2, 4}, {-0.08061647, 0.05061275, 0.06257909, 0.1043954}, 0.172912011,
           -1.46500419);
  recorded(std::get<1>(state), {1, 2, 4}, {-0.08884422, -0.03708794, -0.09051223, -0.09127034},
           -0.125628144, 1.0309447);
}

TEST(Recurrent, CellsAsRecorded) {
  recorded(filled(RNNCell(3, 4, true, "relu"))(steps({2, 3}), steps({2, 4})), {2, 4},
           {0.1875, 0, 0, 0}, 0.450000018, 1.46250021);
  auto [h, c] = filled(LSTMCell(3, 4))(steps({2, 3}));
  recorded(h, {2, 4}, {-0.03636509, 0.07364282, 0.08608573, -0.1355411}, -0.0151953176,
           -0.384110413);
  recorded(c, {2, 4}, {-0.08095792, 0.1710401, 0.1922593, -0.2268667}, 0.148928963, 0.0779753774);
  recorded(filled(GRUCell(3, 4))(steps({3}), steps({4})), {4},
           {-0.5346779, 0.05523631, 0.3813013, -0.2800242}, -0.378164411, -0.0222336054);
}

TEST(Packed, LayersAsRecorded) {
  using namespace utils::rnn;
  const PackedSequence x =
      pack_padded_sequence(steps({5, 4, 3}), tensor({2, 5, 4, 2}), false, false);
  {
    auto [y, state] =
        filled(LSTM(3, 4, {.num_layers = 2, .bidirectional = true})).forward_with_packed_input(x);
    recorded(y.data, {13, 8}, {0.03995382, 0.1867139, 0.3524465, -0.1926094}, 3.94037559,
             213.685425);
    recorded(std::get<0>(state), {4, 4, 4}, {-0.06167587, 0.02679634, 0.04902284, -0.2093366},
             -3.06105628, -71.4783625);
    recorded(std::get<1>(state), {4, 4, 4}, {-0.09931311, 0.05754215, 0.1020161, -0.4943511},
             -7.1689465, -165.65823);
    auto [padded, lengths] = pad_packed_sequence(y, false, -1, 6);
    recorded(padded, {6, 4, 8}, {0.01606003, 0.1482597, 0.3155897, -0.2096678}, -84.0596244,
             -11886.5238);
    EXPECT_EQ(lengths.to_vector<int64_t>(), (std::vector<int64_t>{2, 5, 4, 2}));
    EXPECT_EQ(y.batch_sizes.to_vector<int64_t>(), (std::vector<int64_t>{4, 4, 2, 2, 1}));
  }
  {
    auto [y, h] =
        filled(GRU(3, 4, {.bidirectional = true})).forward_with_packed_input(x, steps({2, 4, 4}));
    recorded(y.data, {13, 8}, {0.01047961, 0.553788, 0.2296469, -0.1963775}, -13.4322309,
             -696.346584);
    recorded(h, {2, 4, 4}, {-0.3087318, -0.007301778, 0.1678275, -0.3279362}, -4.38076041,
             -87.3019477);
  }
  auto [y, state] = filled(LSTM(3, 4, {.proj_size = 2})).forward_with_packed_input(x);
  recorded(y.data, {13, 2}, {-0.0644713, 0.002309158, -0.1419892, 0.01341701}, -1.57133034,
           -20.6876251);
  recorded(std::get<1>(state), {1, 4, 4}, {-0.07913296, 0.001664877, 0.1176021, -0.5103482},
           -1.385056, -10.1955064);
}

TEST(Packed, ThereAndBack) {
  using namespace utils::rnn;
  const std::vector<Tensor> sequences{steps({2, 3}), steps({4, 3}, 3), steps({1, 3}, 7)};
  for (const bool batch_first : {false, true}) {
    auto [padded, lengths] = pad_packed_sequence(pack_sequence(sequences, false), batch_first);
    EXPECT_EQ(padded.contiguous().to_vector<float>(),
              pad_sequence(sequences, batch_first).contiguous().to_vector<float>());
    EXPECT_EQ(lengths.to_vector<int64_t>(), (std::vector<int64_t>{2, 4, 1}));
  }
  EXPECT_EQ(error_of([&] { pack_sequence(sequences); }),
            "[pack_padded_sequence] lengths must not rise: give enforce_sorted = false to have "
            "them sorted");
  EXPECT_EQ(error_of([&] {
              pack_padded_sequence(steps({5, 2, 3}), tensor({6, 1}));
            }),
            "[pack_padded_sequence] lengths are 1 to 6, must be 1 to 5");
  EXPECT_EQ(error_of([&] { pad_packed_sequence(pack_sequence(sequences, false), false, 0, 3); }),
            "[pad_packed_sequence] total_length 3 is below the longest sequence, 4");
}

TEST(Packed, Gradients) {
  const Tensor x = steps({5, 4, 3}, 5, DType::F64);
  const auto check = [&](auto module) {
    module = filled(std::move(module));
    module.to(DType::F64);
    std::vector<Tensor> leaves = module.parameters();
    leaves.push_back(x);
    expect_gradients(leaves, [&] {
      const auto packed = utils::rnn::pack_padded_sequence(x, tensor({2, 5, 4, 2}), false, false);
      return std::get<0>(module.forward_with_packed_input(packed)).data;
    });
  };
  check(LSTM(3, 2, {.bidirectional = true}));
  check(GRU(3, 2, {.bidirectional = true}));
}

TEST(Recurrent, Gradients) {
  const Tensor x = steps({3, 2, 3}, 5, DType::F64);
  const auto check = [&](auto module) {
    module = filled(std::move(module));
    module.to(DType::F64);
    std::vector<Tensor> leaves = module.parameters();
    leaves.push_back(x);
    expect_gradients(leaves, [&] { return std::get<0>(module(x)); });
  };
  check(RNN(3, 2, {.bidirectional = true}));
  check(GRU(3, 2));
  check(LSTM(3, 2, {.num_layers = 2}));
  check(LSTM(3, 2, {.proj_size = 1}));
}

TEST(Recurrent, DropoutLiesBetweenLayers) {
  LSTM one(3, 4, {.dropout = 0.5}), two(3, 4, {.num_layers = 2, .dropout = 0.5});
  const Tensor x = steps({4, 2, 3});
  const auto y = [&](LSTM& lstm) { return std::get<0>(lstm(x)).detach().to_vector<float>(); };
  EXPECT_EQ(y(one), y(one));
  EXPECT_NE(y(two), y(two));
  two.eval();
  EXPECT_EQ(y(two), y(two));
}

TEST(Recurrent, ClonesAndMoves) {
  LSTM lstm(3, 4, {.num_layers = 2});
  LSTM copy = clone(lstm);
  const Tensor x = steps({4, 2, 3});
  EXPECT_NE(copy.weights[1].weight_hh->get(), lstm.weights[1].weight_hh->get());
  EXPECT_EQ(std::get<0>(copy(x)).detach().to_vector<float>(),
            std::get<0>(lstm(x)).detach().to_vector<float>());
  copy.to(DType::F64);
  EXPECT_EQ(std::get<0>(copy(x.to(DType::F64))).dtype(), DType::F64);
  GRUCell cell = clone(GRUCell(3, 4));
  EXPECT_EQ(cell.weight_ih->get(), cell.parameters()[0].get());
}

TEST(Recurrent, Mistakes) {
  LSTM lstm(3, 4);
  const Tensor x = steps({4, 2, 3});
  EXPECT_EQ(error_of([&] { lstm(steps({4})); }), "[LSTM] input has rank 1, must be 2 or 3");
  EXPECT_EQ(error_of([&] {
              lstm(steps({4, 2, 5}));
            }),
            "[LSTM] the last dimension of input is 5, must be input_size 3");
  EXPECT_EQ(error_of([&] {
              lstm(steps({4, 2, 3}, 5, DType::F64));
            }),
            "[LSTM] input is f64, the weights are f32: cast one of them with to()");
  EXPECT_EQ(error_of([&] {
              lstm(x, {zeros({2, 4}), zeros({1, 2, 4})});
            }),
            "[LSTM] a state is f32 (2, 4), must be f32 (1, 2, 4)");
  EXPECT_EQ(error_of([&] { lstm(zeros({0, 2, 3})); }), "[LSTM] the sequence has no steps");
  EXPECT_EQ(error_of([&] {
              GRUCell(3, 4)(steps({2, 4}));
            }),
            "[GRUCell] the last dimension of input is 4, must be input_size 3");
}

TEST(Attention, AsRecorded) {
  const Tensor q = steps({3, 2, 4}), k = steps({5, 2, 4}, 3), v = steps({5, 2, 4}, 7);
  MultiheadAttention attention = filled(MultiheadAttention(4, 2));
  {
    auto [y, weights] = attention(q, k, v);
    recorded(y, {3, 2, 4}, {-0.5647328, 0.5634003, 0.04965559, -0.1222257}, -1.00220215,
             -9.87453651);
    recorded(weights, {2, 3, 5}, {0.1713065, 0.1858305, 0.2359783, 0.2365172}, 5.99999996,
             86.9156454);
  }
  {
    auto [y, weights] = attention(
        q, k, v,
        {.key_padding_mask = padding(), .attn_mask = steps({3, 5}), .average_attn_weights = false});
    recorded(y, {3, 2, 4}, {-0.5529032, 0.4896643, 0.004111201, -0.1149362}, -1.21330136,
             -12.8143686);
    recorded(weights, {2, 2, 3, 5}, {0.1553429, 0.3040034, 0, 0.2088229}, 12.0000001, 346.486689);
  }
  for (const bool is_causal : {false, true}) {
    auto [y, weights] =
        attention(q, q, q, {.need_weights = false, .attn_mask = later(3), .is_causal = is_causal});
    recorded(y, {3, 2, 4}, {-0.7125, 0.28375, -0.02625, -0.17125}, -1.73824066, -10.8217941);
    EXPECT_FALSE(weights.defined());
  }
  {
    auto [y, weights] = filled(MultiheadAttention(
        4, 2,
        {.add_bias_kv = true, .add_zero_attn = true, .kdim = 3, .vdim = 6, .batch_first = true}))(
        steps({2, 3, 4}), steps({2, 5, 3}), steps({2, 5, 6}), {.key_padding_mask = padding()});
    recorded(y, {2, 3, 4}, {-0.3311594, 0.1769963, 0.6098456, 0.4491946}, 5.48703852, 71.0431428);
    recorded(weights, {2, 3, 7}, {0.1696833, 0.1663845, 0, 0.1824326}, 6.00000007, 122.738373);
  }
  auto [y, weights] = filled(MultiheadAttention(4, 2, {.bias = false}))(
      steps({3, 4}), steps({5, 4}), steps({5, 4}));
  recorded(y, {3, 4}, {0.01073651, -0.0152787, -0.1437898, 0.02242196}, -0.402039491, -2.28889513);
  recorded(weights, {3, 5}, {0.1883244, 0.2541513, 0.1900368, 0.175707}, 2.99999996, 20.8804212);
}

TEST(Attention, WithoutWeightsIsTheSame) {
  const Tensor q = steps({3, 2, 4}), k = steps({5, 2, 4}, 3);
  MultiheadAttention attention = filled(MultiheadAttention(4, 2, {.add_zero_attn = true}));
  const Tensor with = std::get<0>(attention(q, k, k, {.key_padding_mask = padding()}));
  const Tensor without =
      std::get<0>(attention(q, k, k, {.key_padding_mask = padding(), .need_weights = false}));
  EXPECT_LT((with - without).abs().max().item<double>(), 1e-6);
}

TEST(Attention, Mistakes) {
  MultiheadAttention attention(4, 2);
  const Tensor q = steps({3, 2, 4}), k = steps({5, 2, 4});
  EXPECT_EQ(
      error_of([&] {
        attention(q, steps({4, 4}), q);
      }),
      "[MultiheadAttention] query, key and value have ranks 3, 2 and 3, must be all 3 or all 2");
  EXPECT_EQ(error_of([&] { attention(q, k, q); }),
            "[MultiheadAttention] key and value have shapes (5, 2, 4) and (3, 2, 4): lengths and "
            "batches must agree");
  EXPECT_EQ(error_of([&] { attention(q, k, k, {.attn_mask = later(5)}); }),
            "[MultiheadAttention] attn_mask has shape (5, 5), must be (3, 5) or (4, 3, 5)");
  EXPECT_EQ(error_of([&] { attention(q, k, k, {.key_padding_mask = later(5)}); }),
            "[MultiheadAttention] key_padding_mask has shape (5, 5), must be (2, 5)");
  EXPECT_EQ(error_of([&] {
              attention(q, k, k, {.key_padding_mask = zeros({2, 5}, DType::I64)});
            }),
            "[MultiheadAttention] key_padding_mask must be bool or floating, not i64");
  EXPECT_EQ(error_of([&] { attention(q, q, q, {.is_causal = true}); }),
            "[MultiheadAttention] is_causal tells how attn_mask is: give that, too");
}

TEST(Transformer, AsRecorded) {
  const Tensor x = steps({5, 2, 4}), target = steps({3, 2, 4});
  recorded(in_eval(TransformerEncoderLayer(4, 2, {.dim_feedforward = 3}))(x), {5, 2, 4},
           {-0.4000251, -0.02330288, 0.1890308, 0.5679248}, 0.379456203, 19.1370821);
  recorded(
      in_eval(TransformerEncoderLayer(
          4, 2,
          {.dim_feedforward = 3, .activation = "gelu", .batch_first = true, .norm_first = true}))(
          steps({2, 5, 4}), {.src_key_padding_mask = padding()}),
      {2, 5, 4}, {-1.837188, 0.9544776, 0.8995587, -0.2211709}, 3.95960669, 73.445826);
  recorded(in_eval(TransformerDecoderLayer(4, 2, {.dim_feedforward = 3}))(
               target, x, {.tgt_mask = later(3), .memory_key_padding_mask = padding()}),
           {3, 2, 4}, {-0.2418875, 0.4006156, 0.2, -0.4796858}, -0.591859996, -8.63602403);
  recorded(in_eval(Transformer({.d_model = 4,
                                .nhead = 2,
                                .num_encoder_layers = 2,
                                .num_decoder_layers = 2,
                                .dim_feedforward = 3}))(x, steps({3, 2, 4}, 3),
                                                        {.tgt_mask = later(3),
                                                         .src_key_padding_mask = padding(),
                                                         .memory_key_padding_mask = padding(),
                                                         .tgt_is_causal = true}),
           {3, 2, 4}, {-0.2264538, 0.1416386, -0.2696042, -0.8936523}, -7.48814896, -93.7265148);
}

// Without a hook, the norm is fused with the sum before it.
TEST(Transformer, AHookSeesTheNormOfASum) {
  for (const bool norm_first : {false, true}) {
    TransformerEncoderLayer layer =
        in_eval(TransformerEncoderLayer(4, 2, {.dim_feedforward = 3, .norm_first = norm_first}));
    const Tensor x = steps({5, 2, 4}), expected = layer(x);
    std::vector<Tensor> seen;
    layer.norm2.register_forward_hook([&](AnyModule&, std::span<const Tensor> inputs,
                                          std::span<Tensor>) { seen.push_back(inputs[0]); });
    EXPECT_LT((layer(x) - expected).abs().max().item<float>(), 1e-6);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_TRUE(std::ranges::equal(seen[0].shape(), x.shape()));
  }
}

TEST(Transformer, Parts) {
  TransformerEncoder encoder(
      TransformerEncoderLayer(
          4, 2, {.dim_feedforward = 3, .activation = [](const Tensor& x) { return x.tanh(); }}),
      2, RMSNorm(4));
  EXPECT_NE(encoder.layers[0].linear1.weight->get(), encoder.layers[1].linear1.weight->get());
  EXPECT_EQ(encoder.named_parameters().back().first, "norm.weight");
  Sequential net(std::move(encoder), Linear(4, 1));  // one tensor is enough
  EXPECT_EQ(net(steps({5, 2, 4})).shape(2), 1);
  TransformerDecoder decoder(TransformerDecoderLayer(4, 2), 0);
  EXPECT_EQ(decoder.parameter_count(), 0);
  EXPECT_EQ(Transformer::generate_square_subsequent_mask(2).to_vector<float>(),
            (std::vector<float>{0, -INFINITY, 0, 0}));
  EXPECT_EQ(error_of([] {
              Transformer({.d_model = 4, .nhead = 2})(steps({5, 2, 4}), steps({5, 3, 4}));
            }),
            "[Transformer] batches of 2 and 3, must be equal");
}

}  // namespace
}  // namespace tenon::nn
