// Pooling windows, brought to three spatial dimensions and clipped to the input.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "../../common/pool_geometry.hpp"
#include "kernels.hpp"
#include "threads.hpp"

namespace tenon::cpu {

// The inputs begin, begin + dilation, … below end that one output reads along a dimension; `size`
// counts for averages.
struct Window {
  int64_t begin, end, size;
};

// A geometry with the windows along each dimension.
struct Pooling : PoolGeometry {
  std::array<std::vector<Window>, 3> windows;
  Pooling(const tn_call& call, uint32_t op);
};

// visit(first plane, behind the last) over threads; `cost` is about the elements that a plane touches.
template <class Visit>
void for_ranges_of_planes(const Pooling& pool, int64_t cost, Visit&& visit) {
  parallel_for(pool.planes, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(cost, 1)), visit);
}
template <class Visit>
void for_planes(const Pooling& pool, int64_t cost, Visit&& visit) {
  for_ranges_of_planes(pool, cost, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) visit(plane);
  });
}

// visit(output position, window z, window y, window x) for each output of a plane.
template <class Visit>
void for_outputs(const Pooling& pool, Visit&& visit) {
  int64_t p = 0;
  for (const Window& z : pool.windows[0])
    for (const Window& y : pool.windows[1])
      for (const Window& x : pool.windows[2]) visit(p++, z, y, x);
}

// The quick paths for strides up to 4 along rows and no dilation; false where they do not fit.
bool max_pool_rows(const Pooling& pool, const float* x, float* values, int64_t* indices);
template <class T>  // u8, i8
bool max_pool_rows(const Pooling& pool, const T* x, T* values, int64_t* indices);
bool avg_pool_rows(const Pooling& pool, const float* x, float* values);
// The same for windows with long lines.
bool max_pool_wide(const Pooling& pool, const float* x, float* values, int64_t* indices);
bool avg_pool_wide(const Pooling& pool, const float* x, float* values);

}  // namespace tenon::cpu
