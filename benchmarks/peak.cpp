// What the machine can do: fused multiply-adds and streaming reads, on every core at once.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <vector>

namespace {

// 64-byte vectors; the compiler splits them where registers are narrower.
using Floats = float __attribute__((vector_size(64)));
constexpr int kChains = 16;  // enough independent chains to hide the latency
constexpr int kSteps = 100000;

void peak_flops(benchmark::State& state) {
  int threads = omp_get_max_threads();
  for (auto _ : state) {
#pragma omp parallel
    {
      Floats sums[kChains], x = Floats{} + 0.999f, y = Floats{} + 1e-3f;
      for (int k = 0; k < kChains; ++k)
        sums[k] = Floats{} + static_cast<float>(k);  // equal chains would be one
      for (int i = 0; i < kSteps; ++i)
        for (Floats& sum : sums) sum = sum * x + y;
      for (Floats& sum : sums) benchmark::DoNotOptimize(sum);
    }
  }
  state.counters["rate"] = benchmark::Counter(2.0 * 16 * kChains * kSteps * threads,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void peak_bandwidth(benchmark::State& state) {
  std::vector<Floats> data(4 << 20, Floats{} + 1.0f);
  auto n = static_cast<int64_t>(data.size());
  for (auto _ : state) {
#pragma omp parallel
    {
      Floats sums[4] = {};  // independent, so that loads are what it waits for
#pragma omp for
      for (int64_t i = 0; i < n; i += 4)
        for (int64_t k = 0; k < 4; ++k) sums[k] += data[static_cast<size_t>(i + k)];
      for (Floats& sum : sums) benchmark::DoNotOptimize(sum);
    }
  }
  state.counters["rate"] = benchmark::Counter(64.0 * static_cast<double>(n),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(peak_flops)->UseRealTime();
BENCHMARK(peak_bandwidth)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
