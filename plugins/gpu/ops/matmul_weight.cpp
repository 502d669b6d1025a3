// linear_backward_weight: tiles compute gᵀ·x. The blocks in the first column of tiles also sum g, which they read anyway.
#include "matmul.hpp"

namespace tenon::gpu {
namespace {

template <class T>
struct Problem {
  using C = Compute<T>;
  Matrix<T> g, x;  // its columns are rows of the product
  uint32_t m, n, k, part_count, part_length;
  int64_t work;  // tiles, times their parts
  Ptr<T> gweight, gbias;
  Ptr<C> products, sums;  // for each part, if sums are split

  int64_t results() const { return int64_t{m} * n; }
};

// Also sums the rows of a tile.
template <class S, class C>
struct RowSums {
  C at[S::kOfRow] = {};
  bool wanted;
  GPU_DEVICE void operator()(uint32_t i, const C& element) {
    if (wanted) at[i] += element;
  }
};

template <class T>
struct Rounded {
  GPU_DEVICE T operator()(const Compute<T>& sum, uint32_t) const { return narrow<T>(sum); }
};

template <class T, class S>
GPU_SIZED_KERNEL(S::kThreads, multiply_and_sum, Problem<T> p) {
  using C = Compute<T>;
  const uint32_t x = thread_index().x % S::kAcross, y = thread_index().x / S::kAcross;
  for (int64_t w = block_index().x; w < p.work; w += block_count().x) {
    const auto part = static_cast<uint32_t>(w % p.part_count);
    const TilePlace place = tile_place<S>(w / p.part_count, p.m, p.n);
    const uint32_t k = part * p.part_length, left = p.k - k,
                   end = k + (p.part_length < left ? p.part_length : left);
    C products[S::kOfRow * S::kOfColumn];
    RowSums<S, C> rows{{}, place.column == 0};
    multiply<S>(p.g, p.x, place.row, place.column, k, end, products, rows);
    const bool split = p.part_count > 1;
    if (split)
      store_tile<S>(products, place, p.m, p.n, p.products + int64_t{part} * p.m * p.n, AsTheyAre());
    else
      store_tile<S>(products, place, p.m, p.n, p.gweight, Rounded<T>());
    if (place.column != 0 || x != 0) continue;
    GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i) {
      const uint32_t row = place.row + sum_place<S::kOfRow, C>(i, y, S::kThreads / S::kAcross);
      if (row >= p.m) continue;
      if (split)
        p.sums[int64_t{part} * p.m + row] = rows.at[i];
      else
        p.gbias[row] = narrow<T>(rows.at[i]);
    }
  }
}

// Adds all parts in order: gweight, followed by gbias.
template <class T>
GPU_KERNEL add_parts_of_both(Problem<T> p) {
  using C = Compute<T>;
  const int64_t results = int64_t{p.m} * p.n;
  for (int64_t i = first_thread(); i < results + p.m; i += thread_count()) {
    const bool product = i < results;
    const int64_t at = product ? i : i - results, step = product ? results : p.m;
    const Ptr<C> from = product ? p.products : p.sums;
    C sum = from[at];
    for (uint32_t part = 1; part < p.part_count; ++part) {
      const C more = from[part * step + at];
      sum += more;
    }
    (product ? p.gweight : p.gbias)[at] = narrow<T>(sum);
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

// Derived from a call, the same for its scratch size and its run.
struct Plan {
  Product product;
  TileSize tile;
  Parts parts;
  int64_t tiles;

  explicit Plan(const tn_call& call) : product(read_weight_gradient(call)) {
    const Product& p = product;
    const bool wide = output(call).dtype == TN_DTYPE_F64;
    tile = choose_tile(p.m, p.n, p.k, 1, wide, true);
    tiles = tile == TileSize::kLarge   ? LargeTile::count(p.m, p.n)
            : tile == TileSize::kSmall ? SmallTile<float>::count(p.m, p.n)
                                       : MiddleTile<float>::count(p.m, p.n);
    parts = split_sum(p.k, tiles);
  }
  int64_t products() const { return parts.count * product.m * product.n; }
  int64_t sums() const { return parts.count * product.m; }
};

template <class T>
Matrix<T> columns_of(const Product::Operand& operand, int64_t size, int64_t pitch) {
  constexpr int64_t kN = Matrix<T>::kTogether;
  const tn_view& view = *operand.view;
  const bool aligned =
      pitch % kN == 0 && reinterpret_cast<uintptr_t>(view.data) % (kN * sizeof(T)) == 0;
  return {in<T>(view), 1, pitch, static_cast<uint32_t>(size), false, aligned};
}

template <class T>
void run_typed(const tn_call& call, const Plan& plan) {
  using C = Compute<T>;
  using names = arg::linear_backward_weight::result;
  const Product& p = plan.product;
  Problem<T> problem{columns_of<T>(p.a, p.m, p.a.column),
                     columns_of<T>(p.b, p.n, p.b.row),
                     static_cast<uint32_t>(p.m),
                     static_cast<uint32_t>(p.n),
                     static_cast<uint32_t>(p.k),
                     plan.parts.count,
                     plan.parts.length,
                     plan.tiles * plan.parts.count,
                     out<T>(output(call, names::gweight)),
                     out<T>(output(call, names::gbias)),
                     nullptr,
                     nullptr};
  const bool split = plan.parts.count > 1;
  if (split) {
    problem.products = scratch<C>(call, 0, plan.products());
    problem.sums =
        scratch<C>(call, static_cast<uint64_t>(plan.products()) * sizeof(C), plan.sums());
  }
  with_tile<C>(plan.tile, [&](auto tag) {
    using S = typename decltype(tag)::type;
    launch(call,
           {{static_cast<uint32_t>(std::min<int64_t>(problem.work, 1 << 30)), 1, 1},
            {S::kThreads, 1, 1}},
           multiply_and_sum<T, S>, problem);
  });
  if (split) launch(call, grid_of(p.m * p.n + p.m), add_parts_of_both<T>, problem);
}

void run(const tn_call& call, uint32_t) {
  const Plan plan(call);
  with_type(Floats{}, output(call).dtype,
            [&](auto tag) { run_typed<typename decltype(tag)::type>(call, plan); });
}

uint64_t scratch_bytes(const tn_call& call, uint32_t) {
  const Plan plan(call);
  const uint64_t each = output(call).dtype == TN_DTYPE_F64 ? 8 : 4;
  return plan.parts.count == 1 ? 0 : each * static_cast<uint64_t>(plan.products() + plan.sums());
}

// Everything that a library may be asked for and may refuse.
bool supports(const tn_call& call, uint32_t) {
  const Product p = read_weight_gradient(call);
  return p.fits() && p.n > 0 && p.k > 0;
}

}  // namespace

void add_matmul_weight_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_LINEAR_BACKWARD_WEIGHT,
            .dtypes = Floats::kMask,
            .run = run,
            .supports = supports,
            .scratch = scratch_bytes});
}

}  // namespace tenon::gpu
