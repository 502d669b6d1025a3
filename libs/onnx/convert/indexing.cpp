// Reads and writes elements by index.
#include <algorithm>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// -1 means the last.
Tensor from_front(const Tensor& index, int64_t size) {
  const Tensor wide = index.to(DType::I64);
  return where(less(wide, 0), wide + size, wide);
}

Tensor gathered(const Call& call) {
  const Tensor x = call.x(0), index = call.x(1);
  const int64_t axis = wrap(call.i("axis", 0), x.ndim());
  Ints sizes = shape_of(x);
  const auto at = sizes.erase(sizes.begin() + axis);
  sizes.insert(at, index.shape().begin(), index.shape().end());
  return x.index_select(axis, from_front(index, x.shape(axis)).reshape({-1})).reshape(sizes);
}

Tensor gather_elements(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t axis = wrap(call.i("axis", 0), x.ndim());
  return x.gather(axis, from_front(call.x(1), x.shape(axis)));
}

// 0, 1, … n - 1, where the other operands are. A trace records it, so n may vary.
Tensor counted(int64_t n, const Tensor& like) {
  const Tensor made = arange(0, n, 1, DType::I64);
  return traced(Value(like)) ? made : made.to(like.device());
}

// Splits positions (…, k) into one tensor per coordinate, after `batch` dimensions that count up.
std::vector<Tensor> coordinates(const Tensor& x, const Tensor& index, int64_t batch) {
  std::vector<Tensor> list;
  const int64_t rank = index.ndim() - 1;
  for (int64_t d = 0; d < batch; ++d) {
    Ints sizes(static_cast<size_t>(rank), 1);
    sizes[static_cast<size_t>(d)] = x.shape(d);
    list.push_back(counted(x.shape(d), x).reshape(sizes));
  }
  for (int64_t k = 0; k < index.shape(rank); ++k)
    list.push_back(from_front(index.select(rank, k), x.shape(batch + k)));
  return list;
}

Tensor gather_nd(const Call& call) {
  const Tensor x = call.x(0), positions = call.x(1);
  const std::vector<Tensor> list = coordinates(x, positions, call.i("batch_dims", 0));
  return index(x, list);
}

enum class Combine { Replace, Add, Mul, Max, Min };
Combine combine_of(const Call& call) {
  const std::string name = call.s("reduction", "none");
  static constexpr std::pair<const char*, Combine> kNames[] = {{"none", Combine::Replace},
                                                               {"add", Combine::Add},
                                                               {"mul", Combine::Mul},
                                                               {"max", Combine::Max},
                                                               {"min", Combine::Min}};
  for (const auto& [known, combine] : kNames)
    if (name == known) return combine;
  call.fail("reduction " + name);
}

std::string_view reduce_of(Combine combine) {
  if (combine == Combine::Add) return "sum";
  if (combine == Combine::Mul) return "prod";
  return combine == Combine::Max ? "amax" : "amin";
}

Tensor scatter_elements(const Call& call) {
  const Tensor x = call.x(0), updates = call.x(2);
  const int64_t axis = wrap(call.i("axis", 0), x.ndim());
  const Tensor index = from_front(call.x(1), x.shape(axis));
  const Combine combine = combine_of(call);
  if (combine == Combine::Replace) return scatter(x, axis, index, updates);
  if (combine == Combine::Add) return scatter_add(x, axis, index, updates);
  return scatter_reduce(x, axis, index, updates, reduce_of(combine));
}

Tensor scatter_nd(const Call& call) {
  const Tensor x = call.x(0), updates = call.x(2);
  const std::vector<Tensor> list = coordinates(x, call.x(1), 0);
  const Combine combine = combine_of(call);
  if (combine == Combine::Replace || combine == Combine::Add)
    return index_put(x, list, updates, combine == Combine::Add);
  const Tensor places = counted(x.numel(), x).reshape(x.shape());
  const Tensor at = index(places, list).reshape({-1});
  return scatter_reduce(x.reshape({-1}), 0, at, updates.reshape({-1}), reduce_of(combine))
      .reshape(x.shape());
}

Tensor one_hot_of(const Call& call) {
  const Tensor index = call.x(0);
  const int64_t depth = call.integer(1);
  const std::vector<Tensor> values = call.x(2).unbind(0);
  const Tensor wide = index.to(DType::I64);
  Tensor hot =
      equal(from_front(wide, depth).unsqueeze(-1), host(
                                                       [&] {
                                                         Ints classes(static_cast<size_t>(depth));
                                                         for (size_t i = 0; i < classes.size(); ++i)
                                                           classes[i] = static_cast<int64_t>(i);
                                                         return classes;
                                                       }(),
                                                       depth, DType::I64, index.device()));
  Ints order;
  for (int64_t d = 0; d < index.ndim(); ++d) order.push_back(d);
  const int64_t axis = wrap(call.i("axis", -1), index.ndim() + 1);
  order.insert(order.begin() + axis, index.ndim());
  return where(hot.permute(order), values[1], values[0]);
}

// The indices where the condition holds. On the host, because their number depends on the values.
Tensor held(const Tensor& condition) { return nonzero(condition.reshape({-1})).reshape({-1}); }

Tensor compressed(const Call& call) {
  const Tensor x = call.x(0), condition = call.x(1);
  if (call.find("axis") == nullptr) return x.reshape({-1}).index_select(0, held(condition));
  return x.index_select(wrap(call.i("axis", 0), x.ndim()), held(condition));
}

