// index and index_put, NumPy's indexing by several tensors: the places of all index tensors are added up in scratch memory, then
// blocks are moved. A mask decides how many places there are: such calls are left to the host, but for one value put by one mask.
#include <algorithm>

#include "ops/deposit.hpp"
#include "shaders/index.hpp"
#include "shaders/index_at.hpp"
#include "shaders/masked_put.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

// A result element is found at before + at[b] + mid + c, with c inside a block of `inner` elements that lie side by side.
struct Axis {
  const tn_view* index;
  int64_t dim, size, step;
};
struct Kept {
  int64_t size, step;
};
struct Advanced {
  std::vector<Axis> axes;
  std::vector<Kept> before, mid;
  std::vector<int64_t> positions;  // shape of the index tensors, broadcast
  int64_t inner = 1;
  std::vector<int64_t> shape;  // of the result

  static int64_t count(const std::vector<Kept>& kept) {
    int64_t n = 1;
    for (const Kept& k : kept) n *= k.size;
    return n;
  }
  int64_t places() const {
    int64_t n = 1;
    for (const int64_t size : positions) n *= size;
    return n;
  }
  int64_t blocks() const { return count(before) * places() * count(mid); }
};

void broadcast(std::vector<int64_t>& shape, const tn_view& index) {
  if (index.ndim > shape.size()) shape.insert(shape.begin(), index.ndim - shape.size(), 1);
  for (uint32_t d = 0; d < index.ndim; ++d) {
    int64_t& size = shape[shape.size() - index.ndim + d];
    if (size == 1) size = index.shape[d];
  }
}

// x is contiguous.
Advanced read_indices(const tn_view& x, const tn_value& indices) {
  Advanced a;
  std::vector<int64_t> steps(x.ndim);
  int64_t step = 1;
  for (uint32_t d = x.ndim; d-- > 0; step *= x.shape[d]) steps[d] = step;
  std::vector<Kept> kept;
  uint32_t dim = 0, runs = 0;
  size_t place = 0;
  bool inside = false;
  for (uint32_t k = 0; k < indices.count; ++k, ++dim) {
    const tn_view* index = indices.as.views[k];
    if (index == nullptr) {
      kept.push_back({x.shape[dim], steps[dim]});
    } else {
      if (!inside && runs++ == 0) place = kept.size();
      a.axes.push_back({index, dim, x.shape[dim], steps[dim]});
      broadcast(a.positions, *index);
    }
    inside = index != nullptr;
  }
  // A slice between index tensors puts their shape first.
  if (runs != 1) place = 0;
  const auto split = kept.begin() + static_cast<std::ptrdiff_t>(place);
  a.before.assign(kept.begin(), split);
  a.mid.assign(split, kept.end());
  for (const Kept& k : a.before) a.shape.push_back(k.size);
  a.shape.insert(a.shape.end(), a.positions.begin(), a.positions.end());
  for (const Kept& k : a.mid) a.shape.push_back(k.size);
  for (; dim < x.ndim; ++dim) {
    a.inner *= x.shape[dim];
    a.shape.push_back(x.shape[dim]);
  }
  return a;
}

// at[b] into the scratch memory, from byte `offset` on.
void find_places(const tn_call& call, const char* op, const Advanced& a, uint64_t offset) {
  const uint64_t bytes = static_cast<uint64_t>(a.places()) * 4;
  if (a.axes.empty())
    stream_of(call.stream)
        .fill_words(*static_cast<const Buffer*>(call.scratch_buffer), offset, bytes, 0);
  for (size_t k = 0; k < a.axes.size(); ++k) {
    const Axis& axis = a.axes[k];
    Launch launch(call, shaders::index_at, Compute::kI32);
    launch.constant(static_cast<uint32_t>(a.positions.size())).constant(axis.index->dtype);
    launch.scratch(offset, bytes).in(*axis.index).check(op, axis.dim, axis.size);
    launch.word(a.places()).word(axis.size).word(axis.step).word(k == 0 ? 1u : 0u);
    std::vector<uint32_t> table(a.positions.begin(), a.positions.end());
    const size_t missing = a.positions.size() - axis.index->ndim;
    for (size_t d = 0; d < a.positions.size(); ++d) {
      const bool repeated = d < missing || axis.index->shape[d - missing] == 1;
      table.push_back(repeated ? 0 : static_cast<uint32_t>(axis.index->strides[d - missing]));
    }
    if (!table.empty()) launch.table(table);
    launch.elements(a.places());
  }
}

// As shaders/blocks.glsl reads them.
void give_blocks(Launch& launch, const Advanced& a) {
  launch.word(a.places()).word(Advanced::count(a.mid));
  launch.word(static_cast<uint32_t>(a.before.size())).word(static_cast<uint32_t>(a.mid.size()));
  std::vector<uint32_t> table;
  for (const auto* list : {&a.before, &a.mid}) {
    for (const Kept& k : *list) table.push_back(static_cast<uint32_t>(k.size));
    for (const Kept& k : *list) table.push_back(static_cast<uint32_t>(k.step));
  }
  if (!table.empty()) launch.table(table);
}

