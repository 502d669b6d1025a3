// The geometry of view ops: shape, strides and offset of the result from those of the argument.
#include "shape/view.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/record.hpp"
#include "dispatch/call.hpp"
#include "tenon/autograd.h"

namespace tenon::core {
namespace {

Ref contiguous_copy(tn_tensor& x) {
  static const tn_op& op = builtin("contiguous");
  const Without quiet(TN_MODE_GRAD);
  const tn_value arg = tensor_value(&x);
  return call_one(op, &arg, 1);
}

tn_tensor* with_dims(const tn_tensor& x, const Dims& shape, const Dims& strides,
                     int64_t offset = 0) {
  return make_view(x, shape, strides, offset);
}

// Sizes and strides of the dimensions that `keep` says yes to.
template <class Keep>
void kept_dims(const tn_tensor& x, Keep&& keep, Dims& shape, Dims& strides) {
  for (uint32_t d = 0; d < x.ndim(); ++d) {
    if (!keep(d)) continue;
    shape.push(x.shape()[d]);
    strides.push(x.strides()[d]);
  }
}

// Strides that give `x` the shape `shape` over the same elements; false when there are none. Walks
// both shapes from the back and matches runs of dimensions of x that lie without gaps.
bool strides_for(const tn_tensor& x, const Dims& shape, Dims& strides) {
  if (x.contiguous() || x.numel == 0) {
    strides = contiguous_strides(shape);
    return true;
  }
  strides = shape;
  auto to = static_cast<int64_t>(shape.size()) - 1;
  int64_t run = 1;  // elements in the current run of x
  for (auto from = static_cast<int64_t>(x.ndim()) - 1, last = from; from >= 0; --from) {
    run *= x.shape()[from];
    const int64_t base = x.strides()[last];
    const bool joins =
        from > 0 && (x.shape()[from - 1] == 1 || x.strides()[from - 1] == base * run);
    if (joins) continue;
    int64_t covered = 1;
    while (to >= 0 && (covered < run || shape[to] == 1)) {
      strides[to] = base * covered;
      covered *= shape[to--];
    }
    if (covered != run) return false;
    run = 1;
    last = from - 1;
  }
  for (; to >= 0; --to) strides[to] = 1;
  return true;
}

tn_tensor* reshaped(tn_tensor& x, const Dims& shape) {
  Dims strides;
  if (strides_for(x, shape, strides)) return with_dims(x, shape, strides);
  const Ref copy = contiguous_copy(x);
  return with_dims(*copy, shape, contiguous_strides(shape));
}

// Fills in the one size given as -1.
Dims complete_shape(const Frame& frame, const tn_tensor& x, std::span<const int64_t> wanted) {
  frame.require(wanted.size() <= TN_MAX_DIMS, "{} dims are more than {}", wanted.size(),
                TN_MAX_DIMS);
  Dims shape(wanted);
  int64_t known = 1;
  int unknown = -1;
  for (uint32_t d = 0; d < shape.n; ++d) {
    if (shape[d] == -1) {
      frame.require(unknown < 0, "shape {} has more than one -1", format_shape(wanted));
      unknown = static_cast<int>(d);
    } else {
      frame.require(shape[d] >= 0, "shape {} has a negative size", format_shape(wanted));
      frame.require(!__builtin_mul_overflow(known, shape[d], &known), "shape {} is too large",
                    format_shape(wanted));
    }
  }
  if (unknown >= 0 && known > 0) {
    shape[unknown] = x.numel / known;
    known *= shape[unknown];
  } else if (unknown >= 0) {
    frame.fail(TN_INVALID_ARGUMENT,
               "the -1 in {} could be any size, as the other sizes hold no element",
               format_shape(wanted));
  }
  frame.require(known == x.numel, "a tensor of shape {} ({} elements) has no shape {}",
                format_shape(x.sizes()), x.numel, format_shape(wanted));
  return shape;
}

tn_tensor* view_reshape(Frame& frame, tn_tensor& x) {
  return reshaped(x, complete_shape(frame, x, frame.ints(1)));
}

tn_tensor* view_flatten(Frame& frame, tn_tensor& x) {
  if (x.ndim() == 0) {
    const int64_t one[] = {1};
    return with_dims(x, Dims(one), Dims(one));
  }
  const uint32_t start = frame.wrap_dim(frame.integer(1), x.ndim());
  const uint32_t end = frame.wrap_dim(frame.integer(2), x.ndim());
  frame.require(start <= end, "start {} lies behind end {}", start, end);
  Dims shape(x.sizes().first(start + 1));
  for (uint32_t d = start + 1; d < x.ndim(); ++d)
    d <= end ? static_cast<void>(shape[start] *= x.shape()[d]) : shape.push(x.shape()[d]);
  return reshaped(x, shape);
}

tn_tensor* view_permute(Frame& frame, tn_tensor& x) {
  const auto dims = frame.ints(1);
  frame.require(dims.size() == x.ndim(), "{} dims given for a tensor of rank {}", dims.size(),
                x.ndim());
  Dims shape, strides;
  uint32_t seen = 0;
  for (const int64_t dim : dims) {
    const uint32_t d = frame.wrap_dim(dim, x.ndim());
    frame.require((seen & (1u << d)) == 0, "dim {} is given twice", dim);
    seen |= 1u << d;
    shape.push(x.shape()[d]);
    strides.push(x.strides()[d]);
  }
  return with_dims(x, shape, strides);
}

Dims sizes_of(const tn_tensor& x) { return Dims(x.sizes()); }
Dims strides_of(const tn_tensor& x) { return Dims(std::span(x.strides(), x.ndim())); }

tn_tensor* view_transpose(Frame& frame, tn_tensor& x) {
  const uint32_t a = frame.wrap_dim(frame.integer(1), x.ndim());
  const uint32_t b = frame.wrap_dim(frame.integer(2), x.ndim());
  Dims shape = sizes_of(x), strides = strides_of(x);
  if (x.ndim() > 0) {
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
  }
  return with_dims(x, shape, strides);
}

tn_tensor* view_expand(Frame& frame, tn_tensor& x) {
  const auto wanted = frame.ints(1);
  frame.require(wanted.size() >= x.ndim() && wanted.size() <= TN_MAX_DIMS,
                "shape {} does not expand to {}", format_shape(x.sizes()), format_shape(wanted));
  const size_t added = wanted.size() - x.ndim();
  Dims shape, strides;
  for (size_t d = 0; d < wanted.size(); ++d) {
    const bool fresh = d < added;
    const int64_t have = fresh ? 1 : x.shape()[d - added];
    const int64_t size = !fresh && wanted[d] == -1 ? have : wanted[d];
    frame.require(size >= 0 && (size == have || have == 1), "shape {} does not expand to {}",
                  format_shape(x.sizes()), format_shape(wanted));
    shape.push(size);
    strides.push(fresh || (have == 1 && size != 1) ? 0 : x.strides()[d - added]);
  }
  count_elements(shape);  // throws when there are too many
  return with_dims(x, shape, strides);
}

tn_tensor* view_squeeze(Frame& frame, tn_tensor& x) {
  const bool named = frame.has(1);
  const uint32_t mask = frame.dim_mask(1, x.ndim());
  Dims shape, strides;
  const auto stays = [&](uint32_t d) {
    const bool meant = (mask >> d & 1u) != 0, drop = meant && x.shape()[d] == 1;
    frame.require(drop || !named || !meant, "dim {} has size {}, not 1", d, x.shape()[d]);
    return !drop;
  };
  kept_dims(x, stays, shape, strides);
  return with_dims(x, shape, strides);
}

tn_tensor* view_unsqueeze(Frame& frame, tn_tensor& x) {
  frame.require(x.ndim() < TN_MAX_DIMS, "a tensor has at most {} dims", TN_MAX_DIMS);
  const uint32_t at = frame.wrap_dim(frame.integer(1), x.ndim() + 1);
  Dims shape, strides;
  for (uint32_t d = 0; d <= x.ndim(); ++d) {
    if (d == at) {
      shape.push(1);
      strides.push(d < x.ndim() ? x.shape()[d] * x.strides()[d] : 1);
    }
    if (d == x.ndim()) break;
    shape.push(x.shape()[d]);
    strides.push(x.strides()[d]);
  }
  return with_dims(x, shape, strides);
}

// Python's rules: negative bounds count from the end, then bounds are cut to the dimension; a
// negative step walks backwards.
tn_tensor* view_slice(Frame& frame, tn_tensor& x) {
  const uint32_t d = frame.wrap_dim(frame.integer(1), x.ndim());
  frame.require(x.ndim() > 0, "a tensor of rank 0 has nothing to slice");
  const int64_t n = x.shape()[d], step = frame.integer(4);
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;
  frame.require(step != 0 && step > -kFar && step < kFar, "step {}", step);
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](uint32_t arg, int64_t otherwise) {
    if (!frame.has(arg)) return otherwise;
    const int64_t at = frame.integer(arg);
    return std::clamp(at < 0 ? at + n : at, low, high);
  };
  const int64_t start = bound(2, step > 0 ? low : high), end = bound(3, step > 0 ? high : low);
  const int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
  const int64_t count = span > 0 ? (span - 1) / stride + 1 : 0;
  Dims shape = sizes_of(x), strides = strides_of(x);
  const int64_t offset = count > 0 ? start * strides[d] : 0;
  shape[d] = count;
  if (count > 1) strides[d] *= step;
  return with_dims(x, shape, strides, offset);
}

tn_tensor* view_select(Frame& frame, tn_tensor& x) {
  frame.require(x.ndim() > 0, "a tensor of rank 0 has nothing to select");
  const uint32_t at = frame.wrap_dim(frame.integer(1), x.ndim());
  const int64_t n = x.shape()[at], wanted = frame.integer(2);
  const int64_t index = wanted < 0 ? wanted + n : wanted;
  if (index < 0 || index >= n)
    frame.fail(TN_OUT_OF_RANGE, "index {} out of range for dim {} of size {}", wanted, at, n);
  Dims shape, strides;
  kept_dims(
      x, [&](uint32_t d) { return d != at; }, shape, strides);
  return with_dims(x, shape, strides, index * x.strides()[at]);
}

tn_tensor* view_flip(Frame& frame, tn_tensor& x) {
  const uint32_t mask = frame.dim_mask(1, x.ndim());
  Dims strides = strides_of(x);
  int64_t offset = 0;
  for (uint32_t d = 0; d < x.ndim(); ++d) {
    if ((mask >> d & 1u) == 0 || x.shape()[d] < 2) continue;
    offset += (x.shape()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return with_dims(x, sizes_of(x), strides, x.numel == 0 ? 0 : offset);
}

tn_tensor* view_diagonal(Frame& frame, tn_tensor& x) {
  frame.require(x.ndim() >= 2, "rank 2 or more is needed, not {}", x.ndim());
  const int64_t k = frame.integer(1);
  const uint32_t a = frame.wrap_dim(frame.integer(2), x.ndim());
  const uint32_t b = frame.wrap_dim(frame.integer(3), x.ndim());
  frame.require(a != b, "dim0 and dim1 are both {}", a);
  const int64_t rows = x.shape()[a], cols = x.shape()[b];
  int64_t count = 0;  // compared before subtracting, as k may be any number
  if (k >= 0 && k < cols) count = std::min(rows, cols - k);
  if (k < 0 && k > -rows) count = std::min(rows + k, cols);
  Dims shape, strides;
  kept_dims(
      x, [&](uint32_t d) { return d != a && d != b; }, shape, strides);
  shape.push(count);
  strides.push(x.strides()[a] + x.strides()[b]);
  const int64_t offset = count == 0 ? 0 : k >= 0 ? k * x.strides()[b] : -k * x.strides()[a];
  return with_dims(x, shape, strides, offset);
}

// Strides and offset count x's elements in row-major order, so the result does not depend on how x
// lies in memory.
tn_tensor* view_as_strided(Frame& frame, tn_tensor& x) {
  const auto shape = frame.ints(1), strides = frame.ints(2);
  const int64_t offset = frame.integer(3);
  frame.require(shape.size() == strides.size() && shape.size() <= TN_MAX_DIMS,
                "{} sizes and {} strides", shape.size(), strides.size());
  int64_t count = 1;
  for (const int64_t size : shape) {
    frame.require(size >= 0, "shape {} has a negative size", format_shape(shape));
    frame.require(!__builtin_mul_overflow(count, size, &count), "shape {} is too large",
                  format_shape(shape));
  }
  const bool empty = count == 0;
  __int128 low = offset, high = offset;
  for (size_t d = 0; d < shape.size(); ++d) {
    const __int128 reach = static_cast<__int128>(shape[d] - 1) * strides[d];
    (reach < 0 ? low : high) += reach;
  }
  if (!empty && (low < 0 || high >= x.numel))
    frame.fail(
        TN_OUT_OF_RANGE,
        "shape {} with strides {} and offset {} reaches outside the {} elements of the tensor",
        format_shape(shape), format_shape(strides), offset, x.numel);
  const int64_t start = empty ? 0 : offset;
  if (x.contiguous()) return with_dims(x, Dims(shape), Dims(strides), start);
  const Ref copy = contiguous_copy(x);
  return with_dims(*copy, Dims(shape), Dims(strides), start);
}

tn_tensor* view_alias(Frame&, tn_tensor& x) { return with_dims(x, sizes_of(x), strides_of(x)); }

using ViewFn = tn_tensor* (*)(Frame&, tn_tensor&);

// Functions by op id.
std::vector<ViewFn> make_table() {
  const std::pair<const char*, ViewFn> entries[] = {
      {"reshape", view_reshape}, {"permute", view_permute},   {"transpose", view_transpose},
      {"expand", view_expand},   {"squeeze", view_squeeze},   {"unsqueeze", view_unsqueeze},
      {"flatten", view_flatten}, {"slice", view_slice},       {"select", view_select},
      {"flip", view_flip},       {"diagonal", view_diagonal}, {"as_strided", view_as_strided},
      {"alias", view_alias},
  };
  std::vector<ViewFn> table;
  for (const auto& [name, function] : entries) {
    const uint32_t id = builtin(name).id;
    if (table.size() <= id) table.resize(id + 1);
    table[id] = function;
  }
  return table;
}

}  // namespace

tn_tensor* run_view(Frame& frame) {
  static const std::vector<ViewFn> table = make_table();
  const uint32_t id = frame.op().id;
  if (id >= table.size() || table[id] == nullptr) frame.fail(TN_INTERNAL, "is no view op");
  return table[id](frame, frame.tensor(0));
}

}  // namespace tenon::core
