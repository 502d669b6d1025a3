// Operators of Tensor: one look at each operand, one call of the core.
#include "op.hpp"
#include "tensor.hpp"

namespace tenon::python {
namespace {

enum Operator : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDivide,
  kRemainder,
  kPow,
  kMatmul,
  kAnd,
  kOr,
  kXor,
  kLeft,
  kRight,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kNeg,
  kAbs,
  kInvert,
  kLogicalNot,
  kCast,
  kOperators
};
constexpr const char* kNames[kOperators] = {"add",
                                            "sub",
                                            "mul",
                                            "div",
                                            "floor_divide",
                                            "remainder",
                                            "pow",
                                            "matmul",
                                            "bitwise_and",
                                            "bitwise_or",
                                            "bitwise_xor",
                                            "bitwise_left_shift",
                                            "bitwise_right_shift",
                                            "equal",
                                            "not_equal",
                                            "less",
                                            "less_equal",
                                            "greater",
                                            "greater_equal",
                                            "neg",
                                            "abs",
                                            "bitwise_not",
                                            "logical_not",
                                            "cast"};
const tn_op* ops[kOperators];

struct Operand {
  tn_value value;
  double parts[2];
  // -1: an exception is set, 0: neither tensor nor number.
  int read(PyObject* object, int64_t& elements) {
    if (Py_TYPE(object) == tensor_type || is_tensor(object)) [[likely]] {
      value.tag = TN_VALUE_TENSOR;
      value.count = 0;
      value.as.tensor = handle_of(object);
      const int64_t n = tn_tensor_numel(value.as.tensor);
      if (n > elements) elements = n;
      return 1;
    }
    const int found = to_number(object, value, parts);
    if (found < 0 && PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      PyErr_SetString(PyExc_ValueError, "an integer beyond 64 bits meets a tensor");
    }
    return found;
  }
};

// An array has no place in an op: where its memory lies and what it would cost is for the user to say.
PyObject* not_an_operand(Operator op, PyObject* a, PyObject* b) {
  PyObject* other = is_tensor(a) ? b : a;
  if (PyObject_CheckBuffer(other) || PyObject_HasAttrString(other, "__dlpack__") ||
      PyList_Check(other) || PyTuple_Check(other))
    return PyErr_Format(
        PyExc_TypeError,
        "[%s] an operand must be a Tensor or a number, not %.200s: make it a tensor with "
        "tenon.asarray(...)",
        kNames[op], Py_TYPE(other)->tp_name);
  Py_RETURN_NOTIMPLEMENTED;
}

tn_status* run(Operator op, const tn_value* args, uint32_t count, int64_t elements,
               tn_tensor** out) {
  if (elements < kUnlockElements) [[likely]]
    return tn_op_call(ops[op], args, count, out, 1);
  const Unlocked unlocked(true);
  return tn_op_call(ops[op], args, count, out, 1);
}

template <Operator op>
PyObject* binary(PyObject* a, PyObject* b) {
  Operand x, y;
  int64_t elements = 0;
  const int left = x.read(a, elements);
  if (left < 0) return nullptr;
  const int right = left > 0 ? y.read(b, elements) : 0;
  if (right < 0) return nullptr;
  if (right == 0) return not_an_operand(op, a, b);
  const tn_value args[2] = {x.value, y.value};
  tn_tensor* out;
  tn_status* status = run(op, args, 2, elements, &out);
  return status == nullptr ? wrap(out) : raise_status(status);
}

template <Operator op>
PyObject* in_place(PyObject* a, PyObject* b) {
  Operand x, y;
  int64_t elements = 0;
  x.read(a, elements);
  const int right = y.read(b, elements);
  if (right < 0) return nullptr;
  if (right == 0) return not_an_operand(op, a, b);
  const tn_value args[2] = {x.value, y.value};
  tn_tensor* const outs[] = {x.value.as.tensor};
  tn_status* status = nullptr;
  {
    const Unlocked unlocked(elements >= kUnlockElements);
    status = tn_op_call_into(ops[op], args, 2, outs, 1);
  }
  return status == nullptr ? Py_NewRef(a) : raise_status(status);
}

template <Operator op>
PyObject* unary(PyObject* a) {
  Operand x;
  int64_t elements = 0;
  x.read(a, elements);
  tn_tensor* out;
  tn_status* status = run(op, &x.value, 1, elements, &out);
  return status == nullptr ? wrap(out) : raise_status(status);
}

bool no_modulus(PyObject* modulus) {
  if (modulus == Py_None) return true;
  PyErr_SetString(PyExc_TypeError, "[pow] of tensors takes no modulus");
  return false;
}

}  // namespace

