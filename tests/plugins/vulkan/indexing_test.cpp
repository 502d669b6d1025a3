// Indexing: several elements for one place, indices out of range, and results that never depend on the order of invocations.
#include "against_cpu.hpp"

namespace {

using namespace test_vulkan;
using reference::error_of;
using reference::fractions;
using reference::whole_numbers;

std::vector<int64_t> draw(size_t count, int64_t bound, uint32_t seed) {
  std::vector<int64_t> out(count);
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t& i : out) {
    state = state * 1664525u + 1013904223u;
    i = static_cast<int64_t>((state >> 8) % static_cast<uint32_t>(bound));
  }
  return out;
}

constexpr DType kDtypes[] = {DType::F32, DType::F16, DType::BF16, DType::F64, DType::I32,
                             DType::I64, DType::U32, DType::U8,   DType::I16};

// Of equal indices the last one wins, as on the CPU.
TEST(Indexing, ScatterKeepsTheLast) {
  const Array x = whole_numbers({7, 900}, 1), src = whole_numbers({7, 3000}, 2);
  const auto index = draw(7 * 3000, 900, 3);
  for (const DType dtype : kDtypes)
    expect_same(dtype, "scatter", [&](const Place& on) {
      return tenon::scatter(on(x), 1, on.index(index, {7, 3000}), on(src));
    });
}

TEST(Indexing, SumsOfManyThatMeet) {
  const Array x = whole_numbers({50, 6}, 4, false), src = whole_numbers({4000, 6}, 5, false);
  const auto elements = draw(4000 * 6, 50, 6), rows = draw(4000, 50, 7);
  const std::vector<int64_t> same(4000, 17);
  for (const DType dtype :
       {DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::I16}) {
    expect_same(dtype, "scatter_add", [&](const Place& on) {
      return tenon::scatter_add(on(x), 0, on.index(elements, {4000, 6}), on(src));
    });
    for (const auto& index : {rows, same}) {
      expect_same(dtype, "index_add", [&](const Place& on) {
        return tenon::index_add(on(x), 0, on.index(index, {4000}), on(src));
      });
      expect_same(dtype, "index_put", [&](const Place& on) {
        return tenon::index_put(on(x), {on.index(index, {4000})}, on(src), true);
      });
    }
  }
  const Array table = fractions({300, 40}, 8), tokens = fractions({3, 500, 40}, 9);
  const auto places = draw(1500, 300, 10);
  for (const DType dtype : {DType::F32, DType::F16, DType::F64}) {
    expect_same(dtype, "embedding", [&](const Place& on) {
      return tenon::embedding(on(table), on.index(places, {3, 500}));
    });
    expect_same(dtype, "embedding_backward", [&](const Place& on) {
      return tenon::embedding_backward(on(tokens), on.index(places, {3, 500}), 300, 5);
    });
  }
}

// Halves are summed in f32 and rounded once.
TEST(Indexing, HalvesAreRoundedOnce) {
  const std::vector<int64_t> zeros(3000, 0);
  const Place on{gpu(), DType::F16};
  const Tensor sum =
      tenon::index_add(on(Array({1}, 0)), 0, on.index(zeros, {3000}), on(Array({3000}, 1)));
  EXPECT_EQ(reference::values(sum), std::vector<double>{3000});
}

TEST(Indexing, SumsAreTheSameEveryTime) {
  const Place on{gpu(), DType::F32};
  const Tensor x = on(fractions({100}, 11)), src = on(fractions({20000}, 12)),
               index = on.index(draw(20000, 100, 13), {20000});
  const auto first = tenon::scatter_add(x, 0, index, src).to_vector<float>();
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(tenon::scatter_add(x, 0, index, src).to_vector<float>(), first);
}

TEST(Indexing, AlongEachDimension) {
  const Array x = whole_numbers({9, 11, 10}, 14);
  for (int64_t dim = 0; dim < 3; ++dim) {
    const int64_t size = x.shape[static_cast<size_t>(dim)];
    auto some = draw(23, size, 15);
    some[3] = -1;
    Shape shape = x.shape;
    shape[static_cast<size_t>(dim)] = 23;
    const Array src = whole_numbers(shape, 16);
    const auto all = draw(src.v.size(), size, 17);
    for (const DType dtype : {DType::F32, DType::F16, DType::U8, DType::F64}) {
      expect_same(dtype, "index_select", [&](const Place& on) {
        return tenon::index_select(on(x), dim, on.index(some, {23}));
      });
      expect_same(dtype, "index_add", [&](const Place& on) {
        return tenon::index_add(on(x), dim, on.index(some, {23}), on(src));
      });
      expect_same(dtype, "gather",
                  [&](const Place& on) { return tenon::gather(on(x), dim, on.index(all, shape)); });
      expect_same(dtype, "roll", [&](const Place& on) { return tenon::roll(on(x), -4, dim); });
      expect_same(dtype, "slice_scatter", [&](const Place& on) {
        return tenon::slice_scatter(on(x), on(x).slice(dim, 0, 3), dim, 1, 7, 2);
      });
      expect_same(dtype, "concat", [&](const Place& on) {
        return tenon::concat({on(x), on(x).flip(0), on(src)}, dim);
      });
    }
  }
}

