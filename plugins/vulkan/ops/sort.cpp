// sort, topk and searchsorted along the last dimension. Stretches are sorted in shared memory and merged in pairs.
#include <algorithm>
#include <bit>

#include "kernels.hpp"
#include "shaders/searchsorted.hpp"
#include "shaders/sort.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t { kSort, kTopk };
static_assert(arg::topk::x == arg::sort::x &&
              arg::topk::result::indices == arg::sort::result::indices);
constexpr int64_t kSpan = 1024;  // as shaders/sort.comp

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Rows {
  const tn_view& x;
  int64_t count, n, kept;
  bool down, wide;
  Rows(const tn_call& call, uint32_t op)
      : x(input(call, arg::sort::x)), wide(size_of(x.dtype) == 8) {
    n = x.ndim == 0 ? 1 : x.shape[x.ndim - 1];
    count = n == 0 ? 0 : numel(x) / n;
    kept = op == kTopk ? call.args[arg::topk::k].as.i : n;
    down = call.args[op == kTopk ? arg::topk::largest : arg::sort::descending].as.i != 0;
  }
  bool whole() const { return n <= kSpan; }
  // Entries of all rows after the first stage; later stages have no more.
  int64_t entries() const {
    return count * std::min(n, ceil_div(n, kSpan) * std::min(kept, kSpan));
  }
  uint64_t bytes() const {
    return whole() ? 0 : static_cast<uint64_t>(entries()) * (wide ? 12 : 8);
  }
};

// The sorted runs of a row; the last may be shorter.
struct Runs {
  int64_t run, length;
  Runs merged(int64_t kept) const {
    const int64_t pairs = ceil_div(length, 2 * run), next = std::min(2 * run, kept);
    return {next, (pairs - 1) * next + std::min(next, length - (pairs - 1) * 2 * run)};
  }
};

void run_stage(const tn_call& call, const Rows& rows, uint32_t which, const Runs& from,
               const Runs& to, uint32_t target) {
  Launch launch(call, shaders::sort, Compute::kI32);
  launch.constant(which).constant(rows.x.dtype).constant(rows.wide).constant(rows.whole());
  launch.out(output(call)).out(output(call, arg::sort::result::indices)).in(rows.x);
  if (!rows.whole())
    launch.scratch(target * rows.bytes(), rows.bytes())
        .scratch((1 - target) * rows.bytes(), rows.bytes());
  const int64_t span =
      rows.whole() ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows.n))) : kSpan;
  launch.word(rows.count).word(rows.n).word(rows.kept).word(rows.down ? ~0u : 0u);
  launch.word(static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(span))));
  launch.word(from.run).word(from.length).word(to.run).word(to.length);
  launch.word(rows.count * from.length).word(rows.count * to.length);
  if (which != 0) return launch.elements(rows.count * (which == 1 ? from.length : rows.kept));
  launch.groups(ceil_div(rows.count, kSpan / span) * (rows.whole() ? 1 : ceil_div(rows.n, kSpan)));
}

void run_sort(const tn_call& call, uint32_t op) {
  const Rows rows(call, op);
  if (rows.count == 0 || rows.kept == 0) return;
  if (rows.whole()) return run_stage(call, rows, 0, {}, {}, 0);
  const int64_t stretches = ceil_div(rows.n, kSpan), run = std::min(kSpan, rows.kept);
  Runs runs{run, (stretches - 1) * run + std::min(run, rows.n - (stretches - 1) * kSpan)};
  run_stage(call, rows, 0, {}, runs, 0);
  uint32_t target = 1;
  for (; runs.length > runs.run; target = 1 - target) {
    const Runs next = runs.merged(rows.kept);
    run_stage(call, rows, 1, runs, next, target);
    runs = next;
  }
  run_stage(call, rows, 2, runs, {}, target);
}

uint64_t scratch(const tn_call& call, uint32_t op) { return 2 * Rows(call, op).bytes(); }

// Entries take three words each, counted in 32 bits.
bool is_countable(const tn_call& call, uint32_t) {
  return numel(input(call, arg::sort::x)) <= int64_t{1} << 30;
}

void run_searchsorted(const tn_call& call, uint32_t) {
  const tn_view &sorted = input(call, arg::searchsorted::sorted),
                &values = input(call, arg::searchsorted::values);
  const int64_t count = numel(values), n = sorted.shape[sorted.ndim - 1];
  if (count == 0) return;
  Launch launch(call, shaders::searchsorted, Compute::kI32);
  launch.constant(call.args[arg::searchsorted::right].as.i != 0)
      .constant(sorted.dtype)
      .out(output(call));
  numel(sorted) == 0 ? launch.none() : launch.in(sorted);
  launch.in(values);
  launch.word(count).word(n).word(sorted.ndim == 1 ? count : values.shape[values.ndim - 1]);
  launch.elements(count);
}

}  // namespace

void add_sort_kernels(KernelList& list) {
  for (const Op op : {kSort, kTopk})
    list.add({.schema = op == kSort ? TN_SCHEMA_SORT : TN_SCHEMA_TOPK,
              .dtypes = kAll,
              .run = run_sort,
              .code = op,
              .supports = is_countable,
              .scratch = scratch});
  list.add({.schema = TN_SCHEMA_SEARCHSORTED, .dtypes = kAll, .run = run_searchsorted});
}

}  // namespace tenon::vulkan
