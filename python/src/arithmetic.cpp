// Operators of Tensor: one look at each operand, one call of the core.
#include "batch.hpp"
#include "guard.hpp"
#include "op.hpp"
#include "overriding.hpp"
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
// What operators between tensors of different dtypes call, in place and not; NULL: the standard's promotion.
PyObject* mixed[2][kOperators];

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

PyObject* compare_array(Operator op, PyObject* a, PyObject* b) {
  const Ref args(PyTuple_Pack(1, is_tensor(a) ? b : a));
  const Ref made(args ? from_buffer(nullptr, args.get()) : nullptr);
  if (made && is_tensor(made.get()))
    return PyObject_RichCompare(is_tensor(a) ? a : made.get(), is_tensor(a) ? made.get() : b,
                                op == kEqual ? Py_EQ : Py_NE);
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

// Whether x is one integer.
bool is_count(PyObject* x) {
  const tn_dtype dtype = tn_tensor_dtype(handle_of(x));
  return tn_tensor_numel(handle_of(x)) == 1 && (TN_MASK(dtype) & TN_MASK_INT) != 0;
}

// An array right of a tensor computes itself, through Tensor.__array__ and __array_wrap__, and tells what it is equal to. Others
// have no place in an op: where their memory lies and what that would cost is for the user to say.
PyObject* not_an_operand(Operator op, PyObject* a, PyObject* b) {
  PyObject* other = is_tensor(a) ? b : a;
  const bool is_array = PyObject_HasAttrString(other, "__array_ufunc__") != 0;
  if (op == kEqual || op == kNotEqual)
    return is_array ? compare_array(op, a, b) : Py_NewRef(Py_NotImplemented);
  if (other == b && is_array) Py_RETURN_NOTIMPLEMENTED;
  if (op == kMul && is_count(other == a ? b : a) &&
      (PyList_CheckExact(other) || PyTuple_CheckExact(other)))
    Py_RETURN_NOTIMPLEMENTED;  // [0] * n repeats the list
  if (PyObject_CheckBuffer(other) || PyObject_HasAttrString(other, "__dlpack__") ||
      PyList_CheckExact(other) || PyTuple_CheckExact(other))  // subclasses may know tensors
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

// The method of Tensor that an operator is, for types that take over functions; that of numbers left of a tensor has its own.
constexpr const char* kMethods[kOperators] = {
    "add",        "sub",    "mul",     "div",        "__floordiv__", "remainder",
    "pow",        "matmul", "__and__", "__or__",     "__xor__",      "__lshift__",
    "__rshift__", "__eq__", "ne",      "lt",         "le",           "gt",
    "ge",         "neg",    "abs",     "__invert__", "__invert__",   "to"};
constexpr const char* kReflected[] = {
    "add",      "__rsub__",    "mul",         "__rdiv__", "__rfloordiv__",
    "__rmod__", "__rpow__",    "__rmatmul__", "__rand__", "__ror__",
    "__rxor__", "__rlshift__", "__rrshift__", "eq",       "ne",
    "gt",       "ge",          "lt",          "le"};
constexpr const char* kInPlace[] = {
    "add_",        "sub_",     "mul_",    "div_",     "floor_divide_", "remainder_", "pow_",
    "__imatmul__", "__iand__", "__ior__", "__ixor__", "__ilshift__",   "__irshift__"};

bool has_zero(tn_tensor* x) {
  return guarded<bool>(false, [&] {
    const Tensor whole = Tensor::share(Batch::behind(x));
    if (!whole.device().id().starts_with("cpu") || whole.numel() == 0) return false;
    return any(equal(whole, 0)).item<bool>();
  });
}

// Whether integers are divided by 0 somewhere on the host, which PyTorch refuses; its GPUs do not look either.
bool divides_by_zero(const Operand& x, const Operand& y) {
  const auto is_integer = [](const tn_value& value) {
    return value.tag == TN_VALUE_INT || value.tag == TN_VALUE_BOOL ||
           (value.tag == TN_VALUE_TENSOR &&
            (TN_MASK(tn_tensor_dtype(value.as.tensor)) & TN_MASK_INT) != 0);
  };
  if (!is_integer(y.value) || !is_integer(x.value)) return false;
  return y.value.tag == TN_VALUE_TENSOR ? has_zero(y.value.as.tensor) : y.value.as.i == 0;
}

template <Operator op>
bool check_divisor(const Operand& x, const Operand& y) {
  if constexpr (op == kFloorDivide || op == kRemainder)
    if (divides_by_zero(x, y)) {
      guarded([&]() -> PyObject* {
        throw Error(TN_INVALID_ARGUMENT,
                    std::string("[") + kNames[op] + "] ZeroDivisionError: an integer divided by 0");
      });
      return false;
    }
  return true;
}

// The error of an operator; that of bools, which have no differences and no negatives, says what to write.
template <Operator op>
PyObject* raise(tn_status* status, const tn_value& value) {
  if constexpr (op == kSub || op == kNeg)
    if (value.tag == TN_VALUE_BOOL ||
        (value.tag == TN_VALUE_TENSOR && tn_tensor_dtype(value.as.tensor) == TN_DTYPE_BOOL)) {
      tn_status_release(status);
      return raise_as("UnsupportedDtypeError",
                      op == kSub
                          ? "[sub] Subtraction, the `-` operator, with two bool tensors is not "
                            "supported. Use the `^` or `logical_xor()` operator instead."
                          : "[neg] Negation, the `-` operator, on a bool tensor is not supported. "
                            "If you are trying to invert a mask, use the `~` or `logical_not()` "
                            "operator instead.");
    }
  return raise_status(status);
}

template <Operator op>
PyObject* mixed_of(const Operand& x, const Operand& y, bool in_place) {
  if (mixed[in_place][op] == nullptr) [[likely]]
    return nullptr;
  const bool differ = x.value.tag == TN_VALUE_TENSOR && y.value.tag == TN_VALUE_TENSOR &&
                      tn_tensor_dtype(x.value.as.tensor) != tn_tensor_dtype(y.value.as.tensor);
  return differ ? mixed[in_place][op] : nullptr;
}

template <Operator op>
PyObject* binary(PyObject* a, PyObject* b) {
  if (may_override()) [[unlikely]] {
    const Overridden by =
        is_tensor(a) ? take_over(kMethods[op], a, b) : take_over(kReflected[op], b, a);
    if (by.taken) return by.result;
  }
  Operand x, y;
  int64_t elements = 0;
  const int left = x.read(a, elements);
  if (left < 0) return nullptr;
  const int right = left > 0 ? y.read(b, elements) : 0;
  if (right < 0) return nullptr;
  if (right == 0) return not_an_operand(op, a, b);
  if (op == kMatmul && (x.value.tag != TN_VALUE_TENSOR || y.value.tag != TN_VALUE_TENSOR))
    Py_RETURN_NOTIMPLEMENTED;
  if (PyObject* by = mixed_of<op>(x, y, false)) return PyObject_CallFunctionObjArgs(by, a, b, NULL);
  if (!check_divisor<op>(x, y)) return nullptr;
  const tn_value args[2] = {x.value, y.value};
  tn_tensor* out;
  tn_status* status = run(op, args, 2, elements, &out);
  return status == nullptr ? wrap(out) : raise<op>(status, x.value);
}

template <Operator op>
PyObject* in_place(PyObject* a, PyObject* b) {
  if (may_override()) [[unlikely]]
    if (const Overridden by = take_over(kInPlace[op], a, b); by.taken) return by.result;
  Operand x, y;
  int64_t elements = 0;
  x.read(a, elements);
  const int right = y.read(b, elements);
  if (right < 0) return nullptr;
  if (right == 0) return not_an_operand(op, a, b);
  if (op == kMatmul && y.value.tag != TN_VALUE_TENSOR) Py_RETURN_NOTIMPLEMENTED;
  if (PyObject* by = mixed_of<op>(x, y, true)) return PyObject_CallFunctionObjArgs(by, a, b, NULL);
  if (!check_divisor<op>(x, y)) return nullptr;
  const tn_value args[2] = {x.value, y.value};
  tn_tensor* const outs[] = {x.value.as.tensor};
  tn_status* status = nullptr;
  {
    const Unlocked unlocked(elements >= kUnlockElements);
    status = tn_op_call_into(ops[op], args, 2, outs, 1);
  }
  return status == nullptr ? Py_NewRef(a) : raise<op>(status, y.value);
}

template <Operator op>
PyObject* unary(PyObject* a) {
  if (may_override()) [[unlikely]]
    if (const Overridden by = take_over(kMethods[op], a, nullptr); by.taken) return by.result;
  Operand x;
  int64_t elements = 0;
  x.read(a, elements);
  tn_tensor* out;
  tn_status* status = run(op, &x.value, 1, elements, &out);
  return status == nullptr ? wrap(out) : raise<op>(status, x.value);
}

bool no_modulus(PyObject* modulus) {
  if (modulus == Py_None) return true;
  PyErr_SetString(PyExc_TypeError, "[pow] of tensors takes no modulus");
  return false;
}

}  // namespace

// _set_mixed(functions, in_place): two dicts by the names of ops; an operator that they lack keeps the standard's promotion.
PyObject* tensor_set_mixed(PyObject*, PyObject* args) {
  PyObject* given[2];
  if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &given[0], &PyDict_Type, &given[1]))
    return nullptr;
  for (const int in_place : {0, 1})
    for (size_t i = 0; i < kNeg; ++i) {
      PyObject* const before = mixed[in_place][i];
      mixed[in_place][i] = Py_XNewRef(PyDict_GetItemString(given[in_place], kNames[i]));
      Py_XDECREF(before);
    }
  Py_RETURN_NONE;
}

PyObject* tensor_has_zero(PyObject*, PyObject* x) {
  return PyBool_FromLong(is_tensor(x) && has_zero(handle_of(x)));
}

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
