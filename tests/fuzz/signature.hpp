// An op's schema as text, parsed anew here: the fuzzer knows no more of an op than what the registry tells everyone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::fuzz {

struct Argument {
  std::string type;  // "Tensor", "int", …
  std::string name;
  std::string otherwise;  // the default as text; empty if there is none
  bool list = false;
  bool optional = false;          // of a list: the list itself may be left out
  bool optional_entries = false;  // "Tensor?[]"
  bool written = false;
};

struct Signature {
  std::string op;
  std::vector<Argument> args;
  unsigned results = 0;
};

// "softmax(Tensor x, int dim) -> Tensor @1"
Signature parse_signature(std::string_view schema);

}  // namespace tenon::fuzz
