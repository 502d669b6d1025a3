#include "run/replay.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"

namespace tenon::graph {

Tensor view_in(const View& view, std::span<const Tensor> flats) {
  return as_strided(flats[view.buffer], view.shape, view.strides, view.offset);
}

Tensor Replay::tensor(const View& view) {
  if (last_.empty()) return view_in(view, flats_);
  Last& last = last_[view.buffer];
  if (last.view == nullptr || !same(*last.view, view)) last = {&view, view_in(view, flats_)};
  return last.tensor;
}

tn_tensor* Replay::hold(Tensor tensor) { return held_.emplace_back(std::move(tensor)).get(); }

// Makes the arguments of a call; how many there are.
uint32_t Replay::begin(const Node& node) {
  values_.clear();
  held_.clear();
  lists_.clear();
  results_.clear();
  for (const Argument& argument : node.args) values_.push_back(std::visit(*this, argument));
  return static_cast<uint32_t>(values_.size());
}

void Replay::run(const Node& node) {
  const NoGrad no_grad;
  const uint32_t count = begin(node);
  if (node.results.empty())
    return detail::check(tn_op_call(node.op, values_.data(), count, nullptr, 0));
  for (const View& result : node.results) results_.push_back(at(result));
  detail::check(tn_op_call_into(node.op, values_.data(), count, results_.data(),
                                static_cast<uint32_t>(results_.size())));
}

void Replay::run_new(const Node& node, std::span<Tensor> flats) {
  const NoGrad no_grad;
  const uint32_t count = begin(node);
  results_.resize(node.results.size());
  detail::check(tn_op_call(node.op, values_.data(), count, results_.data(),
                           static_cast<uint32_t>(results_.size())));
  std::vector<Tensor> made;
  for (tn_tensor* result : results_) made.push_back(Tensor::adopt(result));
  for (size_t k = 0; k < made.size(); ++k) {
    const View& view = node.results[k];
    if (made[k].dtype() != view.dtype || !std::ranges::equal(made[k].shape(), view.shape))
      throw Error(
          TN_INVALID_ARGUMENT,
          fmt::format("[graph] {} gives {}[{}], not {}", described(node), name_of(made[k].dtype()),
                      fmt::join(made[k].shape(), ", "), described_type(view)));
    const bool shared = std::ranges::any_of(held_, [&](const Tensor& one) {
      return tn_tensor_view(one.get())->buffer == tn_tensor_view(made[k].get())->buffer;
    });
    flats[view.buffer] = shared ? made[k].clone() : made[k].contiguous();
    remember(view, flats[view.buffer]);
  }
}

tn_value Replay::operator()(Here) const {
  tn_value made{};
  made.tag = TN_VALUE_DEVICE;
  made.as.device = device_.get();
  return made;
}

tn_value Replay::operator()(const Symbolic& value) {
  const double now = symbols_[value.symbol].value;
  switch (value.kind) {
    case Symbolic::Kind::Int:
      return detail::value(static_cast<int64_t>(now));
    case Symbolic::Kind::Float:
      return detail::value(now);
    default:
      return (*this)(number_of(value.dtype, now).value());
  }
}

// A rank-0 tensor works with tensors of any device.
tn_value Replay::operator()(const Number& value) {
  tn_tensor* made = nullptr;
  detail::check(tn_tensor_from_host(value.bytes.data(), size_of(value.dtype),
                                    static_cast<tn_dtype>(value.dtype), 0, nullptr, nullptr,
                                    &made));
  hold(Tensor::adopt(made));
  return detail::value(held_.back());
}

tn_value Replay::operator()(const View& view) {
  at(view);
  return detail::value(held_.back());
}

tn_value Replay::operator()(const Views& views) {
  auto& list = lists_.emplace_back();
  for (const auto& view : views) list.push_back(view ? at(*view) : nullptr);
  return tagged(TN_VALUE_TENSORS, list.size(), list.data());
}

}  // namespace tenon::graph
