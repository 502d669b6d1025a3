// What calls of grid_sample and of its gradient read, a block of outputs at a time: worked out once for all channels.
#include <algorithm>
#include <vector>

#include "../../common/grid.hpp"
#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "ops/halves.hpp"
#include "threads.hpp"

#if defined(TENON_CPU_GRID_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_GRID_INL
#undef TENON_CPU_GRID_INL
#else
#define TENON_CPU_GRID_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

constexpr int64_t kBlock = 128;  // outputs

// A call's operands, in what it computes in.
template <class C>
struct Operands {
  GridGeometry of;
  const C *x, *grid;
  int64_t blocks() const { return (of.out_plane + kBlock - 1) / kBlock; }
  int64_t grain(int64_t elements) const {
    return std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, elements * of.taps_of_output()));
  }
};

// The outputs of one sample from `first` on.
struct Block {
  int64_t sample, first, count;
  template <class C>
  Block(const Operands<C>& operands, int64_t i)
      : sample(i / operands.blocks()),
        first(i % operands.blocks() * kBlock),
        count(std::min(kBlock, operands.of.out_plane - first)) {}
};

// How the weights of a block's taps change with each coordinate of the grid.
template <class Spot, class C>
struct Slopes {
  HWY_ALIGN C of[3][Spot::kCount][kBlock];
};

// Bilinear taps of f32, which are read a vector at a time.
template <class Spot, class C>
constexpr bool kInLanes = HWY_TARGET != HWY_SCALAR&& std::is_same_v<C, float>&& Spot::kCount == 4;
// What two taps read along a dimension, for a vector of coordinates: as GridAxis<float, 2>, without mirrors and slopes.
template <class D>
struct AxisLanes {
  using Index = hn::Vec<hn::RebindToSigned<D>>;
  Index at[2];  // -1: nothing
  hn::Vec<D> weight[2];

  HWY_INLINE AxisLanes(D d, hn::Vec<D> coordinate, int32_t size, const GridGeometry& g) {
    const hn::RebindToSigned<D> signs;
    const auto one = hn::Set(d, 1), most = hn::Set(d, static_cast<float>(kMostGridPlaces));
    const auto wide = static_cast<float>(size), slope = (g.align ? wide - 1 : wide) / 2;
    const auto c = hn::IfThenElse(hn::IsNaN(coordinate), hn::Neg(one),
                                  hn::Min(hn::Max(coordinate, hn::Neg(most)), most));
    auto place =
        hn::Sub(hn::Mul(hn::Add(c, one), hn::Set(d, slope)), hn::Set(d, g.align ? 0.0F : 0.5F));
    if (g.padding == GridPadding::kBorder)
      place = hn::Min(hn::Max(place, hn::Zero(d)), hn::Set(d, wide - 1));
    place = hn::IfThenElse(hn::Lt(hn::Abs(place), most), place, hn::Set(d, -2));
    const auto base = hn::Floor(place);
    weight[1] = hn::Sub(place, base);
    weight[0] = hn::Sub(one, weight[1]);
    const auto first = hn::ConvertTo(signs, base);
    for (int32_t k = 0; k < 2; ++k) {
      const auto there = hn::Add(first, hn::Set(signs, k));
      const auto outside =
          hn::Or(hn::Lt(there, hn::Zero(signs)), hn::Gt(there, hn::Set(signs, size - 1)));
      at[k] = hn::IfThenElse(outside, hn::Set(signs, -1), there);
    }
  }
};

// Taps of a block's outputs; behind the last of them they read the first element, for nothing.
template <class Spot, class C>
struct Taps {
  static constexpr uint32_t kCount = Spot::kCount;
  using Index = hwy::MakeSigned<C>;
  HWY_ALIGN Index at[kCount][kBlock];  // in a plane of x; −1: nothing is read
  HWY_ALIGN C weight[kCount][kBlock];
  bool whole;  // every tap reads something

