// conv, conv_backward_input and conv_backward_weight: tiled products of gathered matrices. Computed directly for integers, and where the
// matrices would have few rows (depthwise).
#include "conv.hpp"

namespace tenon::gpu {
namespace {

using Three = Geometry::Three;
int64_t product(const Three& sizes) { return Geometry::product(sizes); }

// The number of products from which tiles pay off, and the length below which blocks do not split a sum.
constexpr int64_t kSmallWork = 1 << 15, kShortSum = 512;

// Derived from a call, the same for its scratch size and its run.
struct Plan {
  Geometry g;
  Pass pass;
  bool whole, wide;  // integers; 8-byte arithmetic
  int64_t m = 0, n = 0, k = 0;
  bool direct = false;
  TileSize tile = TileSize::kSmall;
  int64_t tiles = 0;
  Parts parts{1, 0};

  Plan(const tn_call& call, uint32_t code)
      : g(call, static_cast<Pass>(code)), pass(static_cast<Pass>(code)) {
    const tn_dtype dtype = output(call).dtype;
    whole = (TN_MASK(dtype) & Floats::kMask) == 0;
    wide = size_of(dtype) == 8;
    const int64_t taps = product(g.kernel), outs = g.batch * product(g.out);
    m = pass == kInput ? g.channels : g.filters;
    n = pass == kForward ? outs : pass == kInput ? g.batch * product(g.in) : g.channels * taps;
    k = pass == kForward ? g.channels * taps : pass == kInput ? g.filters * taps : outs;
    direct = whole || (m <= 4 && (pass != kWeight || n <= 128)) ||
             static_cast<double>(m) * n * k * g.groups <= kSmallWork;
    parts.length = static_cast<uint32_t>(std::min<int64_t>(k, INT32_MAX));
    if (direct || m == 0 || n == 0) return;
    tile = choose_tile(m, n, k, g.groups, true, pass == kWeight);
    tiles =
        tile == TileSize::kSmall ? SmallTile<float>::count(m, n) : MiddleTile<float>::count(m, n);
    if (pass == kWeight) parts = split_sum(k, tiles * g.groups);
  }
  int64_t results() const { return g.groups * m * n; }
  uint64_t partial_bytes() const {
    return parts.count == 1 ? 0 : static_cast<uint64_t>(parts.count * results()) * (wide ? 8 : 4);
  }
};

template <class T>
struct ConvArgs {
  Planes planes;
  Ptr<const T> weight, x, bias;  // in the weight pass: g and x
  bool aligned;                  // of the weights
  uint32_t m, n, k, part_count, part_length;
  int64_t work, results;
  Ptr<T> out;
  Ptr<Compute<T>> partial;
};

// The position at which sum (row, column) is stored.
template <Pass kPass, class T>
GPU_DEVICE int64_t result_place(const ConvArgs<T>& g, uint32_t group, uint32_t row,
                                uint32_t column) {
  if (kPass == kWeight) return (int64_t{group} * g.m + row) * g.n + column;
  const uint32_t image = g.planes.plane.divide(column);
  return ((static_cast<int64_t>(image) * g.planes.groups + group) * g.m + row) *
             g.planes.plane.divisor +
         (column - image * g.planes.plane.divisor);
}

template <class T, class S, Pass kPass>
GPU_DEVICE void put_tile(const ConvArgs<T>& g, uint32_t part, uint32_t group, uint32_t m,
                         uint32_t n, const Compute<T> (&sums)[S::kOfRow * S::kOfColumn]) {
  using C = Compute<T>;
  const uint32_t x = thread_index().x % S::kAcross, y = thread_index().x / S::kAcross;
  GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i) {
    const uint32_t row = m + sum_place<S::kOfRow, C>(i, y, S::kThreads / S::kAcross);
    if (row >= g.m) continue;
    C bias = C(0);
    if (kPass == kForward && g.bias) bias = load<T>(g.bias, int64_t{group} * g.m + row);
    GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j) {
      const uint32_t column = n + sum_place<S::kOfColumn, C>(j, x, S::kAcross);
      if (column >= g.n) continue;
      const int64_t to = result_place<kPass>(g, group, row, column);
      const C sum = sums[i * S::kOfColumn + j];
      if (kPass == kWeight && g.part_count > 1)
        g.partial[part * g.results + to] = sum;
      else
        g.out[to] = narrow<T>(sum + bias);
    }
  }
}

