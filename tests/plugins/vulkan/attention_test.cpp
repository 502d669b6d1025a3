// Attention over several tiles, whose rows and columns end inside of one, and its memory.
#include "against_cpu.hpp"

namespace {

using namespace test_vulkan;
using reference::fractions;
using tenon::gradient;

struct Sizes {
  const char* name;
  int64_t heads, groups, queries, keys, width, value_width;
  bool causal;
  DType dtype;  // one each: software drivers take seconds to make a pipeline
};
constexpr Sizes kSizes[] = {
    {"one tile of each", 2, 2, 40, 33, 16, 24, false, DType::F64},
    {"tiles", 2, 2, 130, 200, 64, 64, true, DType::F32},
    {"more queries than keys", 1, 1, 150, 70, 32, 8, true, DType::F32},
    {"two tiles of columns, groups", 4, 2, 70, 90, 80, 128, true, DType::BF16},
    {"as wide as can be", 1, 1, 65, 66, 256, 200, false, DType::F32},
};

struct Operands {
  Array q, k, v, g, bias;
  explicit Operands(const Sizes& n)
      : q(fractions({2, n.heads, n.queries, n.width}, 1)),
        k(fractions({2, n.groups, n.keys, n.width}, 2)),
        v(fractions({2, n.groups, n.keys, n.value_width}, 3)),
        g(fractions({2, n.heads, n.queries, n.value_width}, 4)),
        bias(fractions({n.heads, 1, n.keys}, 5)) {}
};

TEST(Attention, Results) {
  for (const Sizes& n : kSizes) {
    const Operands a(n);
    for (const bool lse : {false, true})
      expect_same(
          n.dtype, n.name,
          [&](const Place& on) {
            const auto r = tenon::attention(on(a.q), on(a.k), on(a.v), on(a.bias), n.causal);
            return lse ? r.lse : r.y;
          },
          4);
  }
}

TEST(Attention, Gradients) {
  for (const Sizes& n : kSizes) {
    const Operands a(n);
    for (const size_t which : {0, 1, 2})
      expect_same(
          n.dtype, n.name,
          [&](const Place& on) {
            std::vector<Tensor> x = {on(a.q), on(a.k), on(a.v)};
            for (Tensor& t : x) t.requires_grad_();
            const auto r = tenon::attention(x[0], x[1], x[2], {}, n.causal);
            return gradient({r.y, r.lse}, x, {on(a.g), ones_like(r.lse)})[which];
          },
          8);
  }
}

// Scores would take 2 · 4 · 1024² floats: 32 MiB.
TEST(Attention, MemoryIsLinearInTheLength) {
  const Operands a({"", 4, 4, 1024, 1024, 16, 16, true, DType::F32});
  const Place on{gpu(), DType::F32};
  const NoFallback no_fallback;
  std::vector<Tensor> x = {on(a.q), on(a.k), on(a.v)};
  for (Tensor& t : x) t.requires_grad_();
  const Tensor g = on(a.g);
  gpu().synchronize();
  gpu().reset_memory_peak();
  const uint64_t before = gpu().memory().used;
  const auto grads = gradient({tenon::attention(x[0], x[1], x[2], {}, true).y}, x, {g});
  gpu().synchronize();
  EXPECT_EQ(grads.size(), 3U);
  EXPECT_LT(gpu().memory().used_peak - before, 4U << 20);
}

}  // namespace
