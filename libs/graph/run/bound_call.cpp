#include "run/bound_call.hpp"

#include <cstring>

#include "run/plain_value.hpp"

namespace tenon::graph {

void BoundCall::make_room() {
  size_t views = node_.results.size(), numbers = 0, lists = 0;
  for (const Argument& argument : node_.args) {
    views += std::holds_alternative<View>(argument);
    numbers +=
        std::holds_alternative<Number>(argument) || std::holds_alternative<Symbolic>(argument);
    if (const auto* list = std::get_if<Views>(&argument)) views += list->size(), ++lists;
  }
  places_.reserve(views);
  numbers_.reserve(numbers);
  lists_.reserve(lists);
  args_.reserve(node_.args.size());
  outs_.reserve(node_.results.size());
  if (node_.loop) strides_.reserve(node_.loop->strides.size());
}

BoundCall::BoundCall(const Node& node) : node_(node) {
  make_room();
  for (const Argument& argument : node.args) args_.push_back(value(argument));
  for (const View& result : node.results) outs_.push_back(add(result));
  call_.struct_size = sizeof call_;
  call_.args = args_.data();
  call_.nargs = static_cast<uint32_t>(args_.size());
  call_.outs = outs_.data();
  call_.nouts = static_cast<uint32_t>(outs_.size());
  if (node.loop) {
    for (const auto& each : node.loop->strides) strides_.push_back(each.data());
    loop_.struct_size = sizeof loop_;
    loop_.ndim = static_cast<uint32_t>(node.loop->shape.size());
    loop_.reduced = node.loop->reduced;
    loop_.noperands = static_cast<uint32_t>(strides_.size());
    loop_.shape = node.loop->shape.data();
    loop_.strides = strides_.data();
    call_.loop = &loop_;
    call_.flags = node.loop->flags;
  }
  if (kernel().prepare != nullptr) detail::check(kernel().prepare(kernel().self, &call_, &plan_));
}

BoundCall::~BoundCall() {
  if (kernel().prepare != nullptr) kernel().release(kernel().self, plan_);
}

uint64_t BoundCall::scratch_size() const {
  return kernel().scratch_size == nullptr ? 0 : kernel().scratch_size(kernel().self, &call_, plan_);
}

const tn_view* BoundCall::add(const View& view) {
  Place& place = places_.emplace_back();
  place.buffer = view.buffer;
  place.offset = view.offset * static_cast<int64_t>(size_of(view.dtype));
  place.view.struct_size = sizeof place.view;
  place.view.dtype = static_cast<tn_dtype>(view.dtype);
  place.view.ndim = static_cast<uint32_t>(view.shape.size());
  place.view.flags = view.contiguous() ? TN_VIEW_CONTIGUOUS : 0;
  place.view.shape = view.shape.data();
  place.view.strides = view.strides.data();
  return &place.view;
}

void BoundCall::set_symbols(std::span<const Symbol> symbols) {
  for (const Varying& varying : symbolic_) {
    const double now = symbols[varying.symbolic.symbol].value;
    switch (varying.symbolic.kind) {
      case Symbolic::Kind::Int:
        args_[varying.arg].as.i = static_cast<int64_t>(now);
        break;
      case Symbolic::Kind::Float:
        args_[varying.arg].as.f = now;
        break;
      case Symbolic::Kind::Number:
        std::memcpy(varying.number->scalar,
                    number_of(varying.symbolic.dtype, now).value().bytes.data(),
                    sizeof varying.number->scalar);
    }
  }
}

tn_view* BoundCall::add(const Number& number) {
  tn_view& view = numbers_.emplace_back();
  view.struct_size = sizeof view;
  view.dtype = static_cast<tn_dtype>(number.dtype);
  view.flags = TN_VIEW_SCALAR | TN_VIEW_CONTIGUOUS;
  std::memcpy(view.scalar, number.bytes.data(), number.bytes.size());
  view.data = view.scalar;
  return &view;
}

tn_value BoundCall::value(const Argument& argument) {
  struct Maker : PlainValue {
    explicit Maker(BoundCall& call) : to(call) {}
    using PlainValue::operator();
    // The host, which kernels do not need.
    tn_value operator()(Here) { return {}; }
    tn_value operator()(const Symbolic& value) {
      const bool number = value.kind == Symbolic::Kind::Number;
      tn_view* view = number ? to.add(number_of(value.dtype, 0).value()) : nullptr;
      to.symbolic_.push_back({value, to.args_.size(), view});
      if (number) return tagged(TN_VALUE_VIEW, 0, view);
      return value.kind == Symbolic::Kind::Int ? detail::value(int64_t{0}) : detail::value(0.0);
    }
    tn_value operator()(const Number& value) { return tagged(TN_VALUE_VIEW, 0, to.add(value)); }
    tn_value operator()(const View& value) { return tagged(TN_VALUE_VIEW, 0, to.add(value)); }
    tn_value operator()(const Views& views) {
      auto& list = to.lists_.emplace_back();
      for (const auto& view : views) list.push_back(view ? to.add(*view) : nullptr);
      return tagged(TN_VALUE_VIEWS, list.size(), list.data());
    }
    BoundCall& to;
  };
  return std::visit(Maker(*this), argument);
}

}  // namespace tenon::graph