TEST(Indexing, SeveralTensors) {
  const Array x = whole_numbers({6, 7, 8, 5}, 18);
  const std::vector<int64_t> a{0, -1, 3}, b{2, 5, 1, -2, 0, 6};
  const Array values = whole_numbers({2, 3, 8, 5}, 19), some = whole_numbers({8, 1}, 20),
              between = whole_numbers({2, 3, 6, 8}, 21);
  for (const DType dtype : {DType::F32, DType::BF16, DType::I64}) {
    expect_same(dtype, "side by side", [&](const Place& on) {
      return tenon::index(on(x), {on.index(a, {3}), on.index(b, {2, 3})});
    });
    expect_same(dtype, "apart", [&](const Place& on) {
      return tenon::index(on(x), {on.index(a, {3}), Tensor(), on.index(a, {3})});
    });
    for (const bool accumulate : {false, true}) {
      expect_same(dtype, "put", [&](const Place& on) {
        return tenon::index_put(on(x), {on.index(a, {3}), on.index(b, {2, 3})}, on(values),
                                accumulate);
      });
      expect_same(dtype, "put, repeated values", [&](const Place& on) {
        return tenon::index_put(on(x), {on.index(a, {3}), on.index(b, {2, 3})}, on(some),
                                accumulate);
      });
      expect_same(dtype, "put between slices", [&](const Place& on) {
        return tenon::index_put(on(x), {Tensor(), on.index(b, {2, 3}), Tensor(), on.index(a, {3})},
                                on(between), accumulate);
      });
    }
  }
}

// Assigning one value through a mask needs no count of its set elements.
TEST(Indexing, OneValueByAMask) {
  const Array x = whole_numbers({3, 40, 5, 2}, 28), bits = whole_numbers({40, 5}, 29, false);
  for (const DType dtype : {DType::F32, DType::F16, DType::F64, DType::I32, DType::I64})
    for (const bool accumulate : {false, true})
      expect_same(dtype, "mask", [&](const Place& on) {
        const Tensor mask =
            tenon::to(tenon::greater(reference::to_tensor(bits, DType::F32), 3.0), on.device);
        return tenon::index_put(on(x), {Tensor(), mask}, on(Array({1}, 5)), accumulate);
      });
  const Array flags = whole_numbers({7}, 30, false);
  expect_same(DType::F32, "a mask of all of x", [&](const Place& on) {
    const Tensor mask =
        tenon::to(tenon::greater(reference::to_tensor(flags, DType::F32), 3.0), on.device);
    return tenon::index_put(on(flags), {mask}, on(Array({1}, 5)));
  });
}

// Elements that share a place: the last one wins.
TEST(Indexing, StridedPlacesThatMeet) {
  const Array x = whole_numbers({31}, 22), src = whole_numbers({8, 6}, 23);
  for (const DType dtype : kDtypes)
    expect_same(dtype, "as_strided_scatter", [&](const Place& on) {
      return tenon::as_strided_scatter(on(x), on(src), {8, 6}, {2, 3}, 1);
    });
}

// ---- Indices out of range become errors when the stream is waited for, with the op's name

TEST(OutOfRange, NamesOpIndexAndSize) {
  const Place on{gpu(), DType::F32};
  const Tensor x = on(fractions({4, 5}, 24)), rows = on(fractions({2, 5}, 25));
  const Tensor bad = on.index({1, 7}, {2}), wide = on.index({0, 1, 2, 3, 9}, {1, 5});
  const auto error = [](auto&& call) {
    const std::string text = error_of([&] { static_cast<void>(call().cpu()); });
    return text.substr(text.find('[') == std::string::npos ? 0 : text.rfind('['));
  };
  const std::string seven = "index 7 at position 1 out of range for dimension 0 of size 4";
  EXPECT_EQ(error([&] { return tenon::index_select(x, 0, bad); }), "[index_select] " + seven);
  EXPECT_EQ(error([&] { return tenon::embedding(x, bad); }), "[embedding] " + seven);
  EXPECT_EQ(error([&] { return tenon::embedding_backward(rows, bad, 4); }),
            "[embedding_backward] " + seven);
  EXPECT_EQ(error([&] { return tenon::index_add(x, 0, bad, rows); }), "[index_add] " + seven);
  EXPECT_EQ(error([&] { return tenon::index(x, {bad}); }), "[index] " + seven);
  EXPECT_EQ(error([&] { return tenon::index_put(x, {bad}, rows, true); }), "[index_put] " + seven);
  const std::string nine = "index 9 at position 4 out of range for dimension 0 of size 4";
  EXPECT_EQ(error([&] { return tenon::gather(x, 0, wide); }), "[gather] " + nine);
  EXPECT_EQ(error([&] { return tenon::scatter(x, 0, wide, rows); }), "[scatter] " + nine);
  EXPECT_EQ(error([&] { return tenon::scatter_add(x, 0, wide, rows); }), "[scatter_add] " + nine);
}

TEST(OutOfRange, BeyondThirtyTwoBits) {
  const Place on{gpu(), DType::F32};
  const Tensor x = on(fractions({4}, 26)), far = on.index({int64_t{1} << 32}, {1}),
               back = on.index({-5}, {1});
  for (const Tensor& index : {far, back}) {
    const std::string text =
        error_of([&] { static_cast<void>(tenon::index_select(x, 0, index).cpu()); });
    EXPECT_NE(text.find("index " + std::to_string(index.cpu().item<int64_t>())), std::string::npos)
        << text;
  }
}

// It is reported once; later work succeeds, and elements that no index names stay as they are.
TEST(OutOfRange, IsToldOnce) {
  const Place on{gpu(), DType::F32};
  const Tensor x = on(whole_numbers({6}, 27));
  const std::vector<double> before = reference::values(x);
  static_cast<void>(tenon::index_add(x, 0, on.index({2, 6}, {2}), on(Array({2}, 1))));
  EXPECT_NE(error_of([] { gpu().synchronize(); }).find("[index_add] index 6"), std::string::npos);
  EXPECT_EQ(error_of([] { gpu().synchronize(); }), "");
  EXPECT_EQ(reference::values(x), before);
}

}  // namespace