bool find_operators() {
  for (size_t i = 0; i < kOperators; ++i) {
    ops[i] = require_op(kNames[i]);
    if (ops[i] == nullptr) {
      PyErr_Format(PyExc_ImportError, "libtenon has no op '%s'", kNames[i]);
      return false;
    }
  }
  return true;
}

PyObject* tensor_add(PyObject* a, PyObject* b) { return binary<kAdd>(a, b); }
PyObject* tensor_sub(PyObject* a, PyObject* b) { return binary<kSub>(a, b); }
PyObject* tensor_mul(PyObject* a, PyObject* b) { return binary<kMul>(a, b); }
PyObject* tensor_div(PyObject* a, PyObject* b) { return binary<kDiv>(a, b); }
PyObject* tensor_floor_divide(PyObject* a, PyObject* b) { return binary<kFloorDivide>(a, b); }
PyObject* tensor_remainder(PyObject* a, PyObject* b) { return binary<kRemainder>(a, b); }
PyObject* tensor_matmul(PyObject* a, PyObject* b) { return binary<kMatmul>(a, b); }
PyObject* tensor_and(PyObject* a, PyObject* b) { return binary<kAnd>(a, b); }
PyObject* tensor_or(PyObject* a, PyObject* b) { return binary<kOr>(a, b); }
PyObject* tensor_xor(PyObject* a, PyObject* b) { return binary<kXor>(a, b); }
PyObject* tensor_lshift(PyObject* a, PyObject* b) { return binary<kLeft>(a, b); }
PyObject* tensor_rshift(PyObject* a, PyObject* b) { return binary<kRight>(a, b); }
PyObject* tensor_pow(PyObject* a, PyObject* b, PyObject* modulus) {
  return no_modulus(modulus) ? binary<kPow>(a, b) : nullptr;
}
PyObject* tensor_iadd(PyObject* a, PyObject* b) { return in_place<kAdd>(a, b); }
PyObject* tensor_isub(PyObject* a, PyObject* b) { return in_place<kSub>(a, b); }
PyObject* tensor_imul(PyObject* a, PyObject* b) { return in_place<kMul>(a, b); }
PyObject* tensor_idiv(PyObject* a, PyObject* b) { return in_place<kDiv>(a, b); }
PyObject* tensor_ifloor_divide(PyObject* a, PyObject* b) { return in_place<kFloorDivide>(a, b); }
PyObject* tensor_iremainder(PyObject* a, PyObject* b) { return in_place<kRemainder>(a, b); }
PyObject* tensor_imatmul(PyObject* a, PyObject* b) { return in_place<kMatmul>(a, b); }
PyObject* tensor_iand(PyObject* a, PyObject* b) { return in_place<kAnd>(a, b); }
PyObject* tensor_ior(PyObject* a, PyObject* b) { return in_place<kOr>(a, b); }
PyObject* tensor_ixor(PyObject* a, PyObject* b) { return in_place<kXor>(a, b); }
PyObject* tensor_ilshift(PyObject* a, PyObject* b) { return in_place<kLeft>(a, b); }
PyObject* tensor_irshift(PyObject* a, PyObject* b) { return in_place<kRight>(a, b); }
PyObject* tensor_ipow(PyObject* a, PyObject* b, PyObject* modulus) {
  return no_modulus(modulus) ? in_place<kPow>(a, b) : nullptr;
}
PyObject* tensor_neg(PyObject* a) { return unary<kNeg>(a); }
PyObject* tensor_abs(PyObject* a) { return unary<kAbs>(a); }
PyObject* tensor_invert(PyObject* a) {
  return tn_tensor_dtype(handle_of(a)) == TN_DTYPE_BOOL ? unary<kLogicalNot>(a) : unary<kInvert>(a);
}
PyObject* tensor_pos(PyObject* a) { return wrap(tn_tensor_retain(handle_of(a))); }

PyObject* tensor_compare(PyObject* a, PyObject* b, int how) {
  switch (how) {
    case Py_LT:
      return binary<kLess>(a, b);
    case Py_LE:
      return binary<kLessEqual>(a, b);
    case Py_EQ:
      return binary<kEqual>(a, b);
    case Py_NE:
      return binary<kNotEqual>(a, b);
    case Py_GT:
      return binary<kGreater>(a, b);
    default:
      return binary<kGreaterEqual>(a, b);
  }
}

}  // namespace tenon::python
