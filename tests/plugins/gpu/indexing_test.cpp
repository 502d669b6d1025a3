// Indexing kernels beyond a single block, and with masks. tests/plugins/vulkan/indexing_test.cpp covers the rest.
#include "../vulkan/against_cpu.hpp"

namespace {

using namespace test_vulkan;
using reference::error_of;
using reference::fractions;
using reference::whole_numbers;

std::vector<int64_t> draw(size_t count, int64_t bound, uint32_t seed) {
  std::vector<int64_t> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = hash(seed + static_cast<uint32_t>(i)) % static_cast<uint32_t>(bound);
  return out;
}

Tensor mask_of(const Place& on, const Array& numbers) {
  return tenon::to(tenon::greater(reference::to_tensor(numbers, DType::F32), 3.0), on.device);
}

// More rows than a block sorts, more places than a digit counts, and places whose rows span many chunks.
TEST(Sums, OfManyBlocks) {
  const Array x = whole_numbers({70000, 2}, 1, false), src = whole_numbers({5000, 2}, 2, false);
  std::vector<int64_t> index = draw(5000, 70000, 3);
  for (size_t i = 0; i < 3000; ++i) index[i * 5 / 3] = 65536;
  for (const DType dtype : {DType::F32, DType::I32, DType::F64})
    expect_same(dtype, "index_add", [&](const Place& on) {
      return tenon::index_add(on(x), 0, on.index(index, {5000}), on(src));
    });
}

TEST(Sums, InSeveralPlanes) {
  const Array x = whole_numbers({3, 4, 5}, 4, false), src = whole_numbers({3, 900, 5}, 5, false);
  const auto index = draw(900, 4, 6);
  expect_same(DType::F32, "index_add", [&](const Place& on) {
    return tenon::index_add(on(x), 1, on.index(index, {900}), on(src));
  });
}

TEST(Copies, OfSwappedDimensions) {
  const Array x = whole_numbers({3, 45, 70}, 7), wide = whole_numbers({33, 2, 64}, 8);
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::F64}) {
    expect_same(dtype, "swapped",
                [&](const Place& on) { return on(x).transpose(1, 2).contiguous(); });
    expect_same(dtype, "turned round", [&](const Place& on) {
      return on(x).permute({2, 0, 1}).contiguous();
    });
    expect_same(dtype, "rows of 16 bytes",
                [&](const Place& on) { return on(wide).transpose(0, 1).contiguous(); });
    expect_same(dtype, "backwards",
                [&](const Place& on) { return on(x).flip({2}).transpose(1, 2).contiguous(); });
  }
}

TEST(Copies, OfManyTensors) {
  const Array a = whole_numbers({5, 3, 8}, 9), b = whole_numbers({5, 7, 8}, 10);
  for (const DType dtype : {DType::U8, DType::BF16, DType::I64})
    expect_same(dtype, "concat", [&](const Place& on) {
      std::vector<Tensor> all;
      for (int i = 0; i < 20; ++i) all.push_back(on(i % 3 == 0 ? b : a));
      return tenon::concat(all, 1);
    });
}

TEST(Masks, ChooseOverManyTiles) {
  const Array x = whole_numbers({70, 90}, 11, false), row = whole_numbers({90}, 12, false);
  for (const DType dtype : {DType::F32, DType::F16, DType::U8, DType::I64}) {
    expect_same(dtype, "masked_select",
                [&](const Place& on) { return tenon::masked_select(on(x), mask_of(on, x)); });
    expect_same(dtype, "a mask for each row",
                [&](const Place& on) { return tenon::masked_select(on(x), mask_of(on, row)); });
    expect_same(dtype, "index",
                [&](const Place& on) { return tenon::index(on(x), {mask_of(on, x)}); });
    expect_same(dtype, "index, columns", [&](const Place& on) {
      return tenon::index(on(x), {Tensor(), mask_of(on, row)});
    });
  }
  const Place on{gpu(), DType::F32};
  EXPECT_EQ(tenon::nonzero(on(x)).cpu().to_vector<int64_t>(),
            tenon::nonzero(reference::to_tensor(x, DType::F32)).to_vector<int64_t>());
}

TEST(Masks, PutWhatFits) {
  const Array x = whole_numbers({40, 3, 2}, 13, false), flags = whole_numbers({40, 3}, 14, false),
              values = whole_numbers({1, 2}, 15);
  for (const bool accumulate : {false, true})
    expect_same(DType::F32, "put", [&](const Place& on) {
      return tenon::index_put(on(x), {mask_of(on, flags)}, on(values), accumulate);
    });
  const Place on{gpu(), DType::F32};
  EXPECT_NE(error_of([&] {
              tenon::index_put(on(x), {mask_of(on, flags)}, on(whole_numbers({999, 2}, 16)));
            }).find("values of size 999 do not broadcast"),
            std::string::npos);
}

TEST(Masks, OfNothingAndOfAll) {
  const Array x = whole_numbers({6, 4}, 17), nothing({6}, 0), all({6}, 9);
  for (const Array* flags : {&nothing, &all})
    expect_same(DType::F32, "index",
                [&](const Place& on) { return tenon::index(on(x), {mask_of(on, *flags)}); });
}

// Values, the first position of each, the value of each element, and counts, of more elements than a block sorts.
TEST(Unique, OfManyElements) {
  Array x = whole_numbers({5000}, 20);
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64, DType::I8, DType::I64}) {
    const Tensor there = Place{gpu(), dtype}(x);
    const NoFallback no_fallback;
    const auto got = tenon::unique(there);
    const auto want = tenon::unique(reference::to_tensor(x, dtype));
    EXPECT_EQ(reference::values(got.values), reference::values(want.values));
    EXPECT_EQ(reference::values(got.indices), reference::values(want.indices));
    EXPECT_EQ(reference::values(got.inverse), reference::values(want.inverse));
    EXPECT_EQ(reference::values(got.counts), reference::values(want.counts));
  }
}

// Indices keep their dtype on their way to the kernel.
TEST(Indices, OfAnyIntegerDtype) {
  const Array x = whole_numbers({9, 9}, 18);
  const Place on{gpu(), DType::F32};
  for (const DType dtype : {DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32,
                            DType::I64, DType::U64}) {
    const Tensor index = tenon::cast(tenon::tensor(std::vector<int64_t>{8, 0, 3}, {3}), dtype);
    EXPECT_EQ(reference::values(tenon::index(on(x), {tenon::to(index, gpu())})),
              reference::values(tenon::index(reference::to_tensor(x, DType::F32), {index})));
  }
}

}  // namespace
