// scatter, scatter_add, index_add, embedding_backward, as_strided_scatter: writes rows to positions from an index or from strides.
#include <algorithm>
#include <cstdlib>

#include "ops/index_deposit.hpp"
#include "ops/move.hpp"
#include "rows.hpp"

namespace tenon::gpu {
namespace {

constexpr uint64_t kSummed = All::kMask;

// The position of each element of a layout, moved along one dimension by the index, if any.
GPU_KERNEL layout_keys(uint32_t rows, uint32_t places, Layout<1> layout, int64_t first,
                       IndexCheck check, int64_t step, Ptr<const int64_t> index,
                       Ptr<uint32_t> keys) {
  for (uint32_t j = first_thread(); j < rows; j += thread_count()) {
    int64_t place;
    layout.find(j, &place);
    int64_t at = 0;
    if (index != nullptr) at = place_of(check, index[j], j);
    keys[j] = at == kNowhere ? places : static_cast<uint32_t>(first + place + at * step);
  }
}

Layout<1> layout_of(uint32_t ndim, const int64_t* shape, const int64_t* strides) {
  LoopPart part;
  part.ndim = ndim;
  for (uint32_t d = 0; d < ndim; ++d) {
    part.shape[d] = static_cast<uint32_t>(shape[d]);
    part.strides[0][d] = strides[d];
  }
  return Layout<1>(part);
}

Deposit of_scatter(const tn_call& call, uint32_t add) { return {read_scatter(call, add != 0)}; }

void run_scatter(const tn_call& call, uint32_t add) {
  const tn_view &index = input(call, arg::scatter::index), &out = output(call);
  const Deposit d = of_scatter(call, add);
  const int64_t dim = int_arg(call, arg::scatter::dim);
  const int64_t size = out.ndim == 0 ? 1 : out.shape[dim],
                step = out.ndim == 0 ? 0 : out.strides[dim];
  int64_t strides[TN_MAX_DIMS];
  for (uint32_t k = 0; k < index.ndim; ++k) strides[k] = k == dim ? 0 : out.strides[k];
  if (d.rows > 0)
    launch(call, grid_of(d.rows), layout_keys, static_cast<uint32_t>(d.rows),
           static_cast<uint32_t>(d.places), layout_of(index.ndim, index.shape, strides), int64_t{0},
           check_of(call, add != 0 ? "scatter_add" : "scatter", dim, size), step,
           in<int64_t>(index), d.keys(call));
  finish_deposit(call, d);
}

Deposit of_index_add(const tn_call& call, uint32_t) {
  using arg = tenon::arg::index_add;
  const Around a = around(output(call), int_arg(call, arg::dim));
  Deposit d;
  d.outer = a.outer;
  d.places = a.size;
  d.rows = numel(input(call, arg::index));
  d.inner = a.inner;
  d.add = true;
  d.apart = d.rows <= 1;
  d.x = &input(call, arg::x);
  d.source = &input(call, arg::src);
  return d;
}

void run_index_add(const tn_call& call, uint32_t) {
  const Deposit d = of_index_add(call, 0);
  if (d.rows > 0)
    keys_of_list(call, d,
                 check_of(call, "index_add", int_arg(call, arg::index_add::dim), d.places, true),
                 input(call, arg::index_add::index));
  finish_deposit(call, d);
}

Deposit of_embedding(const tn_call& call, uint32_t) { return {read_embedding_backward(call)}; }

void run_embedding_backward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::embedding_backward;
  const Deposit d = of_embedding(call, 0);
  const int64_t left_out =
      call.args[arg::padding_idx].tag == TN_VALUE_INT ? int_arg(call, arg::padding_idx) : kNowhere;
  if (d.rows > 0)
    keys_of_list(call, d, check_of(call, "embedding_backward", 0, d.places),
                 input(call, arg::index), left_out);
  finish_deposit(call, d);
}

Deposit of_strided(const tn_call& call, uint32_t) { return {read_strided_scatter(call)}; }

// Whether all positions of a layout differ: each stride is larger than what the smaller ones reach.
bool is_apart(uint32_t ndim, const int64_t* shape, const int64_t* strides) {
  std::pair<int64_t, int64_t> steps[TN_MAX_DIMS];  // how far, how often
  for (uint32_t d = 0; d < ndim; ++d) steps[d] = {std::abs(strides[d]), shape[d] - 1};
  std::sort(steps, steps + ndim);
  int64_t reach = 0;
  for (uint32_t d = 0; d < ndim; ++d) {
    if (steps[d].second == 0) continue;
    if (steps[d].first <= reach) return false;
    reach += steps[d].first * steps[d].second;
  }
  return true;
}

void run_strided(const tn_call& call, uint32_t) {
  using arg = tenon::arg::as_strided_scatter;
  const tn_view &src = input(call, arg::src), &out = output(call);
  const int64_t* strides = call.args[arg::strides].as.ints;
  const int64_t first = int_arg(call, arg::offset);
  const Deposit d = of_strided(call, 0);
  if (is_apart(src.ndim, src.shape, strides)) {
    move_all(call, out, input(call, arg::x));
    Move move;
    for (uint32_t k = 0; k < src.ndim; ++k) move.add(src.shape[k], strides[k], src.strides[k]);
    return move_elements(call, move, {&out, first}, {&src});
  }
  if (d.rows > 0)
    launch(call, grid_of(d.rows), layout_keys, static_cast<uint32_t>(d.rows),
           static_cast<uint32_t>(d.places), layout_of(src.ndim, src.shape, strides), first,
           IndexCheck{}, int64_t{0}, Ptr<const int64_t>(nullptr), d.keys(call));
  finish_deposit(call, d);
}

template <Deposit (*read)(const tn_call&, uint32_t)>
void add_deposit(KernelList& list, std::string_view schema, uint64_t dtypes,
                 void (*run)(const tn_call&, uint32_t), uint32_t code = 0) {
  list.add({.schema = schema,
            .dtypes = dtypes,
            .run = run,
            .code = code,
            .supports = [](const tn_call& call, uint32_t c) { return read(call, c).fits(); },
            .scratch = [](const tn_call& call,
                          uint32_t c) { return read(call, c).bytes(output(call).dtype); }});
}

}  // namespace

void add_index_scatter_kernels(KernelList& list) {
  add_deposit<of_scatter>(list, TN_SCHEMA_SCATTER, kMovableAll, run_scatter, 0);
  add_deposit<of_scatter>(list, TN_SCHEMA_SCATTER_ADD, kSummed, run_scatter, 1);
  add_deposit<of_index_add>(list, TN_SCHEMA_INDEX_ADD, kSummed, run_index_add);
  add_deposit<of_embedding>(list, TN_SCHEMA_EMBEDDING_BACKWARD, kSummed, run_embedding_backward);
  add_deposit<of_strided>(list, TN_SCHEMA_AS_STRIDED_SCATTER, kMovableAll, run_strided);
}

}  // namespace tenon::gpu
