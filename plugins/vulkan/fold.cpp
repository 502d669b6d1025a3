#include "fold.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tenon::vulkan {
namespace {

constexpr int64_t kBlock =
    4;  // elements that an invocation takes at a time, as in shaders/reduce.glsl
constexpr int64_t kAlongside = 32;    // neighbouring results that fill a stretch of memory
constexpr int64_t kTogether = 8;      // invocations that read a row together: 128 bytes at a time
constexpr uint64_t kStateBytes = 32;  // three elements and a position, at most

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
uint32_t power_of_two(int64_t at_least, int64_t most) {
  return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(at_least, 1, most)));
}
uint32_t log_of(uint32_t power) { return static_cast<uint32_t>(std::countr_zero(power)); }

// Elements for each invocation: few while the device is not full, but enough that joining the results is not most of the work.
int64_t elements_each(int64_t results, int64_t count, int64_t full) {
  return std::clamp<int64_t>(results * count / full / kBlock * kBlock, kBlock, 64 * kBlock);
}

// How many invocations of a workgroup share a result (or four, if `wide`) with `count` elements that have other results as neighbours. On a
// CPU all of them, so that it reads each cache line once.
uint32_t lanes_of_columns(int64_t results, int64_t count, const Device& device, bool wide) {
  const int64_t each = wide ? kBlock : 1, most = device.group_size();
  return power_of_two(
      count, most / power_of_two(results / each, device.is_cpu() ? most : kAlongside / each));
}

// The number of chunks to cut a result into, if a workgroup has `rows` results.
int64_t chunks_of(const FoldPlan& plan, int64_t rows, int64_t lanes, const Device& device) {
  const int64_t blocks = ceil_div(plan.results, rows), many = device.invocations() / 128;
  return std::clamp<int64_t>(plan.count / (8 * lanes * kBlock), 1,
                             std::max<int64_t>(1, many / blocks));
}

}  // namespace

bool starts_even(const tn_view* view) {
  return view != nullptr && (view->flags & TN_VIEW_SCALAR) == 0 &&
         view->offset % std::min<uint64_t>(4 * size_of(view->dtype), 16) == 0 &&
         std::all_of(view->strides, view->strides + view->ndim,
                     [](int64_t stride) { return stride >= 0; });
}

FoldPlan plan_fold(Walks kept, Walks reduced, const Device& device) {
  FoldPlan plan;
  plan.group_size = device.group_size();
  plan.results = product(kept);
  plan.count = product(reduced);
  if (plan.results == 0 || plan.count == 0) return plan;
  kept = simplified(kept);
  reduced = simplified(reduced);
  plan.columns = by_columns(kept, reduced);
  plan.even = !plan.columns && in_blocks(kept, reduced, kBlock);
  const auto four = [](const Walk& walk) { return walk.step % kBlock == 0; };
  plan.wide = plan.columns && kept.back().step == 1 && kept.back().size % kBlock == 0 &&
              std::all_of(kept.begin(), kept.end() - 1, four) &&
              std::all_of(reduced.begin(), reduced.end(), four);
  const int64_t shares =
      std::max(ceil_div(plan.count, elements_each(plan.results, plan.count, device.invocations())),
               std::min(kTogether, ceil_div(plan.count, kBlock)));
  const int64_t lanes = plan.columns ? lanes_of_columns(plan.results, shares, device, plan.wide)
                                     : power_of_two(shares, device.group_size());
  const int64_t rows = device.group_size() / lanes;
  plan.log_rows = log_of(static_cast<uint32_t>(rows));
  const int64_t step = lanes * kBlock;
  plan.chunk = ceil_div(ceil_div(plan.count,
                                 chunks_of(plan, plan.wide ? kBlock * rows : rows, lanes, device)),
                        step) *
               step;
  plan.chunks = ceil_div(plan.count, plan.chunk);
  plan.kept = std::move(kept);
  plan.reduced = std::move(reduced);
  return plan;
}

FoldPlan plan_loop(const tn_call& call) {
  auto [kept, reduced] = walks_of(call);
  return plan_fold(std::move(kept), std::move(reduced), device_of(call));
}