Tensor reverse_sequence(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t batch = call.i("batch_axis", 1), time = call.i("time_axis", 0);
  if (batch == time || batch > 1 || time > 1 || batch < 0 || time < 0)
    call.fail("time and batch are the first two dimensions");
  const Ints lengths = call.ints(1);
  const int64_t steps = x.shape(time);
  Ints index;  // (time, batch)
  for (int64_t t = 0; t < steps; ++t)
    for (const int64_t length : lengths) index.push_back(t < length ? length - 1 - t : t);
  Ints sizes(static_cast<size_t>(x.ndim()), 1);
  sizes[0] = steps;
  sizes[1] = static_cast<int64_t>(lengths.size());
  const Tensor sequence = time == 0 ? x : x.transpose(0, 1);
  const Tensor places = host(index, sizes, DType::I64, x.device()).expand(sequence.shape());
  const Tensor made = sequence.gather(0, places);
  return time == 0 ? made : made.transpose(0, 1);
}

// Unique rows along an axis, sorted or in order of first appearance.
Results unique_of(const Call& call) {
  const Tensor given = call.x(0);
  const bool flat = call.find("axis") == nullptr;
  const int64_t axis = flat ? 0 : wrap(call.i("axis", 0), given.ndim());
  const Tensor x = (flat ? given.reshape({-1}) : given).cpu();
  const int64_t n = x.shape(axis);
  const Tensor rows = x.transpose(0, axis).reshape({n, n == 0 ? 0 : -1}).contiguous();
  const std::vector<double> elements = read<double>(rows);
  const auto width = static_cast<size_t>(n == 0 ? 0 : rows.shape(1));
  const auto row = [&](int64_t i) {
    return std::span(elements).subspan(static_cast<size_t>(i) * width, width);
  };
  const auto before = [&](int64_t a, int64_t b) {
    return std::ranges::lexicographical_compare(row(a), row(b));
  };
  Ints order(static_cast<size_t>(n));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::ranges::stable_sort(order, before);
  Ints firsts, counts, inverse(order.size());
  for (const int64_t i : order) {
    if (firsts.empty() || before(firsts.back(), i)) {
      firsts.push_back(i);
      counts.push_back(0);
    }
    ++counts.back();
    inverse[static_cast<size_t>(i)] = static_cast<int64_t>(firsts.size()) - 1;
  }
  if (!call.flag("sorted", true)) {
    Ints by_place(firsts.size());
    for (size_t i = 0; i < by_place.size(); ++i) by_place[i] = static_cast<int64_t>(i);
    std::ranges::sort(by_place, {}, [&](int64_t i) { return firsts[static_cast<size_t>(i)]; });
    Ints rank(firsts.size()), new_firsts, new_counts;
    for (size_t i = 0; i < by_place.size(); ++i) {
      const auto old = static_cast<size_t>(by_place[i]);
      rank[old] = static_cast<int64_t>(i);
      new_firsts.push_back(firsts[old]);
      new_counts.push_back(counts[old]);
    }
    for (int64_t& one : inverse) one = rank[static_cast<size_t>(one)];
    firsts = std::move(new_firsts);
    counts = std::move(new_counts);
  }
  return {x.index_select(axis, host(firsts)).to(given.device()), host(firsts), host(inverse),
          host(counts)};
}

// Writes new keys or values into each sequence of a cache, at its own position.
Tensor tensor_scatter(const Call& call) {
  const Tensor cache = call.x(0), update = call.x(1);
  const int64_t axis = wrap(call.i("axis", -2), cache.ndim()), size = cache.shape(axis),
                length = update.shape(axis);
  const bool circular = call.s("mode", "linear") == "circular";
  const Ints starts = call.has(2) ? call.ints(2) : Ints(static_cast<size_t>(cache.shape(0)), 0);
  Ints index;
  for (const int64_t start : starts)
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = circular ? (start + i) % size : start + i;
      if (at < 0 || at >= size)
        call.fail("position " + std::to_string(at) + " of " + std::to_string(size));
      index.push_back(at);
    }
  Ints sizes(static_cast<size_t>(cache.ndim()), 1);
  sizes[0] = static_cast<int64_t>(starts.size());
  sizes[static_cast<size_t>(axis)] = length;
  return scatter(cache, axis, host(index, sizes, DType::I64, cache.device()).expand(update.shape()),
                 update);
}

}  // namespace

Family indexing_ops() {
  static const Entry ops[] = {
      {"Gather", 1, gathered},
      {"GatherElements", 11, gather_elements},
      {"GatherND", 11, gather_nd},
      {"Scatter", 9, scatter_elements},
      {"ScatterElements", 11, scatter_elements},
      {"ScatterND", 11, scatter_nd},
      {"OneHot", 9, one_hot_of},
      {"Compress", 9, compressed},
      {"NonZero", 9, [](const Call& call) { return nonzero(call.x(0)).transpose(0, 1); }},
      {"ReverseSequence", 10, reverse_sequence},
      {"Unique", 11, unique_of},
      {"TensorScatter", 24, tensor_scatter},
      {"ArrayFeatureExtractor", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         const Tensor rows = x.ndim() == 1 ? x.unsqueeze(0) : x;
         return rows.index_select(rows.ndim() - 1, call.x(1).to(DType::I64).reshape({-1}));
       },
       kMl},
  };
  return ops;
}

}  // namespace tenon::onnx
