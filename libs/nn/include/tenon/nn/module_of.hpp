// Modules that take or give more than one tensor.
#ifndef TENON_NN_MODULE_OF_HPP
#define TENON_NN_MODULE_OF_HPP

#include "tenon/nn/module.hpp"

namespace tenon::nn {

// A module whose forward has the signature that is given; results of several tensors are tuples:
//
//   struct Pair : nn::ModuleOf<Tensor(const Tensor&, const Tensor&)> {
//     nn::Bilinear product = add("product", nn::Bilinear(8, 8, 4));
//     Tensor forward(const Tensor& a, const Tensor& b) override { return product(a, b).relu(); }
//   };
//
// In a call, arguments at the end may be left out: they are then as {} makes them.
template <class Signature>
class ModuleOf;
template <>
class ModuleOf<Tensor(const Tensor&)> : public Module {};

template <class Result, class... Args>
class ModuleOf<Result(Args...)> : public AnyModule {
 public:
  virtual Result forward(Args... args) = 0;
  Result operator()(Args... args) {
    return run([this](Args... each) -> Result { return forward(each...); }, args...);
  }
  template <class... Few>
  requires(sizeof...(Few) > 0 && sizeof...(Few) < sizeof...(Args)) Result operator()(
      const Few&... few) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return (*this)(
          few..., std::tuple_element_t<sizeof...(Few) + i, std::tuple<std::decay_t<Args>...>>()...);
    }
    (std::make_index_sequence<sizeof...(Args) - sizeof...(Few)>());
  }
  std::vector<Tensor> call(std::span<const Tensor> inputs) override {
    return call_own(inputs, std::decay_t<Args>()...);
  }

 private:
  std::vector<Tensor> call_own(std::span<const Tensor> inputs, std::decay_t<Args>... own) {
    if (detail::set_tensors(inputs, own...) < inputs.size())
      throw Error(TN_INVALID_ARGUMENT, "[nn] " + describe() + " does not take " +
                                           std::to_string(inputs.size()) + " tensors");
    return detail::tensors_of((*this)(own...));
  }
};

}  // namespace tenon::nn
#endif