  HWY_INLINE void read(const Operands<C>& operands, const Block& block,
                       Slopes<Spot, C>* slopes = nullptr) {
    const GridGeometry& g = operands.of;
    const C* place = operands.grid + (block.sample * g.out_plane + block.first) * g.spatial;
    const bool plain = g.spatial == 2 && g.padding != GridPadding::kReflection;
    if constexpr (kInLanes<Spot, C>)
      if (plain && slopes == nullptr) return read_lanes(g, place, block.count);
    Index least = 0;
    for (int64_t i = 0; i < block.count; ++i, place += g.spatial) {
      const Spot spot(g, place[0], place[1], g.spatial == 3 ? place[2] : C(0));
      for (uint32_t k = 0; k < kCount; ++k) {
        at[k][i] = spot.at(k);
        weight[k][i] = spot.weight(k);
        least = std::min(least, at[k][i]);
        for (uint32_t c = 0; slopes != nullptr && c < g.spatial; ++c)
          slopes->of[c][k][i] = spot.slope(k, c);
      }
    }
    end_behind(block.count);
    whole = least == 0;
  }
  HWY_INLINE void end_behind(int64_t count) {
    for (uint32_t k = 0; k < kCount; ++k) {
      std::fill(at[k] + count, at[k] + kBlock, Index(0));
      std::fill(weight[k] + count, weight[k] + kBlock, C(0));
    }
  }
  HWY_INLINE void read_lanes([[maybe_unused]] const GridGeometry& g,
                             [[maybe_unused]] const float* place, [[maybe_unused]] int64_t count) {
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> signs;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto width = hn::Set(signs, g.in[2]);
    HWY_ALIGN float rest[2 * hn::MaxLanes(d)] = {};
    auto least = hn::Zero(signs);
    for (int64_t i = 0; i < count; i += lanes) {
      const float* from = place + 2 * i;
      if (i + lanes > count) from = std::copy_n(from, 2 * (count - i), rest) - 2 * (count - i);
      auto u = hn::Zero(d), v = u;
      hn::LoadInterleaved2(d, from, u, v);
      const AxisLanes x(d, u, g.in[2], g), y(d, v, g.in[1], g);
      for (uint32_t k = 0; k < kCount; ++k) {
        const auto b = y.at[k / 2], c = x.at[k % 2];
        const auto index = hn::IfThenElse(hn::Lt(hn::Or(b, c), hn::Zero(signs)), hn::Set(signs, -1),
                                          hn::Add(hn::Mul(b, width), c));
        hn::Store(index, signs, at[k] + i);
        hn::Store(hn::Mul(y.weight[k / 2], x.weight[k % 2]), d, weight[k] + i);
        least = hn::Min(least, index);
      }
    }
    end_behind(count);
    whole = hn::GetLane(hn::MinOfLanes(signs, least)) == 0;
#endif
  }
  // What tap k of the outputs from i on reads of a plane; 0 outside.
  template <class D>
  HWY_INLINE hn::Vec<D> values(D d, const C* plane, uint32_t k, int64_t i) const {
    const hn::RebindToSigned<D> signs;
    const auto index = hn::Load(signs, at[k] + i);
    if (whole) return hn::GatherIndex(d, plane, index);
    const auto none = hn::Zero(signs);
    return hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(index, hn::Set(signs, -1))),
                              hn::GatherIndex(d, plane, hn::Max(index, none)));
  }
};

// Two taps along each row of x, read as one number of 64 bits, since gathers cost by the number of their lanes: (bi)linear taps of f32.
template <class Spot, class C>
constexpr bool kInPairs = HWY_TARGET != HWY_SCALAR&& std::is_same_v<C, float> &&
                          (Spot::kCount == 4 || Spot::kCount == 8);
