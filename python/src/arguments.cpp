#include "arguments.hpp"

#include <limits>
#include <utility>

namespace tenon::python {
namespace {

// One argument's names: those of the table and those of the Array API and NumPy. Of an op that has two of them the first counts.
constexpr const char* kSynonyms[][4] = {{"dims", "dim", "axis", "axes"},
                                        {"keepdim", "keepdims"},
                                        {"x", "x1", "input"},
                                        {"y", "x2"},
                                        {"sorted", "x1"},
                                        {"values", "x2"},
                                        {"xs", "arrays"},
                                        {"index", "indices"},
                                        {"repeats", "repetitions"},
                                        {"shifts", "shift"},
                                        {"end", "stop"},
                                        {"value", "fill_value"},
                                        {"n", "n_rows"},
                                        {"m", "n_cols"}};
PyObject* synonyms = nullptr;  // the same as a tuple of tuples, interned

size_t find_interned(const Schema& schema, PyObject* name) {
  const size_t n = schema.parameters.size();
  for (size_t i = 0; i < n; ++i)
    if (schema.parameters[i].name == name) return i;
  for (Py_ssize_t g = 0; g < PyTuple_GET_SIZE(synonyms); ++g) {
    PyObject* group = PyTuple_GET_ITEM(synonyms, g);
    const Py_ssize_t size = PyTuple_GET_SIZE(group);
    bool member = false;
    for (Py_ssize_t k = 0; k < size; ++k) member |= PyTuple_GET_ITEM(group, k) == name;
    for (Py_ssize_t k = 0; member && k < size; ++k)
      for (size_t i = 0; i < n; ++i)
        if (schema.parameters[i].name == PyTuple_GET_ITEM(group, k)) return i;
  }
  return n;
}

size_t find_name(const Schema& schema, PyObject* name) {
  const size_t found = find_interned(schema, name);
  if (found < schema.parameters.size() || PyUnicode_CHECK_INTERNED(name)) return found;
  PyObject* interned = Py_NewRef(name);
  PyUnicode_InternInPlace(&interned);
  const Ref held(interned);
  return find_interned(schema, interned);
}

bool is_list(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

// An integer of Python or anything with __index__ but a tensor of more than one element. 0: not one, -1: exception.
int to_int64(PyObject* object, int64_t& out) {
  if (!PyLong_CheckExact(object) && !PyIndex_Check(object)) return 0;
  if (PyLong_CheckExact(object)) {
    out = PyLong_AsLongLong(object);
  } else {
    const Ref index(PyNumber_Index(object));
    if (!index) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
      PyErr_Clear();  // NumPy's arrays have the slot and refuse later
      return 0;
    }
    out = PyLong_AsLongLong(index.get());
  }
  return out == -1 && PyErr_Occurred() ? -1 : 1;
}

// An integer beyond 64 bits is a bad value like any other.
bool too_large(const Schema& schema, const Parameter& parameter) {
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "[%s] argument %U: an integer beyond 64 bits", schema.name.c_str(),
               parameter.name);
  return false;
}

}  // namespace

bool add_synonyms(PyObject* module) {
  const Ref groups(PyList_New(0));
  if (!groups) return false;
  for (const auto& words : kSynonyms) {
    const Ref group(PyList_New(0));
    if (!group) return false;
    for (const char* word : words) {
      if (word == nullptr) continue;
      const Ref name(PyUnicode_InternFromString(word));
      if (!name || PyList_Append(group.get(), name.get()) < 0) return false;
    }
    const Ref fixed(PyList_AsTuple(group.get()));
    if (!fixed || PyList_Append(groups.get(), fixed.get()) < 0) return false;
  }
  synonyms = PyList_AsTuple(groups.get());
  return synonyms != nullptr && PyModule_AddObjectRef(module, "synonyms", synonyms) == 0;
}

bool refuse(const Schema& schema, size_t index, PyObject* object, const char* hint) {
  const Parameter& p = schema.parameters[index];
  if (p.kind == Kind::Tensor && *hint == 0 && !p.list) {
    if (is_list(object) || PyObject_CheckBuffer(object) ||
        PyObject_HasAttrString(object, "__dlpack__"))
      hint = ": make it a tensor with tenon.asarray(...)";
  }
  const std::string type = p.text.substr(0, p.text.find(' '));
  PyErr_Format(PyExc_TypeError, "[%s] argument %U must be %s, not %.200s%s; the op is %s",
               schema.name.c_str(), p.name, type.c_str(), Py_TYPE(object)->tp_name, hint,
               schema.text.c_str());
  return false;
}

