// The life of graphs: deep, freed and shared ones.
#include <atomic>
#include <thread>

#include "support.hpp"

namespace tenon::testing {
namespace {

constexpr int kDeep = 1'000'000;

TEST(Deep, AChainRunsAndIsFreedWithoutRecursion) {
  Tensor x = leaf({1, 2});
  Tensor y = x;
  for (int i = 0; i < kDeep; ++i) y = y + 1;
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{1, 1}));
}

TEST(Deep, AChainThatSavesItsTensors) {
  Tensor x = leaf({2}), one = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = y * one;
  const auto found = gradient({y.sum()}, {x, one});
  EXPECT_EQ(values(found[0]), (Values{1}));
  EXPECT_EQ(values(found[1]), (Values{200'000}));
}

TEST(Deep, AnUnusedChainIsFreed) {
  Tensor x = leaf({1});
  {
    Tensor y = x;
    for (int i = 0; i < kDeep; ++i) y = y * 1;
  }
  EXPECT_EQ(error_of([&] { (x * 1).sum().backward(); }), "");
}

TEST(Deep, EveryStepUsesTheOneBeforeTwice) {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = y * 0.5 + y * 0.5;  // 2^100000 paths
  EXPECT_EQ(values(gradient(y.sum(), x)), (Values{1}));
}

TEST(Deep, AChainOfWritesInPlace) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 1;
  Tensor part = y.slice(0, 0, 1);
  for (int i = 0; i < 20'000; ++i) part.add_(1);
  y.sum().backward();
  EXPECT_EQ(grad_of(x), (Values{1, 1}));
}

TEST(Deep, ThroughGradientsOfGradients) {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = y * 1.0;
  const Tensor first = gradient((y * y).sum(), x, {.create_graph = true});
  EXPECT_EQ(values(gradient(first.sum(), x)), (Values{2}));
}

// ---- Nothing outlives its last tensor ----------------------------------------------------------

TEST(Freed, SavedTensorsGoWithTheGraph) {
  Watched watched({1, 2});
  Tensor x = leaf({3, 4});
  Tensor y = x * watched.take();
  EXPECT_TRUE(watched.alive());
  y = Tensor();
  EXPECT_FALSE(watched.alive());
}

TEST(Freed, SavedTensorsGoWithTheFirstRun) {
  Watched watched({1, 2});
  Tensor x = leaf({3, 4});
  const Tensor y = (x * watched.take()).sum();
  y.backward({}, true);
  EXPECT_TRUE(watched.alive());
  y.backward();
  EXPECT_FALSE(watched.alive());
}

TEST(Freed, AWriteInPlaceMakesNoCycle) {
  Watched watched({1, 2});
  {
    Tensor x = watched.take();
    const Tensor w = leaf({3, 4});
    const Tensor y = x * w;  // saves x
    x.add_(y);               // x's history now contains y
  }
  EXPECT_FALSE(watched.alive());
}

TEST(Freed, AWriteToAViewMakesNoCycle) {
  Watched watched({1, 2, 3, 4});
  {
    Tensor base = watched.take();
    Tensor part = base.slice(0, 0, 2);
    const Tensor other = base.slice(0, 2, 4);
    part.mul_(leaf({3, 4}));
    part.add_(part * 2);
    EXPECT_TRUE(other.requires_grad());
    base.add_(other.sum());
  }
  EXPECT_FALSE(watched.alive());
}

TEST(Freed, GradientsWithAHistoryMakeNoCycle) {
  Watched watched({1, 2});
  {
    Tensor x = watched.take();
    x.requires_grad_();
    (x * x * x).sum().backward({}, false, true);
    EXPECT_TRUE(x.grad().requires_grad());  // 3x², which saved x
  }
  EXPECT_FALSE(watched.alive());
}

TEST(Freed, TheGraphOutlivesItsLeaf) {
  Watched watched({1, 2});
  Tensor y;
  {
    Tensor x = watched.take();
    x.requires_grad_();
    y = (x * 2).sum();
  }
  EXPECT_FALSE(watched.alive()) << "a product with a number saves nothing";
  y.backward();
}

TEST(Freed, HooksGoWithTheirTensor) {
  int destroyed = 0;
  const auto count = [](void* ctx) { ++*static_cast<int*>(ctx); };
  const auto nothing = [](void*, tn_tensor*, tn_tensor**) -> tn_status* { return nullptr; };
  uint64_t id = 0;
  {
    Tensor x = leaf({1});
    const Tensor y = x * 2;
    detail::check(tn_tensor_add_hook(x.get(), nothing, &destroyed, count, &id));
    detail::check(tn_tensor_add_hook(y.get(), nothing, &destroyed, count, nullptr));
    EXPECT_EQ(destroyed, 0);
    detail::check(tn_tensor_remove_hook(x.get(), id));
    EXPECT_EQ(destroyed, 1);
  }
  EXPECT_EQ(destroyed, 2);
}

TEST(Freed, FunctionsGoWithTheGraphOrItsRun) {
  Lambda identity{[](const Tensor& g) { return g; }};
  Tensor x = leaf({1});
  {
    const Tensor y = x.detach();
    identity.record(x, y);
    EXPECT_EQ(*identity.destroyed, 0);
  }
  EXPECT_EQ(*identity.destroyed, 1);
  const Tensor y = x.detach();
  identity.record(x, y);
  y.backward({}, true);
  EXPECT_EQ(*identity.destroyed, 1);
  y.backward();
  EXPECT_EQ(*identity.destroyed, 2);
}

// ---- Threads -----------------------------------------------------------------------------------

template <class Fn>
void on_threads(int n, Fn&& fn) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([&fn, i] { fn(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, OneGraphRunOnSeveral) {
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  Tensor y = x * w;
  for (int i = 0; i < 20; ++i) y = y * 1.0 + x;
  const Tensor z = y.sum();
  on_threads(4, [&](int) {
    for (int i = 0; i < 50; ++i) z.backward({}, true);
  });
  EXPECT_EQ(grad_of(x), (Values{200 * 23, 200 * 24}));
  EXPECT_EQ(grad_of(w), (Values{200, 400}));
}

TEST(Threads, OneLeafInGraphsOfSeveral) {
  Tensor w = leaf({1, 2});
  std::atomic<int> partial{0};
  // A complete gradient is 3 each time; a smaller one would mean that the leaf ran before all parts had arrived.
  w.register_hook([&](const Tensor& grad) {
    if (values(grad) != (Values{3, 3})) ++partial;
    return Tensor();
  });
  on_threads(4, [&](int) {
    for (int i = 0; i < 200; ++i) {
      Tensor y = w + 0;
      for (int k = 0; k < i % 100; ++k) y = y + 0;
      (w + y + w).sum().backward();
    }
  });
  EXPECT_EQ(grad_of(w), (Values{2400, 2400}));
  EXPECT_EQ(partial, 0);
}

TEST(Threads, GraphsMadeOnOneRunAndFreedOnAnother) {
  Tensor x = leaf({1});
  std::vector<Tensor> outputs(64);
  on_threads(2, [&](int t) {
    for (size_t i = t; i < outputs.size(); i += 2) {
      Tensor y = x;
      for (int k = 0; k < 50; ++k) y = y * x;
      outputs[i] = y;
    }
  });
  on_threads(2, [&](int t) {
    for (size_t i = t; i < outputs.size(); i += 2) {
      outputs[outputs.size() - 1 - i].sum().backward();
      outputs[outputs.size() - 1 - i] = Tensor();
    }
  });
  EXPECT_EQ(grad_of(x), (Values{64 * 51}));
}

TEST(Threads, AConsumedGraphIsAnErrorNotACrash) {
  for (int round = 0; round < 20; ++round) {
    Tensor x = leaf({1, 2});
    const Tensor y = (x * x * x).sum();
    std::atomic<int> done{0};
    on_threads(3, [&](int) {
      const std::string error = error_of([&] { y.backward(); });
      if (error.empty())
        ++done;
      else
        EXPECT_NE(error.find("retain_graph"), std::string::npos) << error;
    });
    EXPECT_LE(done, 1);
  }
}

TEST(Threads, ModesAreOfTheThread) {
  NoGrad guard;
  std::thread([] { EXPECT_TRUE(is_grad_enabled()); }).join();
  EXPECT_FALSE(is_grad_enabled());
}

}  // namespace
}  // namespace tenon::testing
