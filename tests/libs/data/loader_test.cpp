// Datasets and the loader: every example comes once, in an order that depends only on the seed, whatever the number of workers.
#include "tenon/data.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "../scratch.hpp"

namespace tenon::data {
namespace {

TensorDataset numbers(int64_t n) {
  std::vector<float> x(static_cast<size_t>(2 * n));
  std::vector<int64_t> y(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    x[static_cast<size_t>(2 * i)] = static_cast<float>(i);
    y[static_cast<size_t>(i)] = i;
  }
  return TensorDataset({tensor(x, {n, 2}), tensor(y)});
}

std::vector<int64_t> labels(DataLoader& loader) {
  std::vector<int64_t> all;
  for (Example& batch : loader) {
    const auto part = batch[1].to_vector<int64_t>();
    const auto x = batch[0].to_vector<float>();
    for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(x[2 * i], static_cast<float>(part[i]));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(Loader, KeepsOrderWithAnyNumberOfWorkers) {
  const TensorDataset dataset = numbers(103);
  DataLoader plain(dataset, {.batch_size = 10, .shuffle = true, .seed = 5});
  const auto first = labels(plain), second = labels(plain);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 103u);
  EXPECT_NE(first, second);
  for (int64_t workers : {1, 2, 5}) {
    for (int64_t prefetch : {1, 4}) {
      DataLoader loader(
          dataset,
          {.batch_size = 10, .shuffle = true, .seed = 5, .workers = workers, .prefetch = prefetch});
      EXPECT_EQ(labels(loader), first);
      EXPECT_EQ(labels(loader), second);
      loader.set_epoch(0);
      EXPECT_EQ(labels(loader), first);
    }
  }
  DataLoader other(dataset, {.batch_size = 10, .shuffle = true, .seed = 6});
  EXPECT_NE(labels(other), first);
}

TEST(Loader, FollowsManualSeedWithoutASeed) {
  const TensorDataset dataset = numbers(103);
  const auto orders = [&](uint64_t seed) {
    manual_seed(seed);
    DataLoader loader(dataset, {.batch_size = 10, .shuffle = true});
    return std::pair(labels(loader), labels(loader));
  };
  const auto first = orders(1);
  EXPECT_EQ(first, orders(1));
  EXPECT_NE(first, orders(2));
  EXPECT_NE(first.first, first.second);
  const auto before = default_generator().state();
  DataLoader apart(dataset, {.batch_size = 10, .shuffle = true, .seed = 3});
  labels(apart);
  EXPECT_EQ(default_generator().state().offset, before.offset);
}

TEST(Loader, SizesOfBatches) {
  const TensorDataset dataset = numbers(10);
  DataLoader all(dataset, {.batch_size = 4, .workers = 2});
  EXPECT_EQ(all.size(), 3);
  std::vector<int64_t> sizes;
  for (Example& batch : all) sizes.push_back(batch[0].shape(0));
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4, 2}));
  DataLoader full(dataset, {.batch_size = 4, .workers = 2, .drop_last = true});
  EXPECT_EQ(full.size(), 2);
  EXPECT_EQ(labels(full).size(), 8u);
  DataLoader none(dataset, {.batch_size = 11, .drop_last = true});
  EXPECT_TRUE(labels(none).empty());
  const TensorDataset nothing = numbers(0);
  DataLoader empty_loader(nothing, {.workers = 1});
  EXPECT_TRUE(labels(empty_loader).empty());
}

TEST(Loader, WorkerErrorsArriveAtTheirBatch) {
  struct Faulty : Dataset {
    int64_t size() const override { return 20; }
    Example get(int64_t i) const override {
      if (i == 7) throw Error(TN_DATA_LOSS, "example 7 is bad");
      return {tensor(static_cast<float>(i))};
    }
  };
  struct OnlyBatches : Faulty {
    Example batch(std::span<const int64_t> indices) const override { return get(indices[0]); }
  };
  const OnlyBatches dataset;
  for (int64_t workers : {0, 3}) {
    DataLoader loader(dataset, {.batch_size = 1, .workers = workers});
    int64_t seen = 0;
    EXPECT_NE(error_of([&] {
                for (Example& batch : loader) seen += batch.size() == 1;
              }).find("example 7 is bad"),
              std::string::npos);
    EXPECT_EQ(seen, 7);
  }
}

TEST(Loader, LeavingEarlyStopsTheWorkers) {
  const TensorDataset dataset = numbers(1000);
  for (int round = 0; round < 20; ++round) {
    DataLoader loader(dataset, {.batch_size = 3, .shuffle = true, .workers = 3, .prefetch = 2});
    int count = 0;
    for (Example& batch : loader)
      if (batch.empty() || ++count == round) break;
  }
}

TEST(Loader, TransformRunsOnBatches) {
  const TensorDataset dataset = numbers(6);
  std::atomic<int> calls{0};
  DataLoader loader(dataset, {.batch_size = 2, .workers = 2, .transform = [&](Example batch) {
                                ++calls;
                                return Example{batch[1]};
                              }});
  for (Example& batch : loader) EXPECT_EQ(batch.size(), 1u);
  EXPECT_EQ(calls, 3);
}

TEST(Dataset, SubsetsAndErrors) {
  const TensorDataset dataset = numbers(10);
  const Subset some(dataset, {9, 0, 4});
  DataLoader loader(some, {.batch_size = 3});
  EXPECT_EQ(labels(loader), (std::vector<int64_t>{9, 0, 4}));
  EXPECT_EQ(some.get(0)[1].item<int>(), 9);
  EXPECT_NE(error_of([&] { Subset(dataset, {10}); }).find("no example 10"), std::string::npos);
  EXPECT_NE(error_of([&] { dataset.get(-1); }), "");
  EXPECT_NE(error_of([&] { some.get(3); }), "");
  EXPECT_NE(error_of([&] { TensorDataset({tensor({1.f}), tensor({1.f, 2.f})}); }), "");
  EXPECT_NE(error_of([&] { TensorDataset({}); }), "");
  EXPECT_NE(error_of([&] { DataLoader(dataset, {.batch_size = 0}); }), "");
  EXPECT_NE(error_of([&] { DataLoader(dataset, {.workers = -1}); }), "");
}

}  // namespace
}  // namespace tenon::data
