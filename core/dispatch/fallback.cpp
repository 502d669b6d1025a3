#include "dispatch/fallback.hpp"

#include <cstdio>
#include <set>

#include "dispatch/call.hpp"
#include "memory/forking.hpp"

namespace tenon::core {
namespace {

std::atomic<uint32_t> g_policy{TN_FALLBACK_WARN};

// Once per op and device type, for the life of the process.
void warn_once(const Frame& frame) {
  static Mutex& mutex = *new Mutex;
  static auto& seen = *new std::set<std::pair<const tn_op*, const DeviceType*>>;
  {
    std::lock_guard lock(mutex);
    if (!seen.emplace(&frame.op(), frame.device().type).second) return;
  }
  std::fprintf(stderr,
               "tenon: [%s] has no kernel on %s and runs on the host, with copies there and back "
               "(tn_fallback_set allows or forbids this)\n",
               frame.op().schema.name.c_str(), frame.device().id.c_str());
}

// The bytes that a tensor's elements span, on the host. Strided elements are reached without a
// kernel: the one that would make them contiguous may be what falls back.
struct HostSpan {
  uint64_t offset = 0;  // of the span in the tensor's buffer
  Ref bytes;
  tn_view elements;  // the tensor, in the bytes on the host

  explicit HostSpan(const tn_tensor& tensor) : elements(tensor.view) {
    const auto size = static_cast<int64_t>(dtype_size(tensor.dtype()));
    const Reach reach = reach_of(tensor);
    const int64_t low = reach.low * size, high = (reach.high + 1) * size;
    offset = static_cast<uint64_t>(tensor.view.offset + low);
    bytes = Ref(make_tensor(TN_DTYPE_U8, Dims{{{high - low}}}, host_device()));
    copy_bytes(host_device(), bytes->view.buffer, 0, *tensor.device, tensor.view.buffer, offset,
               static_cast<uint64_t>(high - low));
    elements.data = static_cast<char*>(bytes->view.data) - low;
  }
};

// A tensor's copy on the host (itself when it is there).
Ref to_host(tn_tensor& tensor) {
  if (tensor.device->is_host()) return Ref::share(&tensor);
  Ref copy(make_tensor(tensor.dtype(), tensor.sizes(), host_device()));
  if (tensor.contiguous() || tensor.device->addressable)
    check(tn_tensor_to_host(&tensor, copy->view.data, bytes_of(tensor)));
  else if (tensor.numel != 0)
    copy_strided_host(HostSpan(tensor).elements, copy->view);
  return copy;
}

Ref to_device(tn_tensor& tensor, tn_device& device) {
  Ref copy(make_tensor(tensor.dtype(), tensor.sizes(), device));
  copy_dense(*make_contiguous(tensor), *copy);
  return copy;
}

// Copies `source`, on the host, into `target`.
void write_back(tn_tensor& target, tn_tensor& source) {
  if (target.numel == 0) return;
  if (!target.contiguous()) {  // change its elements among the bytes they span
    const HostSpan span(target);
    copy_strided_host(source.view, span.elements);
    copy_bytes(*target.device, target.view.buffer, span.offset, host_device(),
               span.bytes->view.buffer, 0, static_cast<uint64_t>(span.bytes->numel));
    return;
  }
  copy_dense(*make_contiguous(source), target);
}

// The frame's arguments with every tensor on the host.
struct HostArgs {
  std::vector<tn_value> values;
  std::vector<Ref> kept;
  std::vector<std::vector<tn_tensor*>> lists;
  std::vector<std::pair<tn_tensor*, tn_tensor*>> written;  // original, host copy

  tn_tensor* host(tn_tensor* tensor, bool is_written) {
    if (tensor == nullptr) return nullptr;
    kept.push_back(to_host(*tensor));
    if (is_written) written.emplace_back(tensor, kept.back().get());
    return kept.back().get();
  }

  explicit HostArgs(const Frame& frame) : values(frame.args(), frame.args() + frame.nargs()) {
    for (uint32_t i = 0; i < frame.nargs(); ++i) {
      bool is_written = frame.op().schema.args[i].written;
      if (values[i].tag == TN_VALUE_TENSOR)
        values[i].as.tensor = host(values[i].as.tensor, is_written);
      if (values[i].tag == TN_VALUE_DEVICE) values[i].as.device = &host_device();
      if (values[i].tag == TN_VALUE_TENSORS) {
        auto& list = lists.emplace_back();
        for (tn_tensor* tensor : frame.tensors(i)) list.push_back(host(tensor, is_written));
        values[i].as.tensors = list.data();  // stays, whatever becomes of `lists`
      }
    }
  }
};

}  // namespace

void run_on_host(Frame& frame, tn_tensor* const* into, tn_tensor** outs) {
  uint32_t policy = g_policy.load(std::memory_order_relaxed);
  if (policy == TN_FALLBACK_DENY)
    frame.fail(TN_UNIMPLEMENTED, "no kernel on {}, and falling back to the host is denied",
               frame.device().id);
  if (policy == TN_FALLBACK_WARN) warn_once(frame);
  HostArgs args(frame);
  // A factory without tensors gets the host as its device even where the caller left it
  // to a default.
  Frame on_host(frame.op(), args.values.data(), frame.nargs());
  Outs results(frame.nresults());
  compute(on_host, nullptr, results.data());
  for (auto& [original, copy] : args.written) write_back(*original, *copy);
  for (uint32_t k = 0; k < results.size(); ++k)
    if (into != nullptr)
      write_back(*into[k], results[k]);
    else
      outs[k] = to_device(results[k], frame.device()).take();
}

}  // namespace tenon::core

using namespace tenon::core;

void tn_fallback_set(uint32_t policy) {
  if (policy <= TN_FALLBACK_DENY) g_policy.store(policy, std::memory_order_relaxed);
}
uint32_t tn_fallback_get(void) { return g_policy.load(std::memory_order_relaxed); }
