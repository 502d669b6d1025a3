#include "dispatch/written.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "dispatch/record.hpp"

namespace tenon::core {
namespace {

// Only ops without results and those of plugins have written arguments.
template <class Visit>
void each_written(const Frame& frame, Visit&& visit) {
  if (frame.nresults() != 0 && frame.op().foreign == nullptr) return;
  for (uint32_t i = 0; i < frame.nargs(); ++i) {
    if (!frame.op().schema.args[i].written) continue;
    for (tn_tensor* tensor : tensors_in(frame.arg(i)))
      if (tensor != nullptr) visit(*tensor, i);
  }
}

// The bytes from a tensor's first element to its last: addresses, or offsets in a buffer without
// one. Two tensors may wrap the same host memory, so comparing storages is not enough.
struct Extent {
  const tn_tensor* tensor;
  uint32_t arg;
  uintptr_t buffer = 0;
  int64_t begin = 0, end = 0;
  int64_t reach = 0;  // the furthest end among those that begin no later

  Extent(const tn_tensor& of, uint32_t i) : tensor(&of), arg(i) {
    if (of.view.data == nullptr) buffer = std::bit_cast<uintptr_t>(of.view.buffer);
    const auto size = static_cast<int64_t>(dtype_size(of.dtype()));
    const auto [low, high] = reach_of(of);
    const int64_t first = buffer == 0 ? std::bit_cast<int64_t>(of.view.data) : of.view.offset;
    begin = first + low * size;
    reach = end = first + (high + 1) * size;
  }
};

// Strided tensors may interleave without sharing elements, as columns do, unless both
// start at one place.
bool clash(const Extent& a, const Extent& b) {
  return b.begin < a.end &&
         (a.begin == b.begin || a.tensor->contiguous() || b.tensor->contiguous());
}

}  // namespace

void check_writable(const Frame& frame, const tn_tensor& target) {
  if (target.storage->read_only)
    frame.fail(TN_FAILED_PRECONDITION, "the tensor to write to, {}, is read-only; clone() it",
               describe(target));
  if (!target.contiguous() && has_overlap(target))
    frame.fail(TN_INVALID_ARGUMENT,
               "elements of the tensor to write to, {}, share memory; clone() it",
               describe(target));
}

void check_written(const Frame& frame) {
  std::vector<Extent> extents;
  size_t count = 0;
  each_written(frame, [&](const tn_tensor&, uint32_t) { ++count; });
  extents.reserve(count);
  each_written(frame, [&](const tn_tensor& tensor, uint32_t arg) {
    // One that joins from the host is read as a number.
    frame.require(tensor.ndim() != 0 || tensor.device == &frame.device(),
                  "argument '{}' is written to and must be on {}, but is on {}",
                  frame.op().schema.args[arg].name, frame.device().id, tensor.device->id);
    check_writable(frame, tensor);
    if (tensor.numel != 0) extents.emplace_back(tensor, arg);
  });
  std::ranges::sort(extents, {}, [](const Extent& e) { return std::pair(e.buffer, e.begin); });
  const auto name = [&](const Extent& e) { return frame.op().schema.args[e.arg].name; };
  for (auto at = extents.begin(); at != extents.end(); ++at)
    for (auto prior = at; prior != extents.begin();) {
      if ((--prior)->buffer != at->buffer || prior->reach <= at->begin) break;
      at->reach = std::max(at->reach, prior->reach);
      if (clash(*prior, *at))
        frame.fail(TN_INVALID_ARGUMENT,
                   "{} of '{}' and {} of '{}' are both written and share memory",
                   describe(*prior->tensor), name(*prior), describe(*at->tensor), name(*at));
    }
}

void bump_written(const Frame& frame) {
  each_written(frame, [](tn_tensor& tensor, uint32_t) { bump_version(tensor); });
}

}  // namespace tenon::core
