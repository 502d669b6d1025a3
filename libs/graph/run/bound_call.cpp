#include "run/bound_call.hpp"

#include <cstring>

#include "run/plain_value.hpp"

namespace tenon::graph {

void CallRoom::reserve(const Graph& graph) {
  size_t nviews = 0, nnumbers = 0, nargs = 0, nlisted = 0, nstrides = 0;
  for (const Node& node : graph.nodes) {
    nviews += node.results.size();
    nlisted += node.results.size();
    nargs += node.args.size();
    for (const Argument& argument : node.args) {
      nviews += std::holds_alternative<View>(argument);
      nnumbers +=
          std::holds_alternative<Number>(argument) || std::holds_alternative<Symbolic>(argument);
      if (const auto* list = std::get_if<Views>(&argument))
        nviews += list->size(), nlisted += list->size();
    }
    if (node.loop) nstrides += node.loop->strides.size();
  }
  places.reserve(nviews);
  numbers.reserve(nnumbers);
  args.reserve(nargs);
  views.reserve(nlisted);
  strides.reserve(nstrides);
}

BoundCall::BoundCall(const Node& node, CallRoom& room) : node_(node), room_(room) {
  const size_t place = room.places.size();
  tn_value* const args = room.args.data() + room.args.size();
  args_ = {args, node.args.size()};
  for (const Argument& argument : node.args) room.args.push_back(value(argument));
  call_.struct_size = sizeof call_;
  call_.args = args;
  call_.nargs = static_cast<uint32_t>(node.args.size());
  call_.outs = room.views.data() + room.views.size();
  call_.nouts = static_cast<uint32_t>(node.results.size());
  for (const View& result : node.results) room.views.push_back(add(result));
  places_ = std::span(room.places).subspan(place);
  if (node.loop) {
    loop_.struct_size = sizeof loop_;
    loop_.ndim = static_cast<uint32_t>(node.loop->shape.size());
    loop_.reduced = node.loop->reduced;
    loop_.noperands = static_cast<uint32_t>(node.loop->strides.size());
    loop_.shape = node.loop->shape.data();
    loop_.strides = room.strides.data() + room.strides.size();
    for (const auto& each : node.loop->strides) room.strides.push_back(each.data());
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
  CallRoom::Place& place = room_.places.emplace_back();
  place.buffer = view.buffer;
  place.offset = view.offset * static_cast<int64_t>(size_of(view.dtype));
  place.view = form_of(view);
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
  tn_view& view = room_.numbers.emplace_back();
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
      const auto arg =
          static_cast<size_t>(to.room_.args.data() + to.room_.args.size() - to.args_.data());
      to.symbolic_.push_back({value, arg, view});
      if (number) return tagged(TN_VALUE_VIEW, 0, view);
      return value.kind == Symbolic::Kind::Int ? detail::value(int64_t{0}) : detail::value(0.0);
    }
    tn_value operator()(const Number& value) { return tagged(TN_VALUE_VIEW, 0, to.add(value)); }
    tn_value operator()(const View& value) { return tagged(TN_VALUE_VIEW, 0, to.add(value)); }
    tn_value operator()(const Views& views) {
      auto& all = to.room_.views;
      const tn_view** const list = all.data() + all.size();
      for (const auto& view : views) all.push_back(view ? to.add(*view) : nullptr);
      return tagged(TN_VALUE_VIEWS, views.size(), list);
    }
    BoundCall& to;
  };
  return std::visit(Maker(*this), argument);
}

}  // namespace tenon::graph
