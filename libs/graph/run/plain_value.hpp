// Arguments other than tensors, and the forms of these, as the C ABI has them. They point into the node.
#pragma once

#include "ir/graph.hpp"
#include "tenon/tenon.hpp"

namespace tenon::graph {

inline tn_value tagged(uint32_t tag, size_t count, const void* pointer) {
  tn_value value{};
  value.tag = tag;
  value.count = static_cast<uint32_t>(count);
  value.as.pointer = pointer;
  return value;
}

// How a view lies, without memory.
inline tn_view form_of(const View& view) {
  tn_view form{};
  form.struct_size = sizeof form;
  form.dtype = static_cast<tn_dtype>(view.dtype);
  form.ndim = static_cast<uint32_t>(view.shape.size());
  form.flags = view.contiguous() ? TN_VIEW_CONTIGUOUS : 0;
  form.shape = view.shape.data();
  form.strides = view.strides.data();
  return form;
}

// For std::visit. Callers with tensors, numbers or devices add those cases.
struct PlainValue {
  tn_value operator()(std::monostate) const { return {}; }
  tn_value operator()(Draw) const { return {}; }
  tn_value operator()(bool value) const { return detail::value(value); }
  tn_value operator()(int64_t value) const { return detail::value(value); }
  tn_value operator()(double value) const { return detail::value(value); }
  tn_value operator()(const std::complex<double>& value) const {
    return tagged(TN_VALUE_COMPLEX, 2, &value);
  }
  tn_value operator()(const std::string& value) const {
    return tagged(TN_VALUE_STR, value.size(), value.data());
  }
  tn_value operator()(const std::vector<int64_t>& value) const {
    return tagged(TN_VALUE_INTS, value.size(), value.data());
  }
  tn_value operator()(const std::vector<double>& value) const {
    return tagged(TN_VALUE_FLOATS, value.size(), value.data());
  }
  tn_value operator()(DType value) const {
    tn_value made{};
    made.tag = TN_VALUE_DTYPE;
    made.as.i = static_cast<int64_t>(value);
    return made;
  }
};

// Fills in an argument that is no operand; ignores operands.
inline tn_value attribute(const Argument& argument) {
  struct Maker : PlainValue {
    using PlainValue::operator();
    tn_value operator()(Here) { return {}; }
    tn_value operator()(const Number&) { return {}; }
    tn_value operator()(const Symbolic&) { return {}; }
    tn_value operator()(const View&) { return {}; }
    tn_value operator()(const Views&) { return {}; }
  };
  return std::visit(Maker(), argument);
}

}  // namespace tenon::graph