template <class T, class S, Pass kPass>
GPU_SIZED_KERNEL(S::kThreads, conv_tiles, ConvArgs<T> g) {
  const uint32_t down = (g.m + S::kRows - 1) / S::kRows;
  const int64_t tiles = int64_t{down} * ((g.n + S::kColumns - 1) / S::kColumns);
  for (int64_t w = block_index().x; w < g.work; w += block_count().x) {
    const auto part = static_cast<uint32_t>(w % g.part_count),
               group = static_cast<uint32_t>(w / g.part_count / tiles);
    // Tiles that read the same positions are consecutive.
    const int64_t tile = w / g.part_count % tiles;
    const uint32_t m = static_cast<uint32_t>(tile % down) * S::kRows,
                   n = static_cast<uint32_t>(tile / down) * S::kColumns, k = part * g.part_length,
                   left = g.k - k, end = k + (g.part_length < left ? g.part_length : left);
    Gathered<T, kPass> b{g.planes, g.x, group, g.n};
    Compute<T> sums[S::kOfRow * S::kOfColumn];
    if constexpr (kPass == kForward) {
      Matrix<T> a;
      a.at = g.weight + int64_t{group} * g.m * g.k;
      a.step = g.k;
      a.k_step = 1;
      a.size = g.m;
      a.by_k = true;
      a.aligned = g.aligned;
      multiply<S>(a, b, m, n, k, end, sums);
    } else if constexpr (kPass == kInput) {
      TurnedWeights<T> a{g.planes, g.weight, group, g.m};
      multiply<S>(a, b, m, n, k, end, sums);
    } else {
      Gradients<T> a{g.planes, g.weight, group, g.m};
      multiply<S>(a, b, m, n, k, end, sums);
    }
    put_tile<T, S, kPass>(g, part, group, m, n, sums);
  }
}

// One thread for each result of the forward and input pass.
template <class T, Pass kPass>
GPU_KERNEL conv_direct(ConvArgs<T> g) {
  const Planes& planes = g.planes;
  const uint32_t taps = planes.taps.divisor;
  const uint32_t depth = kPass == kInput ? planes.filters : planes.channels;
  for (int64_t i = first_thread(); i < g.results; i += thread_count()) {
    const int64_t all = i / planes.plane.divisor;  // image and channel of the result
    const auto channel = static_cast<uint32_t>(all % (int64_t{planes.groups} * g.m)),
               group = channel / g.m;
    const int64_t image = all / (int64_t{planes.groups} * g.m);
    const ConvPlace p = conv_place<kPass>(
        planes, static_cast<uint32_t>(image * planes.plane.divisor + i % planes.plane.divisor));
    Compute<T> sum = 0;
    for (uint32_t c = 0; c < depth; ++c) {
      const int64_t taps_of = kPass == kInput ? (int64_t{group} * depth + c) * g.m + channel % g.m
                                              : int64_t{channel} * depth + c;
      sum =
          plus(sum, sum_taps<T, kPass>(
                        planes, p, g.x + plane_of(planes, p, group, depth, c) * planes.source_plane,
                        g.weight + taps_of * taps));
    }
    if (kPass == kForward && g.bias) sum = plus(sum, load<T>(g.bias, channel));
    store(g.out, i, sum);
  }
}

// One product of the sum for a weight.
template <class T>
GPU_DEVICE Compute<T> weight_product(const Gradients<T>& g, Gathered<T, kWeight>& x, uint32_t row,
                                     uint32_t column, uint32_t k, uint32_t end) {
  return times(g.fetch(row, k, end).at[0], x.fetch(column, k, end).at[0]);
}

