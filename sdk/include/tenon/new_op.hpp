// New ops of a plugin, written in other ops: registry.op(new_op<swish, swish_gradient>("acme.swish(Tensor x) -> Tensor @1", 1)).
//
//   Handle swish(const OpArgs& a) { return a.tensor(0) * call("sigmoid", a.tensor(0)); }
//   void swish_gradient(GradCall& g) {
//     const Handle x = g.saved_input(0), s = call("sigmoid", x);
//     g.set(0, g.grad() * (s + x * s * (1.0 - s)));
//   }
//
// The core records the ops that they call, so gradients of gradients follow. Without a gradient it differentiates the decomposition.
#ifndef TENON_SDK_NEW_OP_HPP
#define TENON_SDK_NEW_OP_HPP

#include <array>
#include <concepts>
#include <vector>

#include "tenon/plugin.hpp"

namespace tenon {
namespace sdk __attribute__((visibility("hidden"))) {

  // A reference to a tensor of the host, released by the destructor. Empty by default.
  class Handle {
   public:
    Handle() = default;
    static Handle adopt(tn_tensor* tensor) { return Handle(tensor); }
    static Handle share(tn_tensor* tensor) {
      return Handle(tensor == nullptr ? nullptr : host()->tensor_retain(tensor));
    }
    Handle(const Handle& other) : Handle(share(other.tensor_)) {}
    Handle(Handle&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
    Handle& operator=(Handle other) noexcept {
      std::swap(tensor_, other.tensor_);
      return *this;
    }
    ~Handle() {
      if (tensor_ != nullptr) host()->tensor_release(tensor_);
    }
    tn_tensor* get() const { return tensor_; }
    tn_tensor* take() { return std::exchange(tensor_, nullptr); }
    explicit operator bool() const { return tensor_ != nullptr; }
    const tn_view& view() const { return *host()->tensor_view(tensor_); }

   private:
    explicit Handle(tn_tensor* tensor) : tensor_(tensor) {}
    tn_tensor* tensor_ = nullptr;
  };

  namespace new_op_detail {

  inline tn_value value(const Handle& tensor) {
    tn_value v{};
    v.tag = tensor ? TN_VALUE_TENSOR : TN_VALUE_NONE;
    v.as.tensor = tensor.get();
    return v;
  }
  inline tn_value value(bool x) {
    tn_value v{};
    v.tag = TN_VALUE_BOOL;
    v.as.i = x ? 1 : 0;
    return v;
  }
  inline tn_value value(std::integral auto x) {
    tn_value v{};
    v.tag = TN_VALUE_INT;
    v.as.i = static_cast<int64_t>(x);
    return v;
  }
  inline tn_value value(std::floating_point auto x) {
    tn_value v{};
    v.tag = TN_VALUE_FLOAT;
    v.as.f = static_cast<double>(x);
    return v;
  }
  inline tn_value value(std::string_view text) {
    tn_value v{};
    v.tag = TN_VALUE_STR;
    v.count = static_cast<uint32_t>(text.size());
    v.as.str = text.data();
    return v;
  }
  inline tn_value value(const char* text) { return value(std::string_view(text)); }
  inline tn_value value(std::span<const int64_t> list) {
    tn_value v{};
    v.tag = TN_VALUE_INTS;
    v.count = static_cast<uint32_t>(list.size());
    v.as.ints = list.data();
    return v;
  }
  inline tn_value value(const tn_value& v) { return v; }

  }  // namespace new_op_detail

  // Calls an op of `n` results by name, its arguments in schema order: auto [q, r] = call_all<2>("linalg.qr", x). Throws Error.
  template <size_t n, class... Args>
  std::array<Handle, n> call_all(std::string_view name, const Args&... args) {
    const tn_op* op = host()->op_find(str_of(name));
    if (op == nullptr) fail(TN_NOT_FOUND, "there is no op '", std::string(name), "'");
    const tn_value values[] = {new_op_detail::value(args)...};
    tn_tensor* outs[n] = {};
    check(host()->op_call(op, values, sizeof...(Args), outs, n));
    std::array<Handle, n> results;
    for (size_t k = 0; k < n; ++k) results[k] = Handle::adopt(outs[k]);
    return results;
  }
  // The same for an op of one result: call("sum", x).
  template <class... Args>
  Handle call(std::string_view name, const Args&... args) {
    return std::move(call_all<1>(name, args...)[0]);
  }

