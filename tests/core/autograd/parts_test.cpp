// Gradients of parts of a tensor: they are written into one sum if nothing else sees that sum.
#include <map>
#include <sstream>

#include "support.hpp"

namespace tenon::testing {
namespace {

// How often an op's kernels ran.
class Kernels {
 public:
  Kernels() { tn_placement_enable(1); }
  ~Kernels() { tn_placement_enable(0); }
  std::map<std::string, int> calls() const {
    std::string report;
    tn_placement_report(
        [](void* ctx, tn_str text) {
          static_cast<std::string*>(ctx)->append(detail::to_view(text));
        },
        &report);
    std::map<std::string, int> found;
    std::istringstream lines(report);
    for (std::string op, provider, count; lines >> op >> provider >> count;)
      if (provider != "core") found[op] += std::stoi(count);
    return found;
  }
};

Tensor numbers(const std::vector<int64_t>& shape, DType dtype = DType::F32) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return arange(1, n + 1, 1, dtype).reshape(shape);
}

// The gradient of sum(fn(x)²), which must be the same whether it is written in place or recorded.
template <class Fn>
void expect_as_recorded(const std::vector<int64_t>& shape, Fn&& fn, const std::string& what) {
  const Tensor x = numbers(shape).requires_grad_();
  const auto loss = [&] {
    const Tensor y = x * x;  // not a leaf
    Tensor total = tensor(0.f);
    for (const Tensor& part : fn(y)) total = total + (part * part * 0.5).sum();
    return total;
  };
  const Tensor written = gradient(loss(), x),
               recorded = gradient(loss(), x, {.create_graph = true});
  EXPECT_EQ(values(written), values(recorded)) << what;
  EXPECT_TRUE(recorded.requires_grad());
}

TEST(Parts, OfOneTensorMakeOneGradient) {
  const Tensor x = numbers({2, 6}).requires_grad_();
  const auto parts = (x * 2).chunk(3, 1);
  const Tensor loss = (parts[0] * parts[1] + parts[2]).sum();
  const Kernels kernels;
  loss.backward();
  const auto calls = kernels.calls();
  EXPECT_EQ(calls.count("slice_scatter"), 0u);
  EXPECT_EQ(calls.at("full"), 1) << "zeros for all parts together";
  EXPECT_EQ(calls.at("clone"), 1) << "the first part is copied";
  EXPECT_EQ(calls.at("add"), 2) << "the others are added to their place";
  EXPECT_EQ(grad_of(x), (Values{12, 16, 4, 8, 2, 2, 36, 40, 28, 32, 2, 2}));
}

TEST(Parts, TakeOneTensorOfMemory) {
  const int64_t n = 1 << 16;
  const Tensor x = zeros({n}).requires_grad_();
  Tensor loss = tensor(0.f);
  const Tensor y = x * 2;
  for (const Tensor& part : y.chunk(64, 0)) loss = loss + part.sum();
  const Device device = x.device();
  device.reset_memory_peak();
  const uint64_t before = device.memory().used;
  loss.backward();
  EXPECT_LT(device.memory().used_peak - before, uint64_t{3 * n * 4})
      << "the gradients of y and x, and parts";
  EXPECT_EQ(grad_of(x), Values(static_cast<size_t>(n), 2.f));
}

TEST(Parts, EqualTheRecordedGradient) {
  using List = std::vector<Tensor>;
  expect_as_recorded(
      {2, 6}, [](const Tensor& y) { return y.chunk(3, 1); }, "chunks");
  expect_as_recorded(
      {4, 3}, [](const Tensor& y) { return y.unbind(0); }, "entries");
  expect_as_recorded(
      {7},
      [](const Tensor& y) {
        return List{y.slice(0, 0, 5), y.slice(0, 2, 7), y * 3};
      },
      "parts that meet");
  expect_as_recorded(
      {7},
      [](const Tensor& y) {
        return List{y.slice(0, 1, 6, 2), y.slice(0, std::nullopt, std::nullopt, -3),
                    y.slice(0, 5, 1, -2)};
      },
      "steps forwards and backwards");
  expect_as_recorded(
      {3, 4},
      [](const Tensor& y) {
        return List{diagonal(y), diagonal(y, 1), diagonal(y, -2)};
      },
      "diagonals");
  expect_as_recorded(
      {2, 3, 4},
      [](const Tensor& y) {
        return List{y.select(0, 1).slice(1, 1, 3).select(0, 2), y.transpose(0, 2).select(1, 0)};
      },
      "parts of parts");
  expect_as_recorded(
      {5},
      [](const Tensor& y) {
        return List{y.slice(0, 3, 3), y.slice(0, 1, 2)};
      },
      "nothing");
  expect_as_recorded(
      {2, 3, 4},
      [](const Tensor& y) {
        return y.permute({2, 0, 1}).unbind(0);
      },
      "a permutation");
  expect_as_recorded(
      {2, 6},
      [](const Tensor& y) {
        return y.reshape({2, 3, 2}).permute({1, 0, 2}).unbind(0);
      },
      "a permutation of a shape");
  expect_as_recorded(
      {1, 3},
      [](const Tensor& y) {
        return y.expand({4, 3}).unbind(0);
      },
      "what is repeated");
  expect_as_recorded(
      {2, 3}, [](const Tensor& y) { return y.flip({1}).unbind(1); }, "a flip");
}

TEST(Parts, ReadByIndexEqualTheRecordedGradient) {
  using List = std::vector<Tensor>;
  const Tensor rows = tensor<int64_t>({2, 0, 2}), places = tensor<int64_t>({{0, 0}, {1, 3}});
  expect_as_recorded(
      {3, 4},
      [&](const Tensor& y) {
        return List{y.index_select(0, rows), gather(y, 1, places), embedding(y, rows),
                    index(y, {rows, rows}), y.slice(0, 1, 3)};
      },
      "rows and elements");
  expect_as_recorded(
      {4, 3},
      [&](const Tensor& y) {
        const Tensor t = y.transpose(0, 1);
        return List{t.select(0, 1), t.index_select(0, rows), gather(t, 1, places)};
      },
      "of a transposition");
}

TEST(Parts, LeaveASharedGradientAlone) {
  const Tensor x = numbers({4}).requires_grad_(), w = numbers({4}).requires_grad_();
  const Tensor a = x * 1, b = w * 1;
  const Tensor part = a.slice(0, 0, 2) * 10;
  const Tensor sum = a + b;  // passes one tensor to both, before the part's gradient is there
  ((sum * sum).sum() + part.sum()).backward();
  EXPECT_EQ(grad_of(x), (Values{14, 18, 12, 16}));
  EXPECT_EQ(grad_of(w), (Values{4, 8, 12, 16}));
}

TEST(Parts, LeaveTheGivenGradientAlone) {
  const Tensor x = numbers({3}).requires_grad_();
  const Tensor y = x * 2, part = y.select(0, 1);
  const Tensor given = numbers({3});
  backward({y, part}, {given, tensor(10.f)});
  EXPECT_EQ(values(given), (Values{1, 2, 3}));
  EXPECT_EQ(grad_of(x), (Values{2, 24, 6}));
}

TEST(Parts, LeaveWhatAHookKeepsAlone) {
  const Tensor x = numbers({3}).requires_grad_();
  Tensor y = x * 2;
  const Tensor part = y.slice(0, 0, 1) * 5;
  Tensor z = y + 1;  // passes its gradient on unchanged
  Tensor kept, whole;
  z.register_hook([&](const Tensor& g) {
    kept = g;
    return Tensor();
  });
  y.register_hook([&](const Tensor& g) {
    EXPECT_FALSE(whole.defined()) << "once, when all is there";
    whole = g;
    return Tensor();
  });
  ((z * z).sum() + part.sum()).backward();
  EXPECT_EQ(values(kept), (Values{6, 10, 14}));
  EXPECT_EQ(values(whole), (Values{11, 10, 14}));
  EXPECT_EQ(grad_of(x), (Values{22, 20, 28}));
}

TEST(Parts, WorkAgainInARetainedGraph) {
  const Tensor x = numbers({4}).requires_grad_();
  const auto parts = (x * x).chunk(2, 0);
  const Tensor loss = (parts[0] * parts[1]).sum();
  loss.backward({}, true);
  const Values once = grad_of(x);
  loss.backward();
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(grad_of(x)[i], 2 * once[i]);
}

TEST(Parts, HaveGradientsOfGradients) {
  const Tensor x = numbers({4}).requires_grad_();
  const auto parts = (x * x).chunk(2, 0);  // x0²·x2² + x1²·x3²
  const Tensor loss = (parts[0] * parts[1]).sum();
  const Tensor first = gradient(loss, x, {.create_graph = true});
  EXPECT_EQ(values(first), (Values{18, 64, 6, 32}));
  first.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{18 + 12, 32 + 32, 2 + 12, 8 + 32}));
}

