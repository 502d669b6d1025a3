// Many threads of a host use one core at once, from the very first call. A program of its own, so that the first use is concurrent.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "tenon/tenon.hpp"

using namespace tenon;

namespace {

constexpr int kThreads = 6, kRounds = 12;

// Runs body(thread) on all threads, which begin together. Returns each thread's problem.
template <class Body>
std::vector<std::string> together(Body&& body) {
  std::vector<std::string> problems(kThreads);
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        body(i, problems[static_cast<size_t>(i)]);
      } catch (const std::exception& error) {
        problems[static_cast<size_t>(i)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return problems;
}

void expect(std::string& problem, bool holds, const char* what) {
  if (!holds && problem.empty()) problem = what;
}

const std::vector<std::string> kFine(kThreads);

}  // namespace

// Must stay the first case: no call may come before it.
TEST(Threads, FindPluginsAtTheSameTime) {
  const auto problems = together([](int, std::string& problem) {
    const Tensor sum = full({4}, 2.0) + full({4}, 3.0);
    expect(problem, (sum == 5).all().item<bool>(), "a sum made during discovery is wrong");
    expect(problem, !devices().empty(), "no device");
  });
  EXPECT_EQ(problems, kFine);
}

TEST(Threads, TrainOnSharedWeights) {
  const Tensor weight = full({32, 32}, 0.5).requires_grad_();
  const auto problems = together([&](int thread, std::string& problem) {
    const double scale = thread + 1;
    for (int round = 0; round < kRounds; ++round) {
      const Tensor x = full({8, 32}, scale);
      const Tensor loss = matmul(x, weight).sum();
      expect(problem, loss.item<double>() == 8 * 32 * 32 * 0.5 * scale, "the loss is wrong");
      // Each thread writes into its own tensors, because the gradient of the shared leaf would be a single place for all.
      const Tensor grad = gradient(loss, weight);
      expect(problem, (grad == 8 * scale).all().item<bool>(), "the gradient is wrong");
    }
  });
  EXPECT_EQ(problems, kFine);
}

TEST(Threads, KeepTheirOwnModesAndErrors) {
  const auto problems = together([](int thread, std::string& problem) {
    const Tensor x = full({3}, 1.0).requires_grad_();
    for (int round = 0; round < kRounds; ++round) {
      if (thread % 2 == 0) {
        NoGrad guard;
        expect(problem, !(x * 2).requires_grad(), "recorded though off on this thread");
      } else {
        expect(problem, (x * 2).requires_grad(), "off though on on this thread");
      }
      try {
        matmul(full({2, thread + 3}, 1.0), full({2, 2}, 1.0));
        expect(problem, false, "shapes that do not fit were multiplied");
      } catch (const Error& error) {
        const std::string own = std::to_string(thread + 3);
        expect(problem, std::string(error.what()).find(own) != std::string::npos,
               "the error speaks of another thread's call");
      }
    }
  });
  EXPECT_EQ(problems, kFine);
}

// Queries of devices, memory and random numbers, while large ops run on a team of threads.
TEST(Threads, LookAroundWhileOthersCompute) {
  const auto problems = together([](int thread, std::string& problem) {
    Device cpu("cpu");
    for (int round = 0; round < kRounds; ++round) {
      if (thread < 2) {
        const Tensor x = full({200, 200}, 1.0);
        expect(problem, matmul(x, x).sum().item<double>() == 200.0 * 200 * 200,
               "the product is wrong");
      } else if (thread == 2) {
        for (const PluginInfo& plugin : plugins())
          expect(problem, !plugin.path.empty(), "a plugin without a path");
        discover_plugins();
      } else if (thread == 3) {
        const Tensor mine = full({1 << 20}, 1.0);
        cpu.trim_memory();
        expect(problem, cpu.memory().used >= sizeof(float) << 20, "a live tensor is not counted");
      } else {
        const Tensor noise = uniform({1000});
        expect(problem, (noise >= 0).all().item<bool>() && (noise < 1).all().item<bool>(),
               "uniform numbers outside [0, 1)");
      }
    }
  });
  EXPECT_EQ(problems, kFine);
}

// One thread makes a tensor and others use and free it, each with its own free lists.
TEST(Threads, HandTensorsOn) {
  std::vector<Tensor> made(kThreads);
  EXPECT_EQ(together([&](int thread, std::string&) {
              made[static_cast<size_t>(thread)] = full({64}, double(thread)).requires_grad_() * 2;
            }),
            kFine);
  const auto problems = together([&](int thread, std::string& problem) {
    const int other = (thread + 1) % kThreads;
    Tensor taken = std::move(made[static_cast<size_t>(other)]);
    expect(problem, taken.sum().item<double>() == 64 * 2.0 * other, "the other's tensor is wrong");
    taken.sum().backward();
  });
  EXPECT_EQ(problems, kFine);
}

// Settings of the whole process are changed and read while ops run; the results must not change.
TEST(Threads, ChangeSettingsWhileOthersCompute) {
  const tn_write_fn ignore = [](void*, tn_str) {};
  const Op add("add");
  const auto problems = together([&](int thread, std::string& problem) {
    Device cpu("cpu");
    for (int round = 0; round < kRounds; ++round) {
      if (thread == 0) {
        tn_fallback_set(round % 2 == 0 ? TN_FALLBACK_WARN : TN_FALLBACK_ALLOW);
        tn_placement_enable(round % 2);
        tn_placement_report(ignore, nullptr);
      } else if (thread == 1) {
        tn_status_release(tn_op_explain(add.get(), cpu.get(), TN_DTYPE_F32, ignore, nullptr));
        expect(problem, tn_op_provider(add.get(), cpu.get(), TN_DTYPE_F32).size != 0,
               "nobody offers add");
        for (uint32_t i = 0; i < tn_op_count(); ++i)
          expect(problem, tn_op_schema(tn_op_at(i)).size != 0, "an op without a schema");
      } else if (thread == 2) {
        cpu.set_memory_limit(uint64_t{1} << (40 + round % 2));
        cpu.reset_memory_peak();
        expect(problem, best_device().defined() && cpu.info().compute_units != 0, "no device");
      } else if (thread == 3) {
        manual_seed(static_cast<uint64_t>(round));
        default_generator().set_state(default_generator().state());
      } else {
        const Tensor noise = uniform({1000});
        expect(problem, ((noise + 1) - noise - 1).abs().max().item<float>() < 1e-6f,
               "a sum is wrong");
      }
    }
  });
  EXPECT_EQ(problems, kFine);
  tn_fallback_set(TN_FALLBACK_WARN);
  tn_placement_enable(0);
  Device("cpu").set_memory_limit(0);
}

// Nothing writes to it, so every thread may read it and take views.
TEST(Threads, LookAtOneTensor) {
  const Tensor leaf = arange(24.0).reshape({4, 6}).detach().requires_grad_();
  Tensor base = leaf * 1;
  const Tensor view = base[1];
  base.mul_(2);  // the first thread that reads the view gives it its new history
  const auto problems = together([&](int thread, std::string& problem) {
    for (int round = 0; round < kRounds; ++round) {
      const Tensor mine = view;  // another reference to the same handle
      expect(problem, mine.requires_grad() && mine.grad_fn_name() != "",
             "the view lost its history");
      const Tensor part = mine.narrow(0, thread % 3, 2), plain = base.detach();
      expect(problem, part.detach()[0].item<float>() == 2 * (6.0f + static_cast<float>(thread % 3)),
             "a part is wrong");
      expect(problem, tn_tensor_shares_storage(plain.get(), base.get()) != 0, "detach copied");
      const Tensor grad = gradient(part.sum(), leaf, {.retain_graph = true});
      expect(problem, grad.sum().item<float>() == 4, "the gradient is wrong");
      expect(problem, to_string(plain).size() > 24, "nothing was printed");
      DLManagedTensorVersioned* exported = nullptr;
      tn_tensor* back = nullptr;
      detail::check(tn_tensor_to_dlpack(plain.get(), &exported));
      detail::check(tn_tensor_from_dlpack(exported, &back));
      expect(problem, Tensor::adopt(back).data<float>() == plain.data<float>(), "DLPack copied");
    }
  });
  EXPECT_EQ(problems, kFine);
}

TEST(Threads, HooksComeAndGoWhileOthersRunBackward) {
  const Tensor leaf = full({8}, 1.0).requires_grad_();
  std::atomic<int> seen{0};
  const auto problems = together([&](int thread, std::string& problem) {
    for (int round = 0; round < kRounds; ++round) {
      if (thread < 3) {
        const uint64_t id = Tensor(leaf).register_hook([&](const Tensor& grad) {
          ++seen;
          return grad;
        });
        (leaf * 2).sum().backward();
        Tensor(leaf).remove_hook(id);
      } else {
        (leaf * 2).sum().backward();
        expect(problem, leaf.is_leaf(), "no leaf any more");
      }
    }
  });
  EXPECT_EQ(problems, kFine);
  EXPECT_GE(seen, 3 * kRounds);
  EXPECT_EQ(leaf.grad().sum().item<float>(), 8 * 2 * kThreads * kRounds);
}

struct Square : Function<Square> {
  Tensor forward(const Tensor& x) {
    const Tensor y = x * x;
    save({x, y});
    return y;
  }
  // Each thread uses its own result, in a graph of gradients that is built anew.
  Tensor backward(const Tensor& grad) { return grad * 2 * saved(1) / saved(0); }
};

TEST(Threads, OneFunctionRunsBackwardOnAll) {
  const Tensor x = full({4}, 3.0).requires_grad_();
  const Tensor y = Square::apply(x).sum();
  const auto problems = together([&](int, std::string& problem) {
    for (int round = 0; round < kRounds; ++round) {
      const Tensor first = gradient(y, x, {.create_graph = true});
      expect(problem, (first == 6).all().item<bool>(), "the gradient is wrong");
      const Tensor second = gradient(first.sum(), x);
      expect(problem, (second == 2).all().item<bool>(), "the second gradient is wrong");
    }
  });
  EXPECT_EQ(problems, kFine);
}

TEST(Threads, SeeOnlyTheirOwnCalls) {
  const auto problems = together([](int thread, std::string& problem) {
    int calls = 0;
    tn_call_hooks hooks{};
    hooks.struct_size = sizeof hooks;
    hooks.ctx = &calls;
    hooks.before = [](void* ctx, const tn_op*, const tn_value*, uint32_t) -> tn_status* {
      ++*static_cast<int*>(ctx);
      return nullptr;
    };
    const Tensor x = full({3}, 1.0);
    tn_call_hooks_set(&hooks);
    for (int round = 0; round <= thread; ++round) neg(x);
    tn_call_hooks_set(nullptr);
    neg(x);
    expect(problem, calls == thread + 1, "the hook saw another number of calls");
  });
  EXPECT_EQ(problems, kFine);
}
