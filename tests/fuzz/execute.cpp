#include "execute.hpp"

#include <algorithm>
#include <deque>

#include "operands.hpp"
#include "tenon/autograd.h"
#include "tenon/op.h"
#include "tenon/tensor.h"

namespace tenon::fuzz {
namespace {

class Run {
 public:
  Run(const Signature& signature, const Call& call, Counts& counts,
      const std::function<void(const std::string&)>& found)
      : signature_(signature),
        call_(call),
        counts_(counts),
        found_(found),
        rng_(call.seed),
        op_(tn_op_find({signature.op.data(), signature.op.size()})) {}

  void all() {
    if (op_ == nullptr || !make_values()) return;
    std::vector<tn_tensor*> results(signature_.results);
    const bool done = good(tn_op_call(op_, values_.data(), static_cast<uint32_t>(values_.size()),
                                      results.data(), signature_.results));
    for (tn_tensor* result : results) results_.emplace_back(result);
    ++(done ? counts_.answered : counts_.refused);
    if (done) {
      for (const Held& result : results_) touch(*result);
      if (call_.recording) differentiate(results);
      if (call_.into) call_into();
    }
    results_.clear();
    if (!operands_.intact()) found_("memory beside an operand was written to");
  }

 private:
  // Returns false if Tenon refuses one of the operands.
  bool make_values() {
    for (const Value& value : call_.args) {
      tn_value& made = values_.emplace_back();
      if (!std::visit([&](const auto& v) { return set(made, v); }, value)) return false;
    }
    // The tensors that these stand for exist only now.
    for (size_t i = 0; i < values_.size(); ++i)
      if (const auto* same = std::get_if<SameAs>(&call_.args[i])) values_[i] = values_[same->arg];
    return true;
  }

  bool set(tn_value& to, const Nothing&) { return to.tag = TN_VALUE_NONE, true; }
  bool set(tn_value& to, const SameAs&) { return to.tag = TN_VALUE_NONE, true; }
  bool set(tn_value& to, const Operand& x) {
    to.tag = TN_VALUE_TENSOR;
    to.as.tensor = operands_.make(x);
    return to.as.tensor != nullptr;
  }
  bool set(tn_value& to, const std::vector<std::optional<Operand>>& list) {
    auto& made = lists_.emplace_back();
    for (const auto& entry : list) {
      made.push_back(entry ? operands_.make(*entry) : nullptr);
      if (entry && made.back() == nullptr) return false;
    }
    to.tag = TN_VALUE_TENSORS, to.count = static_cast<uint32_t>(made.size()),
    to.as.tensors = made.data();
    return true;
  }
  bool set(tn_value& to, int64_t value) { return to.tag = TN_VALUE_INT, to.as.i = value, true; }
  bool set(tn_value& to, double value) { return to.tag = TN_VALUE_FLOAT, to.as.f = value, true; }
  bool set(tn_value& to, bool value) { return to.tag = TN_VALUE_BOOL, to.as.i = value, true; }
  bool set(tn_value& to, DType value) {
    return to.tag = TN_VALUE_DTYPE, to.as.i = static_cast<int64_t>(value), true;
  }
  bool set(tn_value& to, const std::string& text) {
    to.tag = TN_VALUE_STR, to.count = static_cast<uint32_t>(text.size()), to.as.str = text.data();
    return true;
  }
  bool set(tn_value& to, const Shape& ints) {
    to.tag = TN_VALUE_INTS, to.count = static_cast<uint32_t>(ints.size()), to.as.ints = ints.data();
    return true;
  }
  bool set(tn_value& to, const Complex& value) {
    to.tag = TN_VALUE_COMPLEX, to.count = 2, to.as.floats = reinterpret_cast<const double*>(&value);
    return true;
  }
  bool set(tn_value& to, const HostDevice&) {
    return to.tag = TN_VALUE_DEVICE, to.as.device = tn_device_at(0), true;
  }

  // Errors are expected, except those that say that the library is wrong.
  bool good(tn_status* status) {
    if (status == nullptr) return true;
    const tn_str message = tn_status_message(status);
    const std::string text(message.data, message.size);
    if (tn_status_code(status) == TN_INTERNAL)
      found_("internal error: " + text);
    else if (!text.starts_with('['))
      found_("an error that names no op: " + text);
    tn_status_release(status);
    return false;
  }

