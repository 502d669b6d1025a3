// examples/plugins/parts.c: ops whose results are lists, and storage that is released and restored, on each device.
#include "parts.h"

#include <gtest/gtest.h>

#include <sstream>

#include "gradcheck.hpp"
#include "observed.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using tenon::test::error_of;
using Values = std::vector<double>;
using Dims = std::vector<int64_t>;

Dims shape_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }
Values values(const Tensor& x) { return x.to(Device("cpu")).to(DType::F64).to_vector<double>(); }

struct Parts : ::testing::TestWithParam<std::string> {
  static void SetUpTestSuite() { load_plugin(PARTS_PLUGIN); }
  Device device{GetParam()};
  Tensor numbers(const Dims& shape, DType dtype = DType::F64) const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return (arange(0, count, 1, DType::F64) + 1).reshape(shape).to(dtype).to(device);
  }
};

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  std::istringstream all(DEVICES);
  for (std::string name; std::getline(all, name, ',');) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Devices, Parts, ::testing::ValuesIn(device_names()),
                         [](const auto& one) { return one.param.substr(0, one.param.find(':')); });

// ---- Lists of results

TEST_P(Parts, TheArgumentsDecideHowManyThereAre) {
  const Op op("acme.parts");
  const Tensor x = numbers({5, 2}, DType::F32);
  const std::vector<Tensor> parts = op.all(x, 2);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(shape_of(parts[1]), (Dims{2, 2}));
  EXPECT_EQ(values(parts[1]), (Values{5, 6, 7, 8}));
  EXPECT_EQ(values(parts[2]), (Values{9, 10}));
  EXPECT_EQ(op.all(x, 1).size(), 5u);
  EXPECT_EQ(op.all(numbers({40, 1}), 1).size(), 40u);  // more than fit into a call
  EXPECT_TRUE(op.all(numbers({0, 2}), 1).empty());
  EXPECT_EQ(values(op.all(numbers({2, 3}).t(), 2)[1]), (Values{3, 6}));
}

TEST_P(Parts, AnotherNumberOfResultsIsRefused) {
  const Tensor x = numbers({4});
  EXPECT_EQ(error_of([&] { Op("acme.parts").many(3, x, 2); }),
            "[acme.parts] 3 results asked for, the call has 2");
  EXPECT_EQ(error_of([&] { Op("acme.parts").all(x, 0); }),
            "[acme.parts] x has a dimension, and size is at least 1");
}

TEST_P(Parts, GradientsOfAllOrSomeEntriesArrive) {
  const auto parts = [](const std::vector<Tensor>& in) { return Op("acme.parts").all(in[0], 2); };
  EXPECT_EQ(testing::gradcheck(parts, {numbers({5, 2})}), "");
  EXPECT_EQ(testing::gradgradcheck(
                [&](const std::vector<Tensor>& in) {
                  const std::vector<Tensor> cut = parts(in);
                  return std::vector<Tensor>{cut[0] * cut[1], cut[2] * cut[2]};
                },
                {numbers({5, 2}) / 10}),
            "");
  Tensor x = numbers({5});
  x.requires_grad_();
  Op("acme.parts").all(x, 2)[1].sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{0, 0, 1, 1, 0}));
}

TEST_P(Parts, EntriesOfAListHaveTheirOwnGradients) {
  Tensor a = numbers({2}), b = numbers({3}), c = numbers({1});
  a.requires_grad_(), c.requires_grad_();
  const std::vector<Tensor> scaled = Op("acme.scale_all").all(std::vector<Tensor>{a, b, c}, 3.0);
  ASSERT_EQ(scaled.size(), 3u);
  EXPECT_FALSE(scaled[1].grad().defined());
  (scaled[0].sum() + scaled[1].sum() + (scaled[2] * 2).sum()).backward();
  EXPECT_EQ(values(a.grad()), (Values{3, 3}));
  EXPECT_FALSE(b.grad().defined());
  EXPECT_EQ(values(c.grad()), (Values{6}));
}