TEST(Parts, OfLeavesAreTheirsAlone) {
  const Tensor x = numbers({4}).requires_grad_();
  (x.slice(0, 0, 2) * 3).sum().backward();
  const Tensor held = x.grad();
  (x.slice(0, 1, 3) * 5).sum().backward();
  EXPECT_EQ(values(held), (Values{3, 8, 5, 0})) << "the gradient stays the same tensor";
}

TEST(Parts, AreCopiesWhereCallsAreWatched) {
  const Tensor x = numbers({4}).requires_grad_();
  const auto parts = (x * 1).chunk(2, 0);
  const Tensor loss = (parts[0] * parts[1]).sum();
  std::string seen;
  tn_call_hooks hooks{};
  hooks.struct_size = sizeof hooks;
  hooks.ctx = &seen;
  hooks.after = [](void* ctx, const tn_op* op, const tn_value*, uint32_t, tn_tensor* const*,
                   uint32_t, tn_str) {
    *static_cast<std::string*>(ctx) += std::string(detail::to_view(tn_op_name(op))) + " ";
  };
  tn_call_hooks_set(&hooks);
  loss.backward();
  tn_call_hooks_set(nullptr);
  EXPECT_NE(seen.find("slice_scatter"), std::string::npos) << seen;
  EXPECT_EQ(grad_of(x), (Values{3, 4, 1, 2}));
}

