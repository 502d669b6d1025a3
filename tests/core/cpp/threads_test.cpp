// Many threads of a host use one core at once, from the first call on. Its own program, so that the first use is concurrent.
#include <gtest/gtest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "tenon/tenon.hpp"

using namespace tenon;

namespace {

constexpr int kThreads = 6, kRounds = 12;

// Runs body(thread) on all threads, which begin together; returns what went wrong, by thread.
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

// Must stay the first case: no call was made before.
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
      // Into tensors of its own: the gradient of the shared leaf would be one place for all.
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

// Looking around, memory and random numbers, beside large ops that run on a team of threads.
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

// A tensor made by one thread is used and freed by others, each with its own free lists.
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
