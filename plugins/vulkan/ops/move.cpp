#include "ops/move.hpp"

#include "shaders/copy.hpp"

namespace tenon::vulkan {
namespace {

// Drops dimensions of size 1 and merges those that form one line.
void merge(std::vector<int64_t>& shape, std::vector<int64_t>& a, std::vector<int64_t>& b) {
  size_t kept = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (kept > 0 && a[kept - 1] == shape[d] * a[d] && b[kept - 1] == shape[d] * b[d]) {
      shape[kept - 1] *= shape[d];
      a[kept - 1] = a[d];
      b[kept - 1] = b[d];
      continue;
    }
    shape[kept] = shape[d];
    a[kept] = a[d];
    b[kept++] = b[d];
  }
  shape.resize(kept);
  a.resize(kept);
  b.resize(kept);
}

// How many elements make four aligned bytes wherever a row begins; 1 if none do.
int64_t widening(const std::vector<int64_t>& shape, const Placed& to, const Placed& from,
                 int64_t size) {
  const int64_t n = 4 / size;
  if (size >= 4 || shape.empty() || shape.back() % n != 0) return 1;
  for (const Placed* p : {&to, &from}) {
    if (p->strides.back() != 1 || (p->view->offset + p->first * size) % 4 != 0) return 1;
    for (size_t d = 0; d + 1 < shape.size(); ++d)
      if (p->strides[d] % n != 0) return 1;
  }
  return n;
}

// The touched part of the view's buffer, as a view.
tn_view part_of(const Placed& p, const std::vector<int64_t>& shape, int64_t size) {
  tn_view view = *p.view;
  view.offset += p.first * size;
  view.ndim = static_cast<uint32_t>(shape.size());
  view.shape = shape.data();
  view.strides = p.strides.data();
  return view;
}

}  // namespace

void move_elements(const tn_call& call, std::vector<int64_t> shape, Placed to, Placed from) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  if (count == 0) return;
  merge(shape, to.strides, from.strides);
  const int64_t size = size_of(to.view->dtype), wide = widening(shape, to, from, size);
  const tn_view a = part_of(to, shape, size), b = part_of(from, shape, size);
  const bool flat =
      shape.empty() || (shape.size() == 1 && to.strides[0] == 1 && from.strides[0] == 1);
  const uint32_t ndim = static_cast<uint32_t>(shape.size());
  Launch launch(call, shaders::copy, Compute::kI32);
  launch.constant(static_cast<uint32_t>(size * wide))
      .constant(flat ? 0 : ndim)
      .constant(a.dtype)
      .constant(b.dtype);
  launch.out(a).in(b).word(count / wide).word(1u).word(1u).word(0u).word(0u);
  if (!flat) {
    std::vector<uint32_t> table;
    for (uint32_t d = 0; d < ndim; ++d)
      table.push_back(static_cast<uint32_t>(shape[d] / (d + 1 == ndim ? wide : 1)));
    for (uint32_t k = 0; k < 2; ++k) table.push_back(static_cast<uint32_t>(launch.bias(k) / wide));
    for (const Placed* p : {&to, &from})
      for (uint32_t d = 0; d < ndim; ++d)
        table.push_back(static_cast<uint32_t>(
            static_cast<int32_t>(p->strides[d] / (d + 1 == ndim ? 1 : wide))));
    launch.table(table);
  }
  launch.elements(count / wide);
}

void move_all(const tn_call& call, const tn_view& to, const tn_view& from) {
  if (to.buffer == from.buffer && to.offset == from.offset) return;
  const int64_t count = numel(to);
  move_elements(call, {count}, {&to, 0, {1}}, {&from, 0, {1}});
}

}  // namespace tenon::vulkan