// A language model's last layer shares its weight with the first.
TEST(Parts, RowsOfAWeightJoinItsOtherGradient) {
  const Tensor index = tensor<int64_t>({{1, 0}, {1, 2}});
  const auto weight_gradient = [&](DType dtype, std::optional<int64_t> padding) {
    const Tensor weight = numbers({3, 2}, dtype).requires_grad_();
    const Tensor loss = linear(embedding(weight, index, padding), weight).sum();
    const Kernels kernels;
    loss.backward();
    auto calls = kernels.calls();
    EXPECT_EQ(calls["index_add"], dtype == DType::F32 && !padding ? 1 : 0);
    EXPECT_EQ(calls["embedding_backward"], dtype == DType::F32 && !padding ? 0 : 1);
    return weight.grad().to(DType::F32).to_vector<float>();
  };
  // d/dw of Σ_t Σ_v e_t·w_v: Σ_t e_t for every row, and Σ_v w_v for every use of a row.
  EXPECT_EQ(weight_gradient(DType::F32, {}), (Values{21, 28, 30, 40, 21, 28}));
  EXPECT_EQ(weight_gradient(DType::BF16, {}), (Values{21, 28, 30, 40, 21, 28}));
  EXPECT_EQ(weight_gradient(DType::F32, 1), (Values{21, 28, 12, 16, 21, 28}));
}

}  // namespace
}  // namespace tenon::testing
