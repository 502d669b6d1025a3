// Gradient formulas, written in public ops, so that gradients of gradients follow.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/ops.hpp"
#include "tenon/tensor.hpp"

namespace tenon::core {

struct Node;

// What a formula reads and sets. Indices of arguments are positions in the schema.
class GradCall {
 public:
  virtual ~GradCall() = default;
  virtual Tensor grad(uint32_t result = 0) const = 0;  // undefined when no gradient arrived
  virtual Tensor in(uint32_t arg) const = 0;  // a saved argument; undefined when it was absent
  virtual std::vector<Tensor> ins(uint32_t arg) const = 0;
  virtual Tensor out(uint32_t result = 0) const = 0;  // a saved result
  // The argument requires a gradient (for a list: an entry does).
  virtual bool needs(uint32_t arg) const = 0;
  virtual bool needs(uint32_t arg, uint32_t entry) const = 0;
  // Metadata of arguments, saved or not.
  virtual std::span<const int64_t> shape(uint32_t arg) const = 0;
  virtual std::span<const int64_t> shape(uint32_t arg, uint32_t entry) const = 0;
  virtual tn_dtype dtype(uint32_t arg) const = 0;
  virtual uint32_t count(uint32_t arg) const = 0;  // entries of a tensor list
  virtual std::span<const int64_t> result_shape(uint32_t result = 0) const = 0;
  // Attributes, defaults filled in.
  virtual bool has(uint32_t arg) const = 0;
  virtual int64_t integer(uint32_t arg) const = 0;
  // Of a Float or Scalar, or of a number given for a Tensor.
  virtual double real(uint32_t arg) const = 0;
  // A number was given where the schema says Tensor.
  virtual bool is_number(uint32_t arg) const = 0;
  // That number; complex where it was.
  virtual Scalar number(uint32_t arg) const { return real(arg); }
  bool flag(uint32_t arg) const { return integer(arg) != 0; }
  virtual std::string_view str(uint32_t arg) const = 0;
  virtual std::span<const int64_t> ints(uint32_t arg) const = 0;
  virtual Device device(uint32_t arg) const = 0;  // of a tensor argument
  // Sets the gradient of an argument. The engine sums it over broadcast dimensions and casts it to the argument's dtype, so a
  // formula need not. Undefined means zero.
  virtual void set(uint32_t arg, Tensor gradient) = 0;
  virtual void set(uint32_t arg, uint32_t entry, Tensor gradient) = 0;
  // Takes out what has arrived for an argument where nobody else sees it: to be written and set again. Else undefined.
  virtual Tensor arrived(uint32_t arg) = 0;
};

// Masks of what a formula reads: in_(0) | in_(1) | out_(0). `always`, and more when an argument requires a gradient.
constexpr uint32_t in_(uint32_t arg) { return 1u << arg; }
constexpr uint32_t out_(uint32_t result) { return 1u << (16 + result); }

// What a formula keeps of a call.
struct Saves {
  uint32_t always = 0;
  uint32_t if_needs[3] = {0, 0, 0};  // what is also read when argument 0, 1, 2 needs a gradient
  // What a call (defaults filled in) does not need after all.
  uint32_t (*unread)(const tn_value* args) = nullptr;
};

struct GradFormula : Saves {
  const char* name;
  void (*apply)(GradCall& call);
};

}  // namespace tenon::core
