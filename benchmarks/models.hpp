// The works that tenon_models.cpp and peers/libtorch_models.cpp define, so that both are measured under the same names and sizes.
#pragma once

#include <benchmark/benchmark.h>

static void resnet18_step(benchmark::State& state);
static void resnet18_forward(benchmark::State& state);  // batch, height and width
static void char_gpt_step(benchmark::State& state);
static void char_gpt_forward(benchmark::State& state);
static void lstm_step(benchmark::State& state);
static void lstm_forward(benchmark::State& state);  // batch

BENCHMARK(resnet18_step);
BENCHMARK(resnet18_forward)->Args({8, 64})->Args({1, 224});
BENCHMARK(char_gpt_step);
BENCHMARK(char_gpt_forward);
BENCHMARK(lstm_step);
BENCHMARK(lstm_forward)->Arg(1)->Arg(16);

// The first calls make what later ones reuse: the machine's code for a shape, memory, an optimizer's state.
template <class Step>
void repeat(benchmark::State& state, Step step) {
  for (int i = 0; i < 3; ++i) step();
  for (auto _ : state) step();
}
