// Shorthands for reading a call, by the positions of tenon/schemas.h.
#ifndef TENON_PLUGINS_COMMON_CALL_HPP
#define TENON_PLUGINS_COMMON_CALL_HPP

#include <string_view>

#include "tenon/kernel_call.hpp"

namespace tenon {

using sdk::numel;
inline const tn_view& input(const tn_call& call, uint32_t arg) { return *call.args[arg].as.view; }
inline const tn_view* input_or_null(const tn_call& call, uint32_t arg) {
  return call.args[arg].tag == TN_VALUE_VIEW ? call.args[arg].as.view : nullptr;
}
inline const tn_view& output(const tn_call& call, uint32_t k = 0) { return *call.outs[k]; }
template <class T>
T* data_of(const tn_view& view) {
  return static_cast<T*>(view.data);
}
inline std::string_view text_arg(const tn_call& call, uint32_t arg) {
  return {call.args[arg].as.str, call.args[arg].count};
}
inline int64_t int_arg(const tn_call& call, uint32_t arg) { return call.args[arg].as.i; }
// A Scalar or float argument as a double, whatever kind of number was given.
inline double real_arg(const tn_call& call, uint32_t arg) { return sdk::Call(call).real(arg); }

}  // namespace tenon
#endif