bool Arguments::convert_tensor(const Schema& schema, size_t index, PyObject* object) {
  tn_value& value = values[index];
  if (is_tensor(object)) {
    value.tag = TN_VALUE_TENSOR;
    value.as.tensor = handle_of(object);
    note(value.as.tensor);
    return true;
  }
  if (complex_used_ == kComplex) return refuse(schema, index, object);
  const int number = to_number(object, value, complex_[complex_used_]);
  if (number < 0) return too_large(schema, schema.parameters[index]);
  if (number == 0) return refuse(schema, index, object);
  complex_used_ += value.tag == TN_VALUE_COMPLEX;
  return true;
}

bool Arguments::convert_tensors(const Schema& schema, size_t index, PyObject* object) {
  if (!is_list(object))
    return refuse(schema, index, object, ": expected a list or tuple of tensors");
  // A tuple of our own: another thread may change a list while the call runs.
  held_.emplace_back(PySequence_Tuple(object));
  PyObject* items = held_.back().get();
  if (items == nullptr) return false;
  const size_t n = static_cast<size_t>(PyTuple_GET_SIZE(items));
  tn_tensor** list = room(n, tensors_, kTensors, tensors_used_, more_tensors_);
  for (size_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items, static_cast<Py_ssize_t>(i));
    if (is_tensor(item)) {
      list[i] = handle_of(item);
      note(list[i]);
    } else if (item == Py_None && schema.parameters[index].entries_optional) {
      list[i] = nullptr;
    } else {
      return refuse(schema, index, item, " inside the list");
    }
  }
  values[index].tag = TN_VALUE_TENSORS;
  values[index].count = static_cast<uint32_t>(n);
  values[index].as.tensors = list;
  return true;
}

bool Arguments::convert_int(const Schema& schema, size_t index, PyObject* object) {
  int64_t number = 0;
  const int found = to_int64(object, number);
  if (found < 0) return too_large(schema, schema.parameters[index]);
  if (found == 0) return refuse(schema, index, object);
  values[index].tag = TN_VALUE_INT;
  values[index].as.i = number;
  return true;
}

bool Arguments::convert_ints(const Schema& schema, size_t index, PyObject* const* items, size_t n) {
  int64_t* list = room(n, ints_, kInts, ints_used_, more_ints_);
  for (size_t i = 0; i < n; ++i) {
    const int found = to_int64(items[i], list[i]);
    if (found < 0) return too_large(schema, schema.parameters[index]);
    if (found == 0) return refuse(schema, index, items[i], " inside the list");
  }
  values[index].tag = TN_VALUE_INTS;
  values[index].count = static_cast<uint32_t>(n);
  values[index].as.ints = list;
  return true;
}

bool Arguments::convert_int_list(const Schema& schema, size_t index, PyObject* object) {
  if (is_list(object)) {
    // A copy of the references: __index__ of an entry may change a list under our hands.
    const Ref items(PyList_Check(object) ? PyList_AsTuple(object) : Py_NewRef(object));
    if (!items) return false;
    return convert_ints(schema, index, &PyTuple_GET_ITEM(items.get(), 0),
                        static_cast<size_t>(PyTuple_GET_SIZE(items.get())));
  }
  int64_t number = 0;
  const int found = to_int64(object, number);
  if (found < 0) return too_large(schema, schema.parameters[index]);
  if (found == 0) return refuse(schema, index, object);
  int64_t* list = room(1, ints_, kInts, ints_used_, more_ints_);
  *list = number;
  values[index].tag = TN_VALUE_INTS;
  values[index].count = 1;
  values[index].as.ints = list;
  return true;
}

bool Arguments::convert_float(const Schema& schema, size_t index, PyObject* object) {
  double number = 0;
  if (PyFloat_CheckExact(object)) {
    number = PyFloat_AS_DOUBLE(object);
  } else {
    double parts[2];
    tn_value value{};
    int found = to_number(object, value, parts);
    if (found < 0) return too_large(schema, schema.parameters[index]);
    if (found == 0 && is_tensor(object) && tn_tensor_numel(handle_of(object)) == 1) {
      const Ref item(PyNumber_Float(object));
      if (!item) return false;
      value.tag = TN_VALUE_FLOAT;
      value.as.f = PyFloat_AS_DOUBLE(item.get());
      found = 1;
    }
    if (found == 0 || value.tag == TN_VALUE_COMPLEX) return refuse(schema, index, object);
    number = value.tag == TN_VALUE_FLOAT ? value.as.f : static_cast<double>(value.as.i);
  }
  values[index].tag = TN_VALUE_FLOAT;
  values[index].as.f = number;
  return true;
}