// args: x, indices
void run_index(const tn_call& call, uint32_t) {
  const tn_view &x = input(call, 0), &out = output(call);
  const Advanced a = read_indices(x, call.args[1]);
  if (a.places() == 0) return;
  find_places(call, "index", a, 0);
  if (numel(out) == 0) return;
  Launch launch(call, shaders::index, Compute::kI32);
  launch.constant(size_of(x.dtype)).out(out);
  in_or_none(launch, x);
  launch.scratch(0, static_cast<uint64_t>(a.places()) * 4);
  launch.word(numel(out)).word(a.inner);
  give_blocks(launch, a);
  launch.elements(numel(out));
}

uint64_t index_scratch(const tn_call& call, uint32_t) {
  return static_cast<uint64_t>(read_indices(input(call, 0), call.args[1]).places()) * 4;
}

// args: x, indices, values, accumulate
Deposit read_put(const tn_call& call, const Advanced& a) {
  const tn_view &x = input(call, 0), &values = input(call, 2);
  Deposit d;
  d.places = a.inner == 0 ? 0 : numel(x) / a.inner;
  d.rows = a.blocks();
  d.inner = a.inner;
  d.add = call.args[3].as.i != 0;
  d.x = &x;
  d.source = &values;
  if (std::ranges::equal(sdk::shape(values), a.shape)) return d;
  d.shape = a.shape;
  for (size_t k = 0; k < a.shape.size(); ++k) {
    const size_t missing = a.shape.size() - std::min<size_t>(a.shape.size(), values.ndim);
    const bool repeated = k < missing || values.shape[k - missing] == 1;
    d.steps.push_back(repeated ? 0 : values.strides[k - missing]);
  }
  return d;
}

// The mask of a call that puts one value by a mask behind slices; NULL: another call.
const tn_view* only_mask(const tn_call& call) {
  const tn_value& indices = call.args[1];
  if (indices.count == 0 || numel(input(call, 2)) != 1) return nullptr;
  const tn_view* last = indices.as.views[indices.count - 1];
  if (last == nullptr || last->dtype != TN_DTYPE_BOOL) return nullptr;
  const bool alone = std::all_of(indices.as.views, indices.as.views + indices.count - 1,
                                 [](const tn_view* index) { return index == nullptr; });
  return alone ? last : nullptr;
}

void put_by_mask(const tn_call& call, const tn_view& mask) {
  const tn_view &x = input(call, 0), &out = output(call);
  if (numel(out) == 0) return;
  int64_t inner = 1;
  for (uint32_t d = call.args[1].count - 1 + mask.ndim; d < x.ndim; ++d) inner *= x.shape[d];
  Launch launch(call, shaders::masked_put, compute_of(out.dtype));
  launch.constant(out.dtype).constant(call.args[3].as.i != 0 ? 1 : 0);
  launch.out(out).in(x).in(input(call, 2)).in(mask);
  launch.word(numel(out)).word(numel(mask)).word(inner).elements(numel(out));
}

void run_index_put(const tn_call& call, uint32_t) {
  if (const tn_view* mask = only_mask(call)) return put_by_mask(call, *mask);
  const Advanced a = read_indices(input(call, 0), call.args[1]);
  const Deposit d = read_put(call, a);
  if (a.places() > 0) find_places(call, "index_put", a, d.bytes());
  if (d.places == 0) return;
  Launch launch = keys_launch(call, d, kByBlocks);
  if (a.places() > 0)
    launch.scratch(d.bytes(), static_cast<uint64_t>(a.places()) * 4);
  else
    launch.none();
  launch.word(a.inner);
  give_blocks(launch, a);
  launch.elements(d.rows);
  finish_deposit(call, d);
}

uint64_t put_scratch(const tn_call& call, uint32_t) {
  if (only_mask(call) != nullptr) return 0;
  const Advanced a = read_indices(input(call, 0), call.args[1]);
  return read_put(call, a).bytes() + static_cast<uint64_t>(a.places()) * 4;
}

bool no_masks(const tn_call& call, uint32_t) {
  const tn_value& indices = call.args[1];
  return std::none_of(indices.as.views, indices.as.views + indices.count, [](const tn_view* index) {
    return index != nullptr && index->dtype == TN_DTYPE_BOOL;
  });
}

bool can_put(const tn_call& call, uint32_t code) {
  if (only_mask(call) != nullptr) return true;
  return no_masks(call, code) && read_put(call, read_indices(input(call, 0), call.args[1])).fits();
}

}  // namespace

void add_index_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_INDEX,
            .dtypes = kAll,
            .run = run_index,
            .supports = no_masks,
            .scratch = index_scratch});
  list.add({.schema = TN_SCHEMA_INDEX_PUT,
            .dtypes = kAll,
            .run = run_index_put,
            .supports = can_put,
            .scratch = put_scratch});
}

}  // namespace tenon::vulkan