TEST_P(Parts, ResultsMayBeGiven) {
  const Tensor x = numbers({3, 2});
  const Tensor first = zeros({2, 2}, DType::F64).to(device),
               rest = zeros({1, 2}, DType::F64).to(device);
  const tn_op* op = Op("acme.parts").get();
  tn_value args[2] = {detail::value(x), detail::value(int64_t{2})};
  tn_tensor* outs[] = {first.get(), rest.get()};
  detail::check(tn_op_call_into(op, args, 2, outs, 2));
  EXPECT_EQ(values(first), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values(rest), (Values{5, 6}));
}

TEST_P(Parts, ALayerSeesTheWholeList) {
  struct Seen {
    uint32_t results = 0;
  } seen;
  const tn_call_layer layer{sizeof(tn_call_layer), 0, &seen,
                            [](void* ctx, const tn_op*, const tn_value*, uint32_t, tn_tensor**,
                               uint32_t nouts, uint32_t*) -> tn_status* {
                              static_cast<Seen*>(ctx)->results = nouts;
                              return nullptr;
                            },
                            nullptr};
  const Tensor x = numbers({7});
  detail::check(tn_call_layer_push(&layer));
  Op("acme.parts").all(x, 2);
  detail::check(tn_call_layer_pop(&layer));
  EXPECT_EQ(seen.results, 4u);
}

// ---- Storage that is released and restored

const acme_offload& offload() {
  const void* found = nullptr;
  detail::check(tn_plugin_interface(detail::to_str("com.acme.parts"),
                                    detail::to_str("acme.offload"), 1, &found));
  return *static_cast<const acme_offload*>(found);
}

Tensor move_away(const Tensor& x) {
  tn_tensor* copy = nullptr;
  detail::check(offload().away(x.get(), Device("cpu").get(), &copy));
  return Tensor::adopt(copy);
}
void move_back(const Tensor& x, const Tensor& copy) {
  detail::check(offload().back(x.get(), x.device().get(), copy.get()));
}

TEST_P(Parts, MemoryIsFreeWhileTheTensorIsAway) {
  Tensor x = empty({1 << 16}, DType::F32, device);
  detail::check(offload().watch(x.get()));
  const Tensor half = x.narrow(0, 1 << 15, 1 << 15);
  x.copy_(numbers({1 << 16}, DType::F32));
  device.synchronize();
  const uint64_t before = device.memory().used;
  const Tensor copy = move_away(x);
  const uint64_t host = device.id() == "cpu:0" ? sizeof(float) << 16 : 0;  // the copy
  EXPECT_EQ(device.memory().used, before - (sizeof(float) << 16) + host);
  EXPECT_EQ(error_of([&] { (void)(half + 1); }), "[add] the storage of f32(32768,)@" +
                                                     std::string(device.id()) +
                                                     " was released; restore it first");
  const Tensor view = half.narrow(0, 0, 2);  // made while there are no elements
  move_back(x, copy);
  EXPECT_EQ(values(view), (Values{32769, 32770}));
  EXPECT_EQ(values(half + 1)[0], 32770);
}

// As in sharded training: weights are released after the forward pass and return for the backward pass.
TEST_P(Parts, AGradientUsesRestoredStorage) {
  Tensor flat = empty({2048}, DType::F64, device);
  detail::check(offload().watch(flat.get()));
  flat.copy_(numbers({2048}) / 2048);
  Tensor w = flat.detach().narrow(0, 0, 1024), x = numbers({1024}) / 1024;
  w.requires_grad_(), x.requires_grad_();
  const Tensor loss = (w * x).square().sum();
  const Tensor copy = move_away(flat);
  EXPECT_NE(error_of([&] { loss.backward({}, true); }).find("was released"), std::string::npos);
  move_back(flat, copy);
  loss.backward();
  const Values a = values(w), b = values(x), found = values(w.grad());
  for (size_t i = 0; i < 1024; i += 97) ASSERT_NEAR(found[i], 2 * a[i] * b[i] * b[i], 1e-12);
}

}  // namespace
}  // namespace tenon
