// Calls of ops that these tests' plugins define.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::test {

inline std::string built(const std::string& name) { return ABI_PLUGINS "/" + name + ".so"; }

inline Tensor call(const std::string& op, std::initializer_list<Tensor> args) {
  const tn_op* found = nullptr;
  detail::check(tn_op_require(detail::to_str(op), &found));
  std::vector<tn_value> values;
  for (const Tensor& arg : args) {
    values.push_back({TN_VALUE_TENSOR, 0, {}});
    values.back().as.tensor = arg.get();
  }
  tn_tensor* out = nullptr;
  detail::check(tn_op_call(found, values.data(), static_cast<uint32_t>(values.size()), &out, 1));
  return Tensor::adopt(out);
}

}  // namespace tenon::test
