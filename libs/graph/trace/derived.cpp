#include "trace/derived.hpp"

#include <algorithm>

#include "ir/control.hpp"
#include "run/unlayered.hpp"
#include "tenon/autograd.hpp"
#include "tenon/op.h"

namespace tenon::graph {
namespace {

void run(const HostCalls::Call& call) {
  const auto args = call.args->values();
  const auto nargs = static_cast<uint32_t>(args.size());
  const auto nouts = static_cast<uint32_t>(call.results.size());
  if (call.into) {
    std::vector<Tensor> into = call.results;
    return detail::check(
        tn_op_call_into(call.op, args.data(), nargs, TensorList(into).handles(), nouts));
  }
  std::vector<tn_tensor*> outs(nouts);
  detail::check(tn_op_call(call.op, args.data(), nargs, outs.data(), nouts));
  for (uint32_t k = 0; k < nouts; ++k) {
    const Tensor made = Tensor::adopt(outs[k]);
    Tensor into = call.results[k];
    if (std::ranges::count(call.makes, memory_of(into.get())) != 0) into.copy_(made);
  }
}

}  // namespace

std::shared_ptr<Derived> Derived::of(const HostCalls& calls, const Graph& graph) {
  auto made = std::make_shared<Derived>();
  const auto add_all = [&](const auto& self, const Graph& of) -> void {
    for (const Buffer& buffer : of.buffers)
      if (buffer.role == Role::Constant) made->add(calls, buffer.constant);
    for (const Node& node : of.nodes)
      if (node.control != nullptr)
        for (const Graph& body : node.control->bodies) self(self, body);
  };
  add_all(add_all, graph);
  if (made->constants_.empty()) return nullptr;
  std::ranges::sort(made->steps_, {}, &Step::at);
  std::ranges::stable_sort(made->copies_, {}, &HostCalls::Copy::after);
  made->computed_ = made->versions();
  return made;
}

void Derived::add(const HostCalls& calls, const Tensor& constant) {
  if (holds(memory_of(constant.get()))) return;
  const auto copy = std::ranges::find(calls.copies(), memory_of(constant.get()),
                                      [](const auto& one) { return memory_of(one.to.get()); });
  const bool copied = copy != calls.copies().end();
  const Tensor& from = copied ? copy->from : constant;
  const bool outside = !calls.made(memory_of(from.get()));
  if (outside && !copied) return;
  const auto makers =
      calls.makers(memory_of(from.get()), copied ? copy->after : calls.all().size());
  std::vector<Tensor> sources = calls.outside(makers);
  if (outside) sources.push_back(from);
  if (sources.empty()) return;
  constants_.push_back(constant);
  if (copied) copies_.push_back(*copy);
  for (const size_t i : makers)
    if (std::ranges::find(steps_, i, &Step::at) == steps_.end())
      steps_.push_back({i, calls.all()[i]});
  for (const Tensor& source : sources) add_once(sources_, source);
}

bool Derived::holds(const void* memory) const {
  return std::ranges::any_of(constants_,
                             [&](const Tensor& one) { return memory_of(one.get()) == memory; });
}

void Derived::compute() {
  const std::lock_guard lock(mutex_);
  const uint64_t now = versions();
  if (now == computed_) return;  // another thread did it
  const NoGrad no_grad;
  const Unlayered unlayered;
  size_t copied = 0;
  const auto copy_until = [&](size_t call) {
    for (; copied < copies_.size() && copies_[copied].after <= call; ++copied) {
      Tensor to = copies_[copied].to;
      to.copy_(copies_[copied].from.reshape(to.shape()));
    }
  };
  for (const Step& step : steps_) {
    copy_until(step.at);
    run(step.call);
  }
  copy_until(SIZE_MAX);
  computed_.store(now, std::memory_order_release);
}

Tensor given_out(const Graph& graph, Tensor result) {
  const bool anew = graph.derived != nullptr && graph.derived->holds(memory_of(result.get()));
  return anew ? result.clone() : result;
}

}  // namespace tenon::graph