  template <class T>
  concept Number = std::is_arithmetic_v<T>;
#define TENON_SDK_OPERATOR(symbol, name)                                                       \
  inline Handle operator symbol(const Handle& x, const Handle& y) { return call(name, x, y); } \
  inline Handle operator symbol(const Handle& x, Number auto y) { return call(name, x, y); }   \
  inline Handle operator symbol(Number auto x, const Handle& y) { return call(name, x, y); }
  TENON_SDK_OPERATOR(+, "add")
  TENON_SDK_OPERATOR(-, "sub")
  TENON_SDK_OPERATOR(*, "mul")
  TENON_SDK_OPERATOR(/, "div")
#undef TENON_SDK_OPERATOR

  // The arguments of a new op, by their positions in its schema.
  class OpArgs {
   public:
    OpArgs(const tn_value* args, uint32_t count) : args_(args, count) {}
    std::span<const tn_value> values() const { return args_; }
    bool has(uint32_t i) const { return i < args_.size() && args_[i].tag != TN_VALUE_NONE; }
    Handle tensor(uint32_t i) const {
      return has(i) ? Handle::share(args_[i].as.tensor) : Handle();
    }
    double real(uint32_t i) const { return real_of(args_[i]); }
    int64_t integer(uint32_t i) const { return args_[i].as.i; }
    bool flag(uint32_t i) const { return args_[i].as.i != 0; }
    std::string_view str(uint32_t i) const { return {args_[i].as.str, args_[i].count}; }
    std::span<const int64_t> ints(uint32_t i) const { return {args_[i].as.ints, args_[i].count}; }
    static double real_of(const tn_value& v) {
      return v.tag == TN_VALUE_FLOAT ? v.as.f : static_cast<double>(v.as.i);
    }

   private:
    std::span<const tn_value> args_;
  };

  // The values that a gradient reads and sets. Saved tensors are those in the masks given to new_op.
  class GradCall {
   public:
    explicit GradCall(tn_grad_call* raw) : raw_(raw) {}
    Handle grad(uint32_t result = 0) const {
      return Handle::share(host()->grad_output(raw_, result));
    }
    Handle saved_input(uint32_t i) const {
      return Handle::share(host()->grad_saved_input(raw_, i));
    }
    Handle saved_output(uint32_t k = 0) const {
      return Handle::share(host()->grad_saved_output(raw_, k));
    }
    const tn_value& arg(uint32_t i) const { return *host()->grad_arg(raw_, i); }
    double real(uint32_t i) const { return OpArgs::real_of(arg(i)); }
    int64_t integer(uint32_t i) const { return arg(i).as.i; }
    bool needed(uint32_t i) const { return host()->grad_needed(raw_, i) != 0; }
    void set(uint32_t i, const Handle& grad) const { check(host()->grad_set(raw_, i, grad.get())); }

   private:
    tn_grad_call* raw_;
  };

  // The definition of an op of one result. `decompose` is Handle(const OpArgs&), `gradient` void(GradCall&); either may be nullptr. The
  // masks say which arguments and results the gradient reads. Set .infer if the result is not like the first tensor.
  template <auto decompose, auto gradient = nullptr>
  tn_op_def new_op(std::string_view schema, uint64_t saved_inputs = 0, uint64_t saved_outputs = 0) {
    tn_op_def def{};
    def.struct_size = sizeof def;
    def.schema = str_of(schema);
    def.saved_inputs = saved_inputs;
    def.saved_outputs = saved_outputs;
    if constexpr (!std::is_null_pointer_v<decltype(decompose)>)
      def.decompose = [](void*, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                         uint32_t) -> Status {
        return guard([&] { outs[0] = decompose(OpArgs(args, nargs)).take(); });
      };
    if constexpr (!std::is_null_pointer_v<decltype(gradient)>)
      def.gradient = [](void*, tn_grad_call* raw) -> Status {
        return guard([&] {
          GradCall call(raw);
          gradient(call);
        });
      };
    return def;
  }

}  // namespace sdk
}  // namespace tenon
#endif
