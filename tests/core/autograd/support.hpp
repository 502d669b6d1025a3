// Helpers that the autograd tests share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "observed.hpp"
#include "tenon/tenon.hpp"

namespace tenon::testing {

using tenon::test::error_of;
using Values = std::vector<float>;

inline Tensor leaf(std::initializer_list<float> values) { return tensor(values).requires_grad_(); }
inline Values values(const Tensor& x) {
  return x.defined() ? x.detach().to_vector<float>() : Values{};
}
inline Values grad_of(const Tensor& x) { return values(x.grad()); }

#define EXPECT_ERROR(statement, ...)                                                 \
  do {                                                                               \
    const std::string error = ::tenon::testing::error_of([&] { statement; });        \
    const std::vector<std::string> parts{__VA_ARGS__};                               \
    for (const std::string& part : parts)                                            \
      EXPECT_NE(error.find(part), std::string::npos) << error << "\nlacks " << part; \
  } while (false)

// Elements that report when nothing holds them any more.
class Watched {
 public:
  explicit Watched(Values elements)
      : elements_(std::make_shared<Values>(std::move(elements))),
        tensor_(make(elements_, alive_)) {}
  Tensor take() { return std::move(tensor_); }
  bool alive() const { return *alive_; }

 private:
  static Tensor make(const std::shared_ptr<Values>& elements, const std::shared_ptr<bool>& alive) {
    return from_blob(elements->data(), DType::F32, static_cast<int64_t>(elements->size()), {},
                     [elements, alive] { *alive = false; });
  }
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<Values> elements_;
  Tensor tensor_;
};

// A custom function made of two lambdas, for one input and one output.
struct Lambda {
  std::function<Tensor(const Tensor&)> backward;
  std::shared_ptr<int> destroyed = std::make_shared<int>(0);

  // Gives `output` the history of a function of `input`.
  void record(const Tensor& input, const Tensor& output, std::string_view name = "lambda") const {
    tn_function function{};
    function.struct_size = sizeof(function);
    function.name = {name.data(), name.size()};
    function.ctx = new Lambda(*this);
    function.backward = [](void* ctx, tn_tensor* const* grads, uint32_t, tn_tensor** results,
                           uint32_t) -> tn_status* {
      return detail::guarded("lambda", [&] {
        results[0] = static_cast<Lambda*>(ctx)->backward(Tensor::share(grads[0])).take();
      });
    };
    function.destroy = [](void* ctx) {
      const std::unique_ptr<Lambda> last(static_cast<Lambda*>(ctx));
      ++*last->destroyed;
    };
    tn_tensor* const inputs[] = {input.get()};
    tn_tensor* const outputs[] = {output.get()};
    detail::check(tn_function_record(&function, inputs, 1, outputs, 1));
  }
};

}  // namespace tenon::testing
