// matmul and linear: tiled, or row by row if there are few rows. Operands may have any strides and are not copied.
#include "matmul.hpp"
#include "layout.hpp"
#include "thin.hpp"

namespace tenon::gpu {
namespace {

enum Op : uint32_t { kMatmul, kLinear };
constexpr int64_t kThin = 4;  // rows

// Derived from a call, the same for its scratch size and its run.
struct Plan {
  Product product;
  bool whole, wide;  // integers; 8-byte arithmetic
  bool thin;
  ThinShape shape = ThinShape::kAlongColumns;
  TileSize tile = TileSize::kMiddle;
  int64_t blocks = 0;  // before sums are split
  Parts parts{1, 0};

  Plan(const tn_call& call, uint32_t op)
      : product(op == kMatmul ? read_matmul(call) : read_linear(call)) {
    const Product& p = product;
    const tn_dtype dtype = output(call).dtype;
    whole = (TN_MASK(dtype) & Floats::kMask) == 0;
    wide = size_of(dtype) == 8;
    thin = p.m <= kThin && !whole;
    if (p.empty()) return;
    if (thin) {
      // Neighbouring threads read neighbours in b: along k, or along the columns.
      shape = p.b.row == 1 && p.k >= 64 ? ThinShape::kAlongK : ThinShape::kAlongColumns;
      blocks = thin_blocks(shape, p.n) * p.batches;
    } else {
      tile = whole ? TileSize::kMiddle : choose_tile(p.m, p.n, p.k, p.batches, wide, true);
      blocks = tile_count() * p.batches;
    }
    parts = split_sum(p.k, blocks);
  }
  int64_t tile_count() const {
    if (tile == TileSize::kLarge) return LargeTile::count(product.m, product.n);
    return tile == TileSize::kSmall ? SmallTile<float>::count(product.m, product.n)
                                    : MiddleTile<float>::count(product.m, product.n);
  }
  int64_t results() const { return product.batches * product.m * product.n; }
  uint64_t partial_bytes() const {
    return parts.count == 1 ? 0 : static_cast<uint64_t>(parts.count * results()) * (wide ? 8 : 4);
  }
};

// The arguments of a product's kernels.
template <class T>
struct ProductArgs {
  Matrix<T> a, b;
  Layout<2> batches;  // where each entry begins in a and b
  uint32_t m, n, k, part_count, part_length;
  int64_t work;  // number of blocks
  int64_t results;
  Ptr<T> out;
  Ptr<Compute<T>> partial;  // partial results, if sums are split
  Epilogue<T> finish;
};

template <class T, class S>
GPU_SIZED_KERNEL(S::kThreads, multiply_tiles, ProductArgs<T> g) {
  using C = Compute<T>;
  const int64_t tiles =
      int64_t{(g.n + S::kColumns - 1) / S::kColumns} * ((g.m + S::kRows - 1) / S::kRows);
  for (int64_t w = block_index().x; w < g.work; w += block_count().x) {
    const auto part = static_cast<uint32_t>(w % g.part_count);
    const int64_t batch = w / g.part_count / tiles, first = batch * g.m * g.n;
    const TilePlace place = tile_place<S>(w / g.part_count % tiles, g.m, g.n);
    int64_t places[2];
    g.batches.find(static_cast<uint32_t>(batch), places);
    Matrix<T> a = g.a, b = g.b;
    a.at += places[0];
    b.at += places[1];
    const uint32_t k = part * g.part_length, left = g.k - k;
    C sums[S::kOfRow * S::kOfColumn];
    multiply<S>(a, b, place.row, place.column, k, k + (g.part_length < left ? g.part_length : left),
                sums);
    if (g.part_count > 1)
      store_tile<S>(sums, place, g.m, g.n, g.partial + (part * g.results + first), AsTheyAre());
    else
      store_tile<S>(sums, place, g.m, g.n, g.out + first, g.finish);
  }
}

// The destination of a batch entry's sums. Passed by value: a reference to kernel parameters makes hipcc copy them all to memory.
template <class T>
struct ThinTarget {
  Ptr<T> out;
  Ptr<Compute<T>> partial;
  Epilogue<T> finish;
  int64_t first;
  uint32_t columns;
  bool split;

