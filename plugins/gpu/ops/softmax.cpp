// softmax, log_softmax and their backwards along the last dimension. Rows stay in registers. Longer rows, and few long rows, are folded
// first and then read again.
#include <cmath>

#include "moments.hpp"
#include "row_kernels.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kFew = 2, kMany = 8;              // vectors of a row that a thread holds
constexpr uint32_t kFewOfPair = 1, kManyOfPair = 4;  // of each of two rows

template <class T, uint32_t kVectors>
GPU_KERNEL softmax_rows(RowShape shape, Ptr<const T> x, Ptr<T> y, bool log) {
  using C = Compute<T>;
  constexpr uint32_t kItems = kVectors * kRowVector<T>;
  const C lowest = -std::numeric_limits<C>::infinity();
  const uint32_t each = rows_of_block(shape);
  for (int64_t first = int64_t{block_index().x} * each; first < shape.rows;
       first += int64_t{block_count().x} * each) {
    const int64_t row = first + thread_index().x / shape.lanes;
    const bool any = row < shape.rows;
    C v[kItems];
    load_row<kVectors, T>(shape, any, x + (any ? row * shape.n : 0), lowest, v);
    C top = lowest;
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) top = v[k] > top ? v[k] : top;
    top = group_reduce(top, shape.lanes, Largest());  // may ignore NaN, because the sum does not
    C sum = C(0);
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) {
      const bool inside = row_place<T>(shape, k / kRowVector<T>, k % kRowVector<T>) < shape.n;
      const C e = std::exp(v[k] - top);
      sum += inside ? e : C(0);
      v[k] = log ? v[k] - top : e;
    }
    sum = group_reduce(sum, shape.lanes, Sum());
    const C scale = log ? std::log(sum) : C(1) / sum;
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) v[k] = log ? v[k] - scale : v[k] * scale;
    store_row<kVectors, T>(shape, any, y + (any ? row * shape.n : 0), v);
  }
}

// softmax: y·(g - Σ g·y); log_softmax: g - exp(y)·Σ g
template <class C>
GPU_FN C backward_of(C g, C y, C sum, bool log) {
  return log ? g - std::exp(y) * sum : y * (g - sum);
}

template <class T, uint32_t kVectors>
GPU_KERNEL softmax_backward_rows(RowShape shape, Ptr<const T> g, Ptr<const T> y, Ptr<T> gx,
                                 bool log) {
  using C = Compute<T>;
  constexpr uint32_t kItems = kVectors * kRowVector<T>;
  const uint32_t each = rows_of_block(shape);
  for (int64_t first = int64_t{block_index().x} * each; first < shape.rows;
       first += int64_t{block_count().x} * each) {
    const int64_t row = first + thread_index().x / shape.lanes;
    const bool any = row < shape.rows;
    const int64_t at = any ? row * shape.n : 0;
    C gs[kItems], ys[kItems];
    load_row<kVectors, T>(shape, any, g + at, C(0), gs);
    load_row<kVectors, T>(shape, any, y + at, C(0), ys);
    C sum = C(0);
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) sum += log ? gs[k] : gs[k] * ys[k];
    sum = group_reduce(sum, shape.lanes, Sum());
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) gs[k] = backward_of(gs[k], ys[k], sum, log);
    store_row<kVectors, T>(shape, any, gx + at, gs);
  }
}

// ---- Rows that do not fit ------------------------------------------------------------------------------------------------

template <class C>
struct RowExps : Exps<C> {
  using typename Exps<C>::State;
  Ptr<C> parts;  // maximum and sum of each row
  GPU_DEVICE void finish(int64_t row, const State& s) const {
    parts[2 * row] = s.top;
    parts[2 * row + 1] = this->is_finite(s.top) ? s.sum : std::numeric_limits<C>::quiet_NaN();
  }
};

// Σ g·y, or Σ g.
template <class C>
struct RowDots {
  using State = double;
  Source g, y;
  Ptr<C> parts;
  bool log;
  GPU_FN State start() const { return 0; }
  GPU_FN void merge(State& into, const State& other) const { into += other; }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    C gs[kFoldBlock], ys[kFoldBlock];
    load_block(g, p, C(0), gs);
    if (!log) {
      load_block(y, p, C(0), ys);
      for (uint32_t k = 0; k < kFoldBlock; ++k) gs[k] *= ys[k];
    }
    s += sum_of_block(gs);
  }
  GPU_DEVICE void finish(int64_t row, const State& s) const { parts[2 * row] = static_cast<C>(s); }
};

template <class T>
GPU_KERNEL softmax_apply(int64_t rows, int64_t n, Ptr<const T> x, Ptr<const T> y, Ptr<T> out,
                         Ptr<const Compute<T>> parts, bool log, bool backward) {
  using C = Compute<T>;
  for (int64_t row = block_index().y; row < rows; row += block_count().y) {
    const C first = parts[2 * row], sum = backward ? C(0) : C(parts[2 * row + 1]);
    const C last = log ? std::log(sum) : C(1) / sum;
    for (int64_t i = first_thread(); i < n; i += thread_count()) {
      const C v = load<T>(x, row * n + i);
      const C e = backward ? C(0) : log ? v - first - last : std::exp(v - first) * last;
      store<T>(out, row * n + i,
               backward ? backward_of(v, load<T>(y, row * n + i), first, log) : e);
    }
  }
}

