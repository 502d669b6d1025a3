// Works so small that what they cost is the core's: Valgrind counts the instructions of measured() for benchmarks/instructions.py.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/tenon.hpp"

using namespace tenon;

namespace {

// Plans, pools of memory and lazily bound symbols are there after the first rounds.
constexpr int kWarmUp = 20;

struct Work {
  const char* name;
  void (*run)(int rounds);
};

Tensor floats(IntList shape) { return normal(shape); }

void add(int rounds) {
  NoGrad guard;
  static const Tensor x = floats({16}), y = floats({16});
  for (int i = 0; i < rounds; ++i) (void)(x + y);
}

void add_strided(int rounds) {
  NoGrad guard;
  static const Tensor x = floats({4, 8}).transpose(0, 1), y = floats({8, 4});
  for (int i = 0; i < rounds; ++i) (void)(x + y);
}

void add_recorded(int rounds) {
  static const Tensor x = floats({16}).requires_grad_(), y = floats({16});
  for (int i = 0; i < rounds; ++i) (void)(x + y);
}

void transpose_view(int rounds) {
  NoGrad guard;
  static const Tensor x = floats({4, 8});
  for (int i = 0; i < rounds; ++i) (void)x.transpose(0, 1);
}

void mul_sum_backward(int rounds) {
  static const Tensor x = floats({4}).requires_grad_(), y = floats({4}).requires_grad_();
  for (int i = 0; i < rounds; ++i) (x * y).sum().backward();
}

// A step of a perceptron 4-8-8-2, batch 2: forward, cross-entropy, backward, SGD.
void step(int rounds) {
  static std::vector<Tensor> parameters = [] {
    std::vector<Tensor> made;
    for (auto [in, out] : {std::pair<int64_t, int64_t>{4, 8}, {8, 8}, {8, 2}}) {
      made.push_back(floats({out, in}).requires_grad_());
      made.push_back(floats({out}).requires_grad_());
    }
    return made;
  }();
  static const Tensor x = floats({2, 4}), target = randint({2}, 0, 2);
  for (int i = 0; i < rounds; ++i) {
    Tensor h = x;
    for (size_t layer = 0; layer < parameters.size(); layer += 2)
      h = linear(h, parameters[layer], parameters[layer + 1],
                 layer + 2 < parameters.size() ? "relu" : "none");
    cross_entropy(h, target).backward();
    NoGrad guard;
    std::vector<Tensor> grads;
    for (Tensor& parameter : parameters) grads.push_back(parameter.grad());
    sgd_step(parameters, grads, std::vector<Tensor>{}, 1e-3);
    for (Tensor& parameter : parameters) parameter.set_grad({});
  }
}

constexpr Work kWorks[] = {{"add", add},
                           {"add_strided", add_strided},
                           {"add_recorded", add_recorded},
                           {"transpose_view", transpose_view},
                           {"mul_sum_backward", mul_sum_backward},
                           {"step", step}};

}  // namespace

// What is counted: a symbol of its own, by which Valgrind turns counting on and off.
extern "C" [[gnu::noinline]] void measured(const Work& work, int rounds) { work.run(rounds); }

int main(int argc, char** argv) {
  const Work* chosen = nullptr;
  for (const Work& work : kWorks)
    if (argc == 3 && std::strcmp(argv[1], work.name) == 0) chosen = &work;
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 0;
  if (chosen == nullptr || rounds < 1) {
    std::fprintf(stderr, "usage: %s WORK ROUNDS; works:", argv[0]);
    for (const Work& work : kWorks) std::fprintf(stderr, " %s", work.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  manual_seed(0);
  chosen->run(kWarmUp);
  measured(*chosen, rounds);
}