  GPU_DEVICE void operator()(uint32_t row, uint32_t column, Compute<T> sum) const {
    const int64_t to = first + int64_t{row} * columns + column;
    if (split)
      partial[to] = sum;
    else
      out[to] = finish(sum, column);
  }
};

// Few rows: see thin.hpp.
template <class T, ThinShape kShape, uint32_t kRows>
GPU_KERNEL multiply_thin(ProductArgs<T> g) {
  const int64_t each = g.work / g.part_count;
  const auto blocks = static_cast<int64_t>(thin_blocks(kShape, g.n));
  for (int64_t w = block_index().x; w < g.work; w += block_count().x) {
    const auto part = static_cast<uint32_t>(w / each);
    const int64_t batch = w % each / blocks;
    int64_t places[2];
    g.batches.find(static_cast<uint32_t>(batch), places);
    Matrix<T> a = g.a, b = g.b;
    a.at += places[0];
    b.at += places[1];
    const uint32_t k = part * g.part_length, left = g.k - k;
    const uint32_t end = k + (g.part_length < left ? g.part_length : left);
    const auto block = static_cast<uint32_t>(w % each % blocks);
    const ThinTarget<T> put{g.out,    g.partial,
                            g.finish, batch * g.m * g.n + (g.part_count > 1 ? part * g.results : 0),
                            g.n,      g.part_count > 1};
    if constexpr (kShape == ThinShape::kAlongK)
      thin_along_k<T, kRows>(a, b, block, k, end, put);
    else
      thin_along_columns<T, kRows>(a, b, block, k, end, put);
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

// How an operand is traversed: `step` along its rows (columns of b), `k_step` along k.
struct Walk {
  int64_t size, step, k_step;
  bool by_k() const { return k_step == 1 || step != 1; }
};

template <class T>
Matrix<T> matrix_of(const Product& p, const Product::Operand& operand, const Walk& walk,
                    bool by_k) {
  Matrix<T> made;
  if (p.k > 0) made.at = in<T>(*operand.view);
  made.step = walk.step;
  made.k_step = walk.k_step;
  made.size = static_cast<uint32_t>(walk.size);
  made.by_k = by_k;
  constexpr int64_t kN = Matrix<T>::kTogether;
  const int64_t along = by_k ? walk.k_step : walk.step, across = by_k ? walk.step : walk.k_step;
  made.aligned = along == 1 && across % kN == 0 &&
                 reinterpret_cast<uintptr_t>(operand.view->data) % (kN * sizeof(T)) == 0;
  for (uint32_t d = 0; d < p.ndim; ++d) made.aligned &= operand.batch[d] % kN == 0;
  return made;
}

Layout<2> batches_of(const Product& p) {
  LoopPart part;
  part.ndim = p.ndim;
  for (uint32_t d = 0; d < p.ndim; ++d) {
    part.shape[d] = static_cast<uint32_t>(p.shape[d]);
    part.strides[0][d] = p.a.batch[d];
    part.strides[1][d] = p.b.batch[d];
  }
  return Layout<2>(part);
}

template <class T>
void launch_thin(const tn_call& call, const Plan& plan, const ProductArgs<T>& args) {
  const Grid grid{{static_cast<uint32_t>(std::min<int64_t>(args.work, 1 << 20)), 1, 1},
                  {kThinThreads, 1, 1}};
  const bool one = plan.product.m == 1;
  if (plan.shape == ThinShape::kAlongK)
    launch(call, grid,
           one ? multiply_thin<T, ThinShape::kAlongK, 1> : multiply_thin<T, ThinShape::kAlongK, 4>,
           args);
  else
    launch(call, grid,
           one ? multiply_thin<T, ThinShape::kAlongColumns, 1>
               : multiply_thin<T, ThinShape::kAlongColumns, 4>,
           args);
}

template <class T>
void run_typed(const tn_call& call, const Plan& plan, Activation activation) {
  const Product& p = plan.product;
  ProductArgs<T> args;
  const Walk a{p.m, p.a.row, p.a.column}, b{p.n, p.b.column, p.b.row};
  const bool along_k = plan.shape == ThinShape::kAlongK;
  args.a = matrix_of<T>(p, p.a, a, plan.thin ? along_k : a.by_k());
  args.b = matrix_of<T>(p, p.b, b, plan.thin ? along_k : b.by_k());
  args.batches = batches_of(p);
  args.m = static_cast<uint32_t>(p.m);
  args.n = static_cast<uint32_t>(p.n);
  args.k = static_cast<uint32_t>(p.k);
  args.part_count = plan.parts.count;
  args.part_length = plan.parts.length;
  args.results = plan.results();
  args.out = out<T>(output(call));
  args.finish.bias = in_or_null<T>(p.bias);
  args.finish.bias_step = p.bias_step;
  args.finish.activation = activation;
  args.finish.is_signed = (TN_MASK(output(call).dtype) & TN_MASK_SIGNED) != 0;
  args.work = plan.blocks * plan.parts.count;
  if (plan.parts.count > 1)
    args.partial = scratch<Compute<T>>(call, 0, plan.parts.count * plan.results());
  bool done = false;
  if constexpr (kIsFloat<T>)
    if ((done = plan.thin)) launch_thin<T>(call, plan, args);
  if (!done)
    with_tile<Compute<T>>(plan.tile, [&](auto tag) {
      using S = typename decltype(tag)::type;
      launch(call,
             {{static_cast<uint32_t>(std::min<int64_t>(args.work, 1 << 30)), 1, 1},
              {S::kThreads, 1, 1}},
             multiply_tiles<T, S>, args);
    });
  if (plan.parts.count > 1)
    launch(call, grid_of(args.results), add_parts<T>, args.partial, args.out, args.part_count,
           args.results, args.n, args.finish);
}

void run(const tn_call& call, uint32_t op) {
  const Plan plan(call, op);
  if (plan.product.empty()) return;
  const Activation activation =
      op == kLinear ? activation_of(text_arg(call, arg::linear::activation)) : kNone;
  const tn_dtype dtype = output(call).dtype;
  with_type(Join<Floats, Sizes>{}, plan.whole ? bits_of(dtype) : dtype,
            [&](auto tag) { run_typed<typename decltype(tag)::type>(call, plan, activation); });
}

uint64_t scratch_bytes(const tn_call& call, uint32_t op) { return Plan(call, op).partial_bytes(); }

bool supports(const tn_call& call, uint32_t op) { return Plan(call, op).product.fits(); }

}  // namespace

void add_matmul_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Op op) {
    list.add({.schema = schema,
              .dtypes = Reals::kMask,
              .run = run,
              .code = op,
              .flags = TN_KERNEL_STRIDED,
              .supports = supports,
              .scratch = scratch_bytes});
  };
  add(TN_SCHEMA_MATMUL, kMatmul);
  add(TN_SCHEMA_LINEAR, kLinear);
}

}  // namespace tenon::gpu