  // Reads its first and its last byte; a view that reaches outside its memory ends the process here.
  void touch(const tn_tensor& result) {
    if (tn_tensor_numel(&result) == 0) return;
    int64_t low = 0, high = 0;
    for (uint32_t d = 0; d < tn_tensor_ndim(&result); ++d) {
      const int64_t reach = (tn_tensor_shape(&result)[d] - 1) * tn_tensor_strides(&result)[d];
      (reach < 0 ? low : high) += reach;
    }
    const auto size = visit(static_cast<DType>(tn_tensor_dtype(&result)),
                            []<class T>(T) { return static_cast<int64_t>(sizeof(T)); });
    const auto* data = static_cast<const volatile char*>(tn_tensor_data(&result));
    static_cast<void>(data[low * size]);
    static_cast<void>(data[high * size + size - 1]);
  }

  // A gradient for `result`: usually of its shape, as one repeated element.
  tn_tensor* gradient_like(const tn_tensor* result) {
    const int64_t* shape = tn_tensor_shape(result);
    Operand g = plain_operand(static_cast<DType>(tn_tensor_dtype(result)),
                              Shape(shape, shape + tn_tensor_ndim(result)));
    if (rng_.integer(0, 16) == 0) g.shape.assign(1, rng_.integer(0, 4));
    lay_out(g, rng_);
    return operands_.make(g);
  }

  void differentiate(const std::vector<tn_tensor*>& results) {
    std::vector<tn_tensor*> outputs, leaves = operands_.leaves();
    for (tn_tensor* result : results)
      if (tn_tensor_requires_grad(result) != 0 && (outputs.empty() || rng_.integer(0, 2) == 0))
        outputs.push_back(result);
    std::vector<Held> first = gradients(outputs, leaves, call_.twice);
    if (!call_.twice) return;
    outputs.clear();
    for (const Held& g : first)
      if (g != nullptr && tn_tensor_requires_grad(g.get()) != 0) outputs.push_back(g.get());
    gradients(outputs, leaves, false);
  }

  std::vector<Held> gradients(const std::vector<tn_tensor*>& outputs,
                              const std::vector<tn_tensor*>& leaves, bool again) {
    std::vector<Held> found;
    if (outputs.empty() || leaves.empty()) return found;
    std::vector<tn_tensor*> grads, results(leaves.size());
    for (const tn_tensor* output : outputs) {
      grads.push_back(gradient_like(output));
      if (grads.back() == nullptr) return found;
    }
    const uint32_t flags = TN_BACKWARD_ALLOW_UNUSED | TN_BACKWARD_RETAIN_GRAPH |
                           (again ? TN_BACKWARD_CREATE_GRAPH : 0);
    const bool done = good(
        tn_gradient(outputs.data(), static_cast<uint32_t>(outputs.size()), grads.data(),
                    leaves.data(), static_cast<uint32_t>(leaves.size()), flags, results.data()));
    for (tn_tensor* result : results) found.emplace_back(result);
    counts_.backward += done;
    for (const Held& g : found)
      if (g != nullptr) touch(*g);
    return found;
  }

  // Computes into guarded memory, or onto an operand.
  void call_into() {
    if (signature_.results == 0) return;
    std::vector<tn_tensor*> places;
    for (const Held& result : results_) {
      // Not onto an operand in sealed memory that is not declared read-only.
      const auto* first = call_.args.empty() ? nullptr : std::get_if<Operand>(&call_.args[0]);
      const bool onto =
          first != nullptr && first->sealed == first->read_only && rng_.integer(0, 3) == 0;
      places.push_back(onto ? values_[0].as.tensor : operands_.make_place(result.get(), rng_));
      if (places.back() == nullptr) return;
    }
    const bool done =
        good(tn_op_call_into(op_, values_.data(), static_cast<uint32_t>(values_.size()),
                             places.data(), signature_.results));
    if (done && call_.recording) differentiate(places);
  }

  const Signature& signature_;
  const Call& call_;
  Counts& counts_;
  const std::function<void(const std::string&)>& found_;
  Rng rng_;
  const tn_op* op_;
  Operands operands_;
  std::deque<std::vector<tn_tensor*>> lists_;
  std::vector<tn_value> values_;
  std::vector<Held> results_;
};

}  // namespace

void execute(const Signature& signature, const Call& call, Counts& counts,
             const std::function<void(const std::string&)>& found) {
  ++counts.calls;
  Run(signature, call, counts, found).all();
}

}  // namespace tenon::fuzz
