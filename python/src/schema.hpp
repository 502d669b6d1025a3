// The schema of an op as the parser of arguments reads it.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::python {

enum class Kind : uint8_t { Tensor, Int, Float, Bool, Str, Scalar, DType, Device, Generator };

struct Parameter {
  PyObject* name;    // interned
  std::string text;  // "int[]? dims"
  std::string default_text;
  Kind kind;
  bool list, optional, entries_optional, has_default;
  bool may_be_absent() const { return optional || has_default; }
};

struct Schema {
  std::string name, text;
  std::vector<Parameter> parameters;
  std::vector<std::string> results;
  bool list_result = false;  // the last result is a list: "Tensor[] parts"
  // The last argument is a list of integers: its entries may be given one by one, x.reshape(2, 3).
  bool spread = false;
};

inline constexpr size_t kMaxParameters = 24;

// Throws std::runtime_error for a schema of a newer grammar.
Schema parse_schema(std::string_view name, std::string_view text);

}  // namespace tenon::python
