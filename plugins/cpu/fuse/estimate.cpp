#include "steps.hpp"
#include "threads.hpp"

namespace tenon::cpu {

// Memory at the speed of the first caches, or beyond them; a few ns a step and tile; what each kernel's grain says of its work.
void estimate(Fused& fused) {
  constexpr double kCall = 30, kStep = 6, kNear = 0.02, kFar = 0.1, kCache = 1 << 20, kCheap = 0.03,
                   kChained = 0.4;
  double elements = 1, bytes = 0, work = 0;
  for (const int64_t size : fused.shape) elements *= static_cast<double>(size);
  for (const Operand& operand : fused.operands) bytes += bytes_of(fused, operand);
  for (const Step& step : fused.steps)  // in cheap steps
    if (step.kind == Step::Kind::kChain)
      work += kChained * static_cast<double>(fused.chains[step.chain].size());
    else
      work +=
          static_cast<double>(kGrainCopy) /
          static_cast<double>(step.kind == Step::Kind::kCompute ? step.self->grain : kGrainCopy);
  const auto tiles = static_cast<double>(fused.tiling.count());
  fused.nanoseconds = kCall + tiles * kStep * static_cast<double>(fused.steps.size()) +
                      bytes * (bytes > kCache ? kFar : kNear) + elements * work * kCheap;
  const double worth = static_cast<double>(kGrainCopy) / std::max(work, 1.0);  // elements
  fused.grain = std::max<int64_t>(1, static_cast<int64_t>(worth * tiles / elements));
}

}  // namespace tenon::cpu
