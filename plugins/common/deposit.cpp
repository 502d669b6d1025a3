#include "deposit.hpp"

#include <algorithm>

#include "call.hpp"
#include "tenon/schemas.h"

namespace tenon {

DepositCall read_put(const tn_call& call, const AdvancedIndex& index) {
  using arg = tenon::arg::index_put;
  const tn_view &x = input(call, arg::x), &values = input(call, arg::values);
  DepositCall d;
  d.places = index.inner == 0 ? 0 : numel(x) / index.inner;
  d.rows = index.blocks();
  d.inner = index.inner;
  d.add = call.args[arg::accumulate].as.i != 0;
  d.apart = index.places() <= 1;
  d.x = &x;
  d.source = &values;
  if (std::ranges::equal(sdk::shape(values), index.shape)) return d;
  d.shape = index.shape;
  const size_t missing = d.shape.size() - std::min<size_t>(d.shape.size(), values.ndim);
  for (size_t k = 0; k < d.shape.size(); ++k) {
    const bool repeated = k < missing || values.shape[k - missing] == 1;
    d.steps.push_back(repeated ? 0 : values.strides[k - missing]);
  }
  return d;
}

static_assert(arg::scatter_add::x == arg::scatter::x &&
              arg::scatter_add::dim == arg::scatter::dim &&
              arg::scatter_add::index == arg::scatter::index &&
              arg::scatter_add::src == arg::scatter::src);
DepositCall read_scatter(const tn_call& call, bool add) {
  using arg = tenon::arg::scatter;
  const tn_view &index = input(call, arg::index), &src = input(call, arg::src);
  DepositCall d;
  d.places = numel(input(call, arg::x));
  d.rows = numel(index);
  d.add = add;
  d.apart = index.ndim == 0 || index.shape[call.args[arg::dim].as.i] <= 1;
  d.x = &input(call, arg::x);
  d.source = &src;
  if (std::ranges::equal(sdk::shape(src), sdk::shape(index))) return d;
  d.shape.assign(index.shape, index.shape + index.ndim);
  for (uint32_t k = 0; k < index.ndim; ++k) d.steps.push_back(src.ndim == 0 ? 0 : src.strides[k]);
  return d;
}

DepositCall read_embedding_backward(const tn_call& call) {
  using arg = tenon::arg::embedding_backward;
  const tn_view& out = output(call);
  DepositCall d;
  d.places = out.shape[0];
  d.rows = numel(input(call, arg::index));
  d.inner = out.shape[1];
  d.add = true;
  d.apart = d.rows <= 1;
  d.source = &input(call, arg::g);
  return d;
}

DepositCall read_strided_scatter(const tn_call& call) {
  using arg = tenon::arg::as_strided_scatter;
  DepositCall d;
  d.places = numel(input(call, arg::x));
  d.rows = numel(input(call, arg::src));
  d.x = &input(call, arg::x);
  d.source = &input(call, arg::src);
  return d;
}

}  // namespace tenon