enum Op : uint32_t { kSoftmax, kLogSoftmax, kSoftmaxBackward, kLogSoftmaxBackward };
bool is_log(uint32_t op) { return op == kLogSoftmax || op == kLogSoftmaxBackward; }
bool is_backward(uint32_t op) { return op >= kSoftmaxBackward; }

struct Rows {
  int64_t count, n;
  bool fit = false;
  Rows(const tn_call& call, uint32_t op) {
    const tn_view& x = input(call, arg::softmax::x);  // in a backward: g
    n = x.ndim == 0 ? 1 : x.shape[x.ndim - 1];
    count = n == 0 ? 0 : numel(x) / n;
    with_type(Floats{}, x.dtype, [&](auto tag) {
      fit = rows_fit<typename decltype(tag)::type>(count, n, is_backward(op) ? kManyOfPair : kMany);
    });
  }
  FoldShape fold() const { return plan_fold({{count, n}}, {{n, 1}}); }
  uint64_t parts() const { return static_cast<uint64_t>(count) * 16; }
};

template <class T, uint32_t kVectors>
void run_rows(const tn_call& call, uint32_t op, const Rows& rows) {
  const tn_view &x = input(call, arg::softmax::x), &y = output(call);
  const RowShape shape = plan_rows<T>(rows.count, rows.n, kVectors, {&x, &y});
  launch(call, row_grid(shape), softmax_rows<T, kVectors>, shape, in<T>(x), out<T>(y), is_log(op));
}
template <class T, uint32_t kVectors>
void run_backward_rows(const tn_call& call, uint32_t op, const Rows& rows) {
  const tn_view &g = input(call, arg::softmax_backward::g),
                &y = input(call, arg::softmax_backward::y), &gx = output(call);
  const RowShape shape = plan_rows<T>(rows.count, rows.n, kVectors, {&g, &y, &gx});
  launch(call, row_grid(shape), softmax_backward_rows<T, kVectors>, shape, in<T>(g), in<T>(y),
         out<T>(gx), is_log(op));
}

template <class T>
void run_long_rows(const tn_call& call, uint32_t op, const Rows& rows) {
  using C = Compute<T>;
  const tn_view& x = input(call, arg::softmax::x);
  const tn_view& y = is_backward(op) ? input(call, arg::softmax_backward::y) : x;
  const Ptr<C> parts = scratch<C>(call, 0, 2 * rows.count);
  if (is_backward(op))
    run_fold(call, rows.fold(), {&x, &y}, RowDots<C>{source(x), source(y), parts, is_log(op)},
             rows.parts());
  else
    run_fold(call, rows.fold(), {&x}, RowExps<C>{{source(x)}, parts}, rows.parts());
  Grid grid = grid_of(rows.n, 4);
  grid.blocks.y = static_cast<uint32_t>(std::min<int64_t>(rows.count, 65535));
  launch(call, grid, softmax_apply<T>, rows.count, rows.n, in<T>(x), in<T>(y), out<T>(output(call)),
         parts, is_log(op), is_backward(op));
}

void run_softmax(const tn_call& call, uint32_t op) {
  const Rows rows(call, op);
  if (rows.count == 0) return;
  with_type(Floats{}, input(call, arg::softmax::x).dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!rows.fit) return run_long_rows<T>(call, op, rows);
    if (is_backward(op))
      return rows_fit<T>(rows.count, rows.n, kFewOfPair)
                 ? run_backward_rows<T, kFewOfPair>(call, op, rows)
                 : run_backward_rows<T, kManyOfPair>(call, op, rows);
    rows_fit<T>(rows.count, rows.n, kFew) ? run_rows<T, kFew>(call, op, rows)
                                          : run_rows<T, kMany>(call, op, rows);
  });
}

uint64_t scratch_of(const tn_call& call, uint32_t op) {
  const Rows rows(call, op);
  return rows.fit || rows.count == 0 ? 0 : rows.parts() + fold_scratch(rows.fold());
}

}  // namespace

void add_softmax_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op) {
    list.add({.schema = schema,
              .dtypes = Floats::kMask,
              .run = run_softmax,
              .code = op,
              .scratch = scratch_of});
  };
  add(TN_SCHEMA_SOFTMAX, kSoftmax);
  add(TN_SCHEMA_LOG_SOFTMAX, kLogSoftmax);
  add(TN_SCHEMA_SOFTMAX_BACKWARD, kSoftmaxBackward);
  add(TN_SCHEMA_LOG_SOFTMAX_BACKWARD, kLogSoftmaxBackward);
}

}  // namespace tenon::gpu
