// Tensors as text, as NumPy prints them.
#ifndef TENON_PRINT_HPP
#define TENON_PRINT_HPP

#include <ostream>
#include <string>

#include "tenon/tensor_class.hpp"

namespace tenon {

inline std::string to_string(const Tensor& x) {
  if (!x.defined()) return "undefined";
  std::string text;
  detail::check(tn_tensor_print(x.get(), &detail::append_text, &text));
  return text;
}
inline std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }
inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }
inline std::ostream& operator<<(std::ostream& out, Device device) { return out << device.id(); }

}  // namespace tenon
#endif