void Place::bind(Launch& launch) const {
  if (view != nullptr) {
    launch.out(*view);
  } else if (bytes != 0) {
    launch.scratch(offset, bytes);
  } else {
    launch.none();
  }
}

uint64_t fold_scratch(const FoldPlan& plan) {
  return plan.chunks == 1 ? 0 : static_cast<uint64_t>(plan.results * plan.chunks) * kStateBytes;
}

void run_fold(const tn_call& call, const FoldPlan& plan, const Fold& fold, uint64_t states) {
  if (plan.results == 0) return;
  const bool flat = plan.kept.size() <= 1 && plan.reduced.size() <= 1;
  const uint64_t bytes = fold_scratch(plan);
  const bool even = std::all_of(fold.ins.begin(), fold.ins.begin() + fold.arrays, starts_even);
  const bool quads = plan.even && even, wide = plan.wide && even && !fold.heavy;
  const auto stage = [&](uint32_t which, uint32_t log_rows, bool columns) {
    Launch launch(call, fold.shader, fold.compute);
    const int64_t lanes = plan.group_size >> log_rows;
    const bool whole =
        plan.count % (quads ? kBlock : kBlock * (columns ? lanes : std::min(lanes, kTogether))) ==
        0;
    launch.constant(fold.code).constant(flat).constant(which);
    launch.constant(which == 2 ? 0
                               : (quads ? 1u : 0u) | (whole ? 2u : 0u) | (wide ? 4u : 0u) |
                                     (fold.heavy ? 8u : 0u) |
                                     (columns && device_of(call).is_cpu() ? 16u : 0u));
    for (const uint32_t constant : fold.constants) launch.constant(constant);
    for (const Place& out : fold.outs) out.bind(launch);
    bytes != 0 ? launch.scratch(states, bytes) : launch.none();
    for (size_t k = 0; k < fold.ins.size(); ++k) {
      const tn_view* in = plan.count == 0 ? nullptr : fold.ins[k];
      if (in == nullptr) {
        launch.none();
      } else {
        (fold.written >> k & 1) != 0 ? launch.out(*in) : launch.in(*in);
      }
    }
    if (fold.check.op != nullptr) launch.check(fold.check.op, fold.check.dim, fold.check.size);
    launch.word(plan.results)
        .word(plan.count)
        .word(plan.chunk)
        .word(plan.chunks)
        .word(log_rows)
        .word(uint32_t{columns});
    launch.word(plan.kept.empty() ? int64_t{0} : plan.kept.back().step);
    launch.word(plan.reduced.empty() ? int64_t{0} : plan.reduced.back().step);
    launch.word(static_cast<uint32_t>(plan.kept.size()))
        .word(static_cast<uint32_t>(plan.reduced.size()));
    launch.word(launch.bias(3));
    for (const uint32_t word : fold.words) launch.word(word);
    if (!flat) {
      std::vector<uint32_t> table;
      for (const Walks* walks : {&plan.kept, &plan.reduced}) {
        for (const Walk& walk : *walks) {
          table.push_back(static_cast<uint32_t>(walk.size));
          table.push_back(static_cast<uint32_t>(static_cast<int32_t>(walk.step)));
        }
      }
      launch.table(table);
    }
    const int64_t units = which != 2 && wide ? plan.results / kBlock : plan.results;
    launch.groups(ceil_div(units, int64_t{1} << log_rows) * (which == 2 ? 1 : plan.chunks));
  };
  if (plan.chunks == 1) return stage(0, plan.log_rows, plan.columns);
  stage(1, plan.log_rows, plan.columns);
  const uint32_t lanes = lanes_of_columns(plan.results, plan.chunks, device_of(call), false);
  stage(2, log_of(plan.group_size / lanes), true);
}

std::vector<uint32_t> real_words(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return {std::bit_cast<uint32_t>(static_cast<float>(value)), static_cast<uint32_t>(bits),
          static_cast<uint32_t>(bits >> 32)};
}

}  // namespace tenon::vulkan