// At an edge a tap's neighbour is read beside it, and masked.
template <class Spot>
struct Pairs {
  static constexpr uint32_t kRows = Spot::kCount / 2;
  HWY_ALIGN int64_t at[kRows][kBlock];         // bytes from the plane's begin
  HWY_ALIGN float weight[kRows][2 * kBlock];   // of an output's first and second element
  HWY_ALIGN uint32_t read[kRows][2 * kBlock];  // all bits where the element counts
  bool swapped[kRows][kBlock];                 // the first element is the second tap
  bool whole;

  // Whether there are two elements side by side.
  static bool fit(const GridGeometry& g) { return g.in[2] > 1; }
  explicit Pairs(const Taps<Spot, float>& taps) : whole(taps.whole) {
    for (uint32_t r = 0; r < kRows; ++r)
      for (int64_t i = 0; i < kBlock; ++i) {
        const int32_t a = taps.at[2 * r][i], b = taps.at[2 * r + 1][i];
        const bool later = a >= 0 && b < 0, sooner = a < 0 && b >= 0;
        at[r][i] = int64_t{4} * (later ? a - 1 : sooner ? b : std::max(a, 0));
        const uint32_t first = later || sooner ? 1 : 0, second = 1 - first;
        swapped[r][i] = first == 1;
        float* const w = weight[r] + 2 * i;
        uint32_t* const counts = read[r] + 2 * i;
        w[0] = w[1] = 0, counts[0] = counts[1] = 0;
        if (a >= 0) w[first] = taps.weight[2 * r][i], counts[first] = ~0u;
        if (b >= 0) w[second] = taps.weight[2 * r + 1][i], counts[second] = ~0u;
      }
  }
  // The elements of the outputs from i on, as many as fill a vector by twos; 0 where none counts.
  template <class D>
  HWY_INLINE hn::Vec<D> values(D d, [[maybe_unused]] const float* plane,
                               [[maybe_unused]] uint32_t r, [[maybe_unused]] int64_t i) const {
#if HWY_TARGET == HWY_SCALAR
    return hn::Zero(d);
#else
    const hn::Repartition<uint64_t, D> two;
    const hn::RebindToSigned<decltype(two)> offset;
    const auto* const begin = reinterpret_cast<const uint64_t*>(plane);
    const auto v = hn::BitCast(d, hn::GatherOffset(two, begin, hn::Load(offset, at[r] + i)));
    if (whole) return v;
    return hn::And(v, hn::BitCast(d, hn::Load(hn::RebindToUnsigned<D>(), read[r] + 2 * i)));
#endif
  }
};

// An operand or result in what is computed in: halves by way of a copy.
template <class T>
const Compute<T>* widened(const tn_view& view, std::vector<Compute<T>>& copy) {
  if constexpr (is_half_v<T>) {
    copy.resize(static_cast<size_t>(numel(view)));
    widen_all(data_of<const T>(view), copy.data(), numel(view));
    return copy.data();
  } else {
    return data_of<const T>(view);
  }
}
template <class T>
struct Result {
  const tn_view& view;
  std::vector<Compute<T>> copy;
  explicit Result(const tn_view& to) : view(to), copy(is_half_v<T> ? size_t(numel(to)) : 0) {}
  Compute<T>* data() {
    if constexpr (is_half_v<T>) return copy.data();
    if constexpr (!is_half_v<T>) return data_of<T>(view);
  }
  void finish() {
    if constexpr (is_half_v<T>) round_all(copy.data(), data_of<T>(view), numel(view));
  }
};

// run(Tag<Spot>, operands) for the call's dtype and taps; T is the dtype's type.
template <class arg, class T, class Run>
void with_operands(const tn_call& call, const Run& run) {
  using C = Compute<T>;
  std::vector<C> x, grid;
  const Operands<C> operands{GridGeometry::of<arg>(call), widened<T>(input(call, arg::x), x),
                             widened<T>(input(call, arg::grid), grid)};
  with_grid_taps(operands.of,
                 [&]<class Taps>(Taps) { run(Tag<typename Taps::template spot<C>>(), operands); });
}

template <class arg>
bool fits(const tn_call& call) {
  return GridGeometry::of<arg>(call).fits();
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
