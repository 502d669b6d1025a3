// Ops by name, for ops of plugins, which have no C++ function.
#ifndef TENON_OP_HPP
#define TENON_OP_HPP

#include "tenon/tensor.hpp"

namespace tenon {

// An op, looked up by name once and then called like a function:
//
//   const Op swish("acme.swish");
//   Tensor y = swish(x, 1.5);
//
// Arguments are in schema order: tensors, numbers, text, lists of integers, lists of tensors. You may leave out trailing ones with
// defaults; std::nullopt means absent. Ops of plugins that load later are not found yet.
class Op {
 public:
  explicit Op(std::string_view name) { detail::check(tn_op_require(detail::to_str(name), &op_)); }

  std::string_view name() const { return detail::to_view(tn_op_name(op_)); }
  std::string_view schema() const { return detail::to_view(tn_op_schema(op_)); }
  bool is_differentiable() const { return tn_op_is_differentiable(op_) != 0; }
  const tn_op* get() const noexcept { return op_; }

  // Calls an op with one result. Throws Error with the op and the values.
  template <class... Args>
  Tensor operator()(const Args&... args) const {
    tn_tensor* out = nullptr;
    call({as_value(args)...}, &out, 1);
    return Tensor::adopt(out);
  }
  // Calls an op with `results` results.
  template <class... Args>
  std::vector<Tensor> many(uint32_t results, const Args&... args) const {
    return collect({as_value(args)...}, results);
  }
  // Calls an op with any number of results. Asks for the number first, because it depends on the arguments if results are a list.
  template <class... Args>
  std::vector<Tensor> all(const Args&... args) const {
    return collect({as_value(args)...}, std::nullopt);
  }

 private:
  template <class T>
  static tn_value as_value(const T& x) {
    if constexpr (std::is_same_v<T, bool>)
      return detail::value(x);
    else if constexpr (std::is_integral_v<T>)
      return detail::value(static_cast<int64_t>(x));
    else if constexpr (std::is_floating_point_v<T>)
      return detail::value(static_cast<double>(x));
    else if constexpr (std::is_convertible_v<const T&, std::string_view>)
      return detail::value(std::string_view(x));
    else if constexpr (std::is_same_v<T, std::nullopt_t>)
      return detail::none();
    else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
      return ints(x);
    else if constexpr (std::is_same_v<T, std::vector<Tensor>>)
      return detail::value(TensorList(x));
    else
      return detail::value(x);
  }
  // Not through an IntList, which would not outlive this call.
  static tn_value ints(std::span<const int64_t> x) {
    tn_value v{};
    v.tag = TN_VALUE_INTS;
    v.count = static_cast<uint32_t>(x.size());
    v.as.ints = x.data();
    return v;
  }
  std::vector<Tensor> collect(std::initializer_list<tn_value> args,
                              std::optional<uint32_t> results) const {
    const auto nargs = static_cast<uint32_t>(args.size());
    if (!results) detail::check(tn_op_result_count(op_, args.begin(), nargs, &results.emplace()));
    std::vector<tn_tensor*> outs(*results);
    call(args, outs.data(), *results);
    std::vector<Tensor> tensors;
    tensors.reserve(*results);
    for (tn_tensor* out : outs) tensors.push_back(Tensor::adopt(out));
    return tensors;
  }
  void call(std::initializer_list<tn_value> args, tn_tensor** outs, uint32_t nouts) const {
    detail::check(tn_op_call(op_, args.begin(), static_cast<uint32_t>(args.size()), outs, nouts));
  }

  const tn_op* op_ = nullptr;
};

// The same in one line, with a look-up each time: Tensor y = call("acme.swish", x, 1.5).
template <class... Args>
Tensor call(std::string_view name, const Args&... args) {
  return Op(name)(args...);
}

}  // namespace tenon
#endif
