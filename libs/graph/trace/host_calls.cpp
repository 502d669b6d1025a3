#include "trace/host_calls.hpp"

#include <algorithm>

#include "ir/reach.hpp"
#include "tenon/ops.hpp"
#include "trace/recorder.hpp"

namespace tenon::graph {
namespace {

using Memory = std::unordered_set<const void*>;

bool any_in(const std::vector<const void*>& all, const Memory& of) {
  return std::ranges::any_of(all, [&](const void* one) { return of.contains(one); });
}

bool contains(const std::vector<const void*>& all, const void* one) {
  return std::ranges::find(all, one) != all.end();
}

// Whether both show their memory in the same order.
bool laid_alike(const Tensor& a, const Tensor& b) {
  for (size_t d = 0; d < a.shape().size(); ++d)
    if (a.shape()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  return true;
}

// The elements between the first ones of two tensors in the same memory.
int64_t distance(const Tensor& from, const Tensor& to) {
  const tn_view &a = *tn_tensor_view(from.get()), &b = *tn_tensor_view(to.get());
  const auto at = [](const tn_view& view) {
    return view.data != nullptr ? reinterpret_cast<intptr_t>(view.data)
                                : static_cast<intptr_t>(view.offset);
  };
  return (at(b) - at(a)) / static_cast<int64_t>(size_of(from.dtype()));
}

}  // namespace

void HostCalls::add(Call call, std::span<const Tensor> written) {
  for (const Tensor& one : call.args->tensors()) {
    call.reads.push_back(memory_of(one.get()));
    Tensor& widest = widest_.try_emplace(call.reads.back(), one).first->second;
    const Reach known = reach_of(*tn_tensor_view(widest.get())),
                reach = reach_of(*tn_tensor_view(one.get()));
    if (reach.end - reach.begin > known.end - known.begin) widest = one;
  }
  for (const Tensor& one : written) call.writes.push_back(memory_of(one.get()));
  for (const Tensor& one : call.results) {
    const void* memory = memory_of(one.get());
    if (call.into)
      call.writes.push_back(memory);
    else if (!contains(call.reads, memory))
      call.makes.push_back(memory);
  }
  made_.insert(call.makes.begin(), call.makes.end());
  for (const void* memory : call.writes) {
    // What was computed from outside memory before this write would have other elements if its calls ran later.
    if (!made(memory)) forget(memory);
    const auto known = bases_.find(memory);
    if (known != bases_.end()) known->second.written = true;
  }
  calls_.push_back(std::move(call));
}

// Besides the calls that made or wrote what is needed, those that read, before such a write, what it overwrites.
std::vector<size_t> HostCalls::pending(const void* memory) const {
  Memory needed{memory}, overwritten;
  std::vector<size_t> found;
  for (size_t i = calls_.size(); i-- > 0;) {
    const Call& call = calls_[i];
    if (call.state != State::Pending || (call.makes.empty() && call.writes.empty())) continue;
    if (!any_in(call.makes, needed) && !any_in(call.writes, needed) &&
        !any_in(call.reads, overwritten))
      continue;
    found.push_back(i);
    needed.insert(call.reads.begin(), call.reads.end());
    needed.insert(call.writes.begin(), call.writes.end());
    overwritten.insert(call.writes.begin(), call.writes.end());
  }
  std::ranges::reverse(found);
  return found;
}

std::vector<size_t> HostCalls::makers(const void* memory, size_t before) const {
  Memory needed{memory};
  std::vector<size_t> found;
  for (size_t i = before; i-- > 0;) {
    const Call& call = calls_[i];
    if (call.state == State::Dropped) continue;
    if (!any_in(call.makes, needed) && !any_in(call.writes, needed)) continue;
    found.push_back(i);
    needed.insert(call.reads.begin(), call.reads.end());
    needed.insert(call.writes.begin(), call.writes.end());
  }
  std::ranges::reverse(found);
  return found;
}

std::vector<Tensor> HostCalls::outside(std::span<const size_t> calls) const {
  std::vector<Tensor> found;
  for (const size_t i : calls)
    for (const Tensor& one : calls_[i].args->tensors())
      if (!made(memory_of(one.get()))) found.push_back(one);
  return found;
}

std::vector<Tensor> HostCalls::sources(const Tensor& tensor) const {
  const void* memory = memory_of(tensor.get());
  if (!made(memory)) return {tensor};
  return outside(makers(memory, calls_.size()));
}

void HostCalls::traced(size_t i, std::span<const Tensor> results) {
  Call& call = calls_[i];
  call.state = State::Traced;
  for (size_t k = 0; !call.into && k < results.size(); ++k) {
    const void* memory = memory_of(call.results[k].get());
    const Tensor &host = call.results[k], &made = results[k];
    if (!contains(call.makes, memory) || bases_.contains(memory)) continue;
    const tn_view& view = *tn_tensor_view(made.get());
    int64_t last = made.numel() == 0 ? -1 : 0;
    for (uint32_t d = 0; last >= 0 && d < view.ndim; ++d)
      last += view.strides[d] * (view.shape[d] - 1);
    if (!laid_alike(host, made) || !std::ranges::equal(host.shape(), made.shape()) ||
        host.dtype() != made.dtype() ||
        std::ranges::any_of(host.strides(), [](int64_t step) { return step < 0; }))
      continue;
    tn_tensor* flat = nullptr;
    detail::check(Recorder::dispatch().flat(made.get(), last + 1, &flat));
    bases_.emplace(memory, Base{host, Tensor::adopt(flat)});
  }
  for (const void* memory : call.writes) {
    const auto known = bases_.find(memory);
    if (known != bases_.end()) known->second.written = true;
  }
}

void HostCalls::drop(size_t i) {
  calls_[i].state = State::Dropped;
  for (const auto* all : {&calls_[i].makes, &calls_[i].writes})
    for (const void* memory : *all) forget(memory);
}

// The memory's history is lost: it only has the elements that it holds. What was computed from it before a write has, too.
void HostCalls::forget(const void* memory) {
  std::vector<const void*> lost{memory};
  while (!lost.empty()) {
    const void* one = lost.back();
    lost.pop_back();
    const bool written = !made(one) || std::ranges::any_of(calls_, [&](const Call& call) {
      return contains(call.writes, one);
    });
    made_.erase(one);
    bases_.erase(one);
    for (Call& call : calls_) {
      const bool about = contains(call.makes, one) || contains(call.writes, one);
      if (call.state != State::Pending || !(about || (written && contains(call.reads, one))))
        continue;
      call.state = State::Dropped;
      for (const auto* all : {&call.makes, &call.writes})
        for (const void* other : *all)
          if (other != one) lost.push_back(other);
    }
  }
}

const HostCalls::Base* HostCalls::base(const void* memory) const {
  const auto found = bases_.find(memory);
  return found == bases_.end() ? nullptr : &found->second;
}

Tensor HostCalls::shown(const Base& base, const Tensor& tensor) {
  if (tensor.dtype() != base.host.dtype()) return {};
  return as_strided(base.flat, tensor.shape(), tensor.strides(),
                    tensor.numel() == 0 ? 0 : distance(base.host, tensor))
      .detach();
}

Tensor HostCalls::widest(const void* memory) const {
  const auto found = widest_.find(memory);
  return found == widest_.end() ? Tensor() : found->second;
}

HostCalls::Mark HostCalls::mark() const {
  Mark made{{}, bases_};
  for (const Call& call : calls_) made.states.push_back(call.state);
  return made;
}

void HostCalls::back_to(Mark mark) {
  for (size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].state == State::Traced &&
        (i >= mark.states.size() || mark.states[i] == State::Pending))
      calls_[i].state = State::Pending;
  bases_ = std::move(mark.bases);
}

std::vector<const void*> HostCalls::stale() const {
  std::vector<const void*> found;
  for (const Call& call : calls_)
    for (const void* memory : call.writes)
      if (call.state == State::Pending && bases_.contains(memory) && !contains(found, memory))
        found.push_back(memory);
  return found;
}

}  // namespace tenon::graph