bool Arguments::convert(const Schema& schema, size_t index, PyObject* object) {
  const Parameter& p = schema.parameters[index];
  tn_value& value = values[index];
  if (object == Py_None && p.may_be_absent()) {
    value = tn_value{};
    return true;
  }
  switch (p.kind) {
    case Kind::Tensor:
      return p.list ? convert_tensors(schema, index, object)
                    : convert_tensor(schema, index, object);
    case Kind::Int:
      return p.list ? convert_int_list(schema, index, object) : convert_int(schema, index, object);
    case Kind::Float:
      return convert_float(schema, index, object);
    case Kind::Bool: {
      if (!PyBool_Check(object) && !PyLong_Check(object)) return refuse(schema, index, object);
      value.tag = TN_VALUE_BOOL;
      value.as.i = PyObject_IsTrue(object);
      return true;
    }
    case Kind::Str: {
      if (!PyUnicode_Check(object)) return refuse(schema, index, object);
      Py_ssize_t size = 0;
      value.tag = TN_VALUE_STR;
      value.as.str = PyUnicode_AsUTF8AndSize(object, &size);
      if (value.as.str == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
          PyErr_SetString(PyExc_ValueError, "text with lone surrogates");
        return false;
      }
      value.count = static_cast<uint32_t>(size);
      return true;
    }
    case Kind::Scalar: {
      if (complex_used_ == kComplex) return refuse(schema, index, object);
      int found = to_number(object, value, complex_[complex_used_]);
      if (found < 0) return too_large(schema, p);
      if (found == 0 && is_tensor(object) && tn_tensor_numel(handle_of(object)) == 1) {
        const Ref item(PyObject_CallMethod(object, "item", nullptr));
        if (!item) return false;
        found = to_number(item.get(), value, complex_[complex_used_]);
        if (found < 0) return too_large(schema, p);
      }
      if (found == 0) return refuse(schema, index, object);
      complex_used_ += value.tag == TN_VALUE_COMPLEX;
      return true;
    }
    case Kind::DType: {
      tn_dtype dtype = 0;
      if (!to_dtype(object, dtype)) return PyErr_Occurred() ? false : refuse(schema, index, object);
      value.tag = TN_VALUE_DTYPE;
      value.as.i = dtype;
      return true;
    }
    case Kind::Device:
      if (!to_device(object, value.as.device))
        return PyErr_Occurred() ? false : refuse(schema, index, object);
      value.tag = TN_VALUE_DEVICE;
      return true;
    case Kind::Generator:
      if (!to_generator(object, value.as.generator)) return refuse(schema, index, object);
      value.tag = TN_VALUE_GENERATOR;
      return true;
  }
  return false;
}

bool Arguments::parse(const Schema& schema, PyObject* const* args, size_t nargs,
                      PyObject* kwnames) {
  const size_t n = schema.parameters.size();
  size_t positional = nargs;
  if (nargs > n || (schema.spread && nargs == n)) {
    const bool spread =
        schema.spread && nargs >= n && PyIndex_Check(args[n - 1]) && !is_tensor(args[n - 1]);
    if (!spread && nargs > n) {
      PyErr_Format(PyExc_TypeError, "[%s] takes %zu arguments, not %zu; the op is %s",
                   schema.name.c_str(), n, nargs, schema.text.c_str());
      return false;
    }
    if (spread) {
      if (!convert_ints(schema, n - 1, args + n - 1, nargs - n + 1)) return false;
      positional = n - 1;
    }
  }
  for (size_t i = 0; i < positional; ++i) {
    values[i].count = 0;
    if (!convert(schema, i, args[i])) return false;
  }
  count = static_cast<uint32_t>(positional == nargs ? nargs : n);
  uint64_t given = (uint64_t{1} << count) - 1;
  const size_t nkw = kwnames == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(kwnames));
  for (size_t k = 0; k < nkw; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(k));
    const size_t i = find_name(schema, name);
    if (i == n && PyUnicode_CompareWithASCIIString(name, "out") == 0) {
      out = args[nargs + k];
      continue;
    }
    if (i == n) {
      PyErr_Format(PyExc_TypeError, "[%s] has no argument %R; the op is %s", schema.name.c_str(),
                   name, schema.text.c_str());
      return false;
    }
    if (given >> i & 1) {
      PyErr_Format(PyExc_TypeError, "[%s] got argument %U twice; the op is %s", schema.name.c_str(),
                   schema.parameters[i].name, schema.text.c_str());
      return false;
    }
    for (; count <= i; ++count) values[count] = tn_value{};
    given |= uint64_t{1} << i;
    if (!convert(schema, i, args[nargs + k])) return false;
  }
  for (size_t i = 0; i < n; ++i) {
    const Parameter& p = schema.parameters[i];
    if ((given >> i & 1) || p.may_be_absent()) continue;
    PyErr_Format(PyExc_TypeError, "[%s] argument %U is missing; the op is %s", schema.name.c_str(),
                 p.name, schema.text.c_str());
    return false;
  }
  return true;
}

bool has_unknown_name(const Schema& schema, PyObject* kwnames) {
  const Py_ssize_t count = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    if (find_name(schema, name) == schema.parameters.size() &&
        PyUnicode_CompareWithASCIIString(name, "out") != 0)
      return true;
  }
  return false;
}

}  // namespace tenon::python