// One thread for each weight, for short sums.
template <class T>
GPU_KERNEL conv_serial_weight(ConvArgs<T> g) {
  for (int64_t i = first_thread(); i < g.results; i += thread_count()) {
    const auto row = static_cast<uint32_t>(i / g.n), column = static_cast<uint32_t>(i % g.n);
    const Gradients<T> gradients{g.planes, g.weight, row / g.m, g.m};
    Gathered<T, kWeight> gathered{g.planes, g.x, row / g.m, g.n};
    Compute<T> sum = 0;
    for (uint32_t k = 0; k < g.k; ++k)
      sum = plus(sum, weight_product<T>(gradients, gathered, row % g.m, column, k, g.k));
    store(g.out, i, sum);
  }
}

// One block for each weight.
template <class T>
GPU_KERNEL conv_direct_weight(ConvArgs<T> g) {
  using C = Compute<T>;
  GPU_SHARED(C, parts, kBlockThreads);
  const uint32_t t = thread_index().x;
  for (int64_t i = block_index().x; i < g.results; i += block_count().x) {
    const auto row = static_cast<uint32_t>(i / g.n), column = static_cast<uint32_t>(i % g.n);
    const Gradients<T> gradients{g.planes, g.weight, row / g.m, g.m};
    Gathered<T, kWeight> gathered{g.planes, g.x, row / g.m, g.n};
    C sum = 0;
    for (uint32_t k = t; k < g.k; k += kBlockThreads)
      sum = plus(sum, weight_product<T>(gradients, gathered, row % g.m, column, k, g.k));
    sync_threads();
    parts[t] = sum;
    for (uint32_t half = kBlockThreads / 2; half > 0; half /= 2) {
      sync_threads();
      if (t >= half) continue;
      const C mine = parts[t], other = parts[t + half];
      parts[t] = plus(mine, other);
    }
    if (t == 0) store(g.out, i, static_cast<C>(parts[0]));
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

Planes planes_of(const Plan& plan) {
  const Geometry& g = plan.g;
  const Three& across = plan.pass == kInput ? g.in : g.out;
  const Three& source = plan.pass == kInput ? g.out : g.in;
  Planes p;
  for (uint32_t d = 0; d < 3; ++d) {
    p.across[d] = static_cast<int32_t>(across[d]);
    p.source[d] = static_cast<int32_t>(source[d]);
    p.kernel[d] = static_cast<int32_t>(g.kernel[d]);
    p.stride[d] = static_cast<int32_t>(g.stride[d]);
    p.padding[d] = static_cast<int32_t>(g.padding[d]);
    p.dilation[d] = static_cast<int32_t>(g.dilation[d]);
    p.strides[d] = Divider(static_cast<uint32_t>(g.stride[d]));
  }
  const auto divider = [](int64_t n) {
    return Divider(static_cast<uint32_t>(std::max<int64_t>(n, 1)));
  };
  p.plane = divider(product(across));
  p.slice = divider(across[1] * across[2]);
  p.line = divider(across[2]);
  p.taps = divider(product(g.kernel));
  p.kernel_slice = divider(g.kernel[1] * g.kernel[2]);
  p.kernel_line = divider(g.kernel[2]);
  p.groups = static_cast<uint32_t>(g.groups);
  p.channels = static_cast<uint32_t>(g.channels);
  p.filters = static_cast<uint32_t>(g.filters);
  p.source_plane = product(source);
  p.strided = g.stride != Three{1, 1, 1};
  return p;
}

template <class T>
ConvArgs<T> args_of(const tn_call& call, const Plan& plan) {
  ConvArgs<T> args;
  args.planes = planes_of(plan);
  using conv_arg = arg::conv;  // conv_backward_input has g in the position of x
  using weight_arg = arg::conv_backward_weight;
  const tn_view &weight = input(call, plan.pass == kWeight ? weight_arg::g : conv_arg::weight),
                &x = input(call, plan.pass == kWeight ? weight_arg::x : conv_arg::x);
  args.weight = in<T>(weight);
  args.x = in<T>(x);
  args.bias = in_or_null<T>(plan.pass == kForward ? input_or_null(call, conv_arg::bias) : nullptr);
  constexpr int64_t kN = Matrix<T>::kTogether;
  args.aligned =
      plan.k % kN == 0 && reinterpret_cast<uintptr_t>(weight.data) % (kN * sizeof(T)) == 0;
  args.m = static_cast<uint32_t>(plan.m);
  args.n = static_cast<uint32_t>(plan.n);
  args.k = static_cast<uint32_t>(plan.k);
  args.part_count = plan.parts.count;
  args.part_length = plan.parts.length;
  args.work = plan.tiles * plan.g.groups * plan.parts.count;
  args.results = plan.results();
  args.out = out<T>(output(call));
  if (plan.parts.count > 1)
    args.partial = scratch<Compute<T>>(call, 0, plan.parts.count * plan.results());
  return args;
}

template <class T, Pass kPass>
void run_pass(const tn_call& call, const Plan& plan) {
  const ConvArgs<T> args = args_of<T>(call, plan);
  const auto blocks = [](int64_t n) {
    return static_cast<uint32_t>(std::min<int64_t>(n, 1 << 30));
  };
  if constexpr (kPass == kWeight) {
    if (plan.direct && plan.k <= kShortSum)
      return launch(call, grid_of(args.results), conv_serial_weight<T>, args);
    if (plan.direct)
      return launch(call, {{blocks(args.results), 1, 1}, {kBlockThreads, 1, 1}},
                    conv_direct_weight<T>, args);
  } else {
    if (plan.direct) return launch(call, grid_of(args.results), conv_direct<T, kPass>, args);
  }
  if constexpr (kIsFloat<T>) {
    const auto tiles = [&](auto tag) {
      using S = typename decltype(tag)::type;
      launch(call, {{blocks(args.work), 1, 1}, {S::kThreads, 1, 1}}, conv_tiles<T, S, kPass>, args);
    };
    if (plan.tile == TileSize::kSmall)
      tiles(TypeTag<SmallTile<Compute<T>>>{});
    else
      tiles(TypeTag<MiddleTile<Compute<T>>>{});
    if (plan.parts.count > 1)
      launch(call, grid_of(args.results), add_parts<T>, args.partial, args.out, args.part_count,
             args.results, args.n, Epilogue<T>{});
  }
}

void run(const tn_call& call, uint32_t code) {
  const Plan plan(call, code);
  const tn_dtype dtype = output(call).dtype;
  if (numel(output(call)) == 0) return;
  with_type(Join<Floats, Sizes>{}, plan.whole ? bits_of(dtype) : dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (plan.pass == kForward) run_pass<T, kForward>(call, plan);
    if (plan.pass == kInput) run_pass<T, kInput>(call, plan);
    if (plan.pass == kWeight) run_pass<T, kWeight>(call, plan);
  });
}

uint64_t scratch_bytes(const tn_call& call, uint32_t code) {
  return Plan(call, code).partial_bytes();
}

// Positions and products are counted in 32 bits.
bool supports(const tn_call& call, uint32_t code) {
  const Plan plan(call, code);
  const Geometry& g = plan.g;
  constexpr int64_t kMost = INT32_MAX - 1024;
  for (uint32_t d = 0; d < 3; ++d)
    if (g.in[d] + 2 * g.padding[d] + g.kernel[d] * g.dilation[d] > kMost ||
        g.out[d] * g.stride[d] > kMost)
      return false;
  return plan.m <= kMost && plan.n <= kMost && plan.k <= kMost &&
         g.batch * std::max(product(g.in), product(g.out)) <= kMost;
}

}  // namespace

void add_conv_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, Pass pass) {
    list.add({.schema = schema,
              .dtypes = Reals::kMask,
              .run = run,
              .code = pass,
              .supports = supports,
              .scratch = scratch_bytes});
  };
  add(TN_SCHEMA_CONV, kForward);
  add(TN_SCHEMA_CONV_BACKWARD_INPUT, kInput);
  add(TN_SCHEMA_CONV_BACKWARD_WEIGHT, kWeight);
}

}  // namespace tenon::gpu
