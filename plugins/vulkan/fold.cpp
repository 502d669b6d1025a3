#include "fold.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tenon::vulkan {
namespace {

constexpr int64_t kBlock = 4;  // elements an invocation takes at a time, as shaders/reduce.glsl
constexpr int64_t kManyGroups = 1024;  // enough for any device
constexpr int64_t kFull = 1 << 17;     // invocations at once that fill any device
constexpr int64_t kAlongside = 32;     // results side by side that fill a stretch of memory
constexpr uint64_t kStateBytes = 32;   // three elements and a position, at most

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
uint32_t power_of_two(int64_t at_least, int64_t most) {
  return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(at_least, 1, most)));
}
uint32_t log_of(uint32_t power) { return static_cast<uint32_t>(std::countr_zero(power)); }

// Without dimensions of size 1, neighbours merged where they lie as one.
void simplify(std::vector<Span>& spans) {
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (span.size == 1) continue;
    if (!out.empty() && out.back().step == span.size * span.step) {
      out.back() = {out.back().size * span.size, span.step};
    } else {
      out.push_back(span);
    }
  }
  spans = std::move(out);
}

int64_t product(const std::vector<Span>& spans) {
  int64_t n = 1;
  for (const Span& span : spans) n *= span.size;
  return n;
}

// Four elements of a view can be read at a time: from its begin they lie at boundaries. Negative strides begin elsewhere.
bool starts_even(const tn_view* view) {
  return view != nullptr && (view->flags & TN_VIEW_SCALAR) == 0 &&
         view->offset % std::min<uint64_t>(4 * size_of(view->dtype), 16) == 0 &&
         std::all_of(view->strides, view->strides + view->ndim,
                     [](int64_t stride) { return stride >= 0; });
}

// Elements for an invocation: few while the device is not full of invocations, never so few that joining them is most of the work.
int64_t elements_each(int64_t results, int64_t count) {
  return std::clamp<int64_t>(results * count / kFull / kBlock * kBlock, kBlock, 16 * kBlock);
}

// Invocations of a workgroup that share a result whose parts lie `count` deep beside other results.
uint32_t lanes_of_columns(int64_t results, int64_t count, uint32_t group_size) {
  return power_of_two(count, group_size / power_of_two(results, kAlongside));
}

}  // namespace

FoldPlan plan_fold(std::vector<Span> kept, std::vector<Span> reduced, uint32_t group_size) {
  FoldPlan plan;
  plan.group_size = group_size;
  plan.results = product(kept);
  plan.count = product(reduced);
  if (plan.results == 0 || plan.count == 0) return plan;
  simplify(kept);
  simplify(reduced);
  plan.columns = !kept.empty() && !reduced.empty() &&
                 std::abs(kept.back().step) < std::abs(reduced.back().step);
  const int64_t shares = ceil_div(plan.count, elements_each(plan.results, plan.count));
  const uint32_t lanes = plan.columns ? lanes_of_columns(plan.results, shares, group_size)
                                      : power_of_two(shares, group_size);
  plan.log_rows = log_of(group_size / lanes);
  const int64_t blocks = ceil_div(plan.results, group_size / lanes), step = lanes * kBlock;
  plan.chunks =
      std::clamp<int64_t>(plan.count / (8 * step), 1, std::max<int64_t>(1, kManyGroups / blocks));
  plan.chunk = ceil_div(ceil_div(plan.count, plan.chunks), step) * step;
  plan.chunks = ceil_div(plan.count, plan.chunk);
  const auto four = [](const Span& span) { return span.step % kBlock == 0; };
  plan.even = !plan.columns && !reduced.empty() && reduced.back().step == 1 &&
              (reduced.size() == 1 || reduced.back().size % kBlock == 0) &&
              std::all_of(kept.begin(), kept.end(), four) &&
              std::all_of(reduced.begin(), reduced.end() - 1, four);
  plan.kept = std::move(kept);
  plan.reduced = std::move(reduced);
  return plan;
}

FoldPlan plan_loop(const tn_call& call) {
  const tn_loop& loop = *call.loop;
  std::vector<Span> kept, reduced;
  for (uint32_t d = 0; d < loop.ndim; ++d)
    (d < loop.ndim - loop.reduced ? kept : reduced).push_back({loop.shape[d], loop.strides[1][d]});
  return plan_fold(std::move(kept), std::move(reduced), group_size_of(call));
}

uint32_t group_size_of(const tn_call& call) {
  return backend().device(call.device_index).group_size();
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
  const bool quads =
      plan.even && std::all_of(fold.ins.begin(), fold.ins.begin() + fold.arrays, starts_even);
  const auto stage = [&](uint32_t which, uint32_t log_rows, bool columns) {
    Launch launch(call, fold.shader, fold.compute);
    launch.constant(fold.code).constant(flat).constant(which).constant(which != 2 && quads);
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
      for (const auto* spans : {&plan.kept, &plan.reduced}) {
        for (const Span& span : *spans) {
          table.push_back(static_cast<uint32_t>(span.size));
          table.push_back(static_cast<uint32_t>(static_cast<int32_t>(span.step)));
        }
      }
      launch.table(table);
    }
    launch.groups(ceil_div(plan.results, int64_t{1} << log_rows) * (which == 2 ? 1 : plan.chunks));
  };
  if (plan.chunks == 1) return stage(0, plan.log_rows, plan.columns);
  stage(1, plan.log_rows, plan.columns);
  stage(2, log_of(plan.group_size / lanes_of_columns(plan.results, plan.chunks, plan.group_size)),
        true);
}

std::vector<uint32_t> real_words(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return {std::bit_cast<uint32_t>(static_cast<float>(value)), static_cast<uint32_t>(bits),
          static_cast<uint32_t>(bits >> 32)};
}

}  // namespace tenon::vulkan
