#include "run/replay.hpp"

#include "run/plain_value.hpp"
#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"

namespace tenon::graph {
namespace {

// The arguments in the form of the C ABI, and the storage that they point to.
class Values : public PlainValue {
 public:
  Values(FlatViews& views, const Device& device, std::span<const Symbol> symbols)
      : views_(views), device_(device), symbols_(symbols) {}

  void add(const Argument& argument) { values_.push_back(std::visit(*this, argument)); }
  const tn_value* data() const { return values_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(values_.size()); }

  using PlainValue::operator();
  tn_value operator()(Here) {
    tn_value made{};
    made.tag = TN_VALUE_DEVICE;
    made.as.device = device_.get();
    return made;
  }
  tn_value operator()(const Symbolic& value) {
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
  tn_value operator()(const Number& value) {
    tn_tensor* made = nullptr;
    detail::check(tn_tensor_from_host(value.bytes.data(), size_of(value.dtype),
                                      static_cast<tn_dtype>(value.dtype), 0, nullptr, nullptr,
                                      &made));
    return hold(Tensor::adopt(made));
  }
  tn_value operator()(const View& view) { return hold(views_.at(view)); }
  tn_value operator()(const Views& views) {
    auto& list = lists_.emplace_back();
    for (const auto& view : views) {
      if (view) hold(views_.at(*view));
      list.push_back(view ? held_.back().get() : nullptr);
    }
    return tagged(TN_VALUE_TENSORS, list.size(), list.data());
  }

 private:
  tn_value hold(Tensor tensor) {
    held_.push_back(std::move(tensor));
    return detail::value(held_.back());
  }

  FlatViews& views_;
  Device device_;
  std::span<const Symbol> symbols_;
  std::vector<tn_value> values_;
  std::vector<Tensor> held_;
  std::vector<std::vector<tn_tensor*>> lists_;
};

}  // namespace

Tensor view_in(const View& view, std::span<const Tensor> flats) {
  return as_strided(flats[view.buffer], view.shape, view.strides, view.offset);
}

Tensor FlatViews::at(const View& view) {
  if (last_.empty()) return view_in(view, flats_);
  Last& last = last_[view.buffer];
  if (last.view == nullptr || !same(*last.view, view)) last = {&view, view_in(view, flats_)};
  return last.tensor;
}

void replay(const Node& node, FlatViews& views, const Device& device,
            std::span<const Symbol> symbols) {
  const NoGrad no_grad;
  Values args(views, device, symbols);
  for (const Argument& argument : node.args) args.add(argument);
  if (node.results.empty())
    return detail::check(tn_op_call(node.op, args.data(), args.size(), nullptr, 0));
  std::vector<Tensor> results;
  std::vector<tn_tensor*> handles;
  for (const View& result : node.results) {
    results.push_back(views.at(result));
    handles.push_back(results.back().get());
  }
  detail::check(tn_op_call_into(node.op, args.data(), args.size(), handles.data(),
                                static_cast<uint32_t>(handles.size())));
}

}  // namespace tenon::graph
