// Gradient formulas, written in public ops, so that gradients of gradients follow.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/ops.hpp"
#include "tenon/tensor.hpp"

namespace tenon::core {

struct OpNode;
struct Saved;
struct TensorMeta;
class Run;
class Unpacked;

// A node under evaluation: what a formula reads and sets. Indices of arguments are positions in the schema.
class GradCall {
 public:
  GradCall(OpNode& node, Run& run, const Unpacked& saved, tn_tensor* const* grads,
           tn_tensor** outputs)
      : node_(node), run_(run), saved_(saved), grads_(grads), outputs_(outputs) {}

  const tn_op& op() const;
  uint32_t nargs() const;
  uint32_t nresults() const;
  Tensor grad(uint32_t result = 0) const;  // undefined when no gradient arrived
  // A saved argument, or an entry of a list; undefined when it was absent.
  Tensor in(uint32_t arg, uint32_t entry = 0) const;
  std::vector<Tensor> ins(uint32_t arg) const;
  Tensor out(uint32_t result = 0) const;  // a saved result
  // The argument requires a gradient (for a list: an entry does).
  bool needs(uint32_t arg) const;
  bool needs(uint32_t arg, uint32_t entry) const;
  // Metadata of arguments, saved or not.
  std::span<const int64_t> shape(uint32_t arg, uint32_t entry = 0) const;
  tn_dtype dtype(uint32_t arg) const;
  uint32_t count(uint32_t arg) const;  // entries of a tensor list
  std::span<const int64_t> result_shape(uint32_t result = 0) const;
  // Attributes, defaults filled in.
  const tn_value& value(uint32_t arg) const;
  bool is_tensor(uint32_t arg) const;
  bool has(uint32_t arg) const { return value(arg).tag != TN_VALUE_NONE; }
  int64_t integer(uint32_t arg) const { return value(arg).as.i; }
  // Of a Float or Scalar, or of a number given for a Tensor.
  double real(uint32_t arg) const;
  // True if a number was given where the schema says Tensor.
  bool is_number(uint32_t arg) const;
  // That number; complex where it was.
  Scalar number(uint32_t arg) const;
  bool flag(uint32_t arg) const { return integer(arg) != 0; }
  std::string_view str(uint32_t arg) const { return {value(arg).as.str, value(arg).count}; }
  std::span<const int64_t> ints(uint32_t arg) const {
    return {value(arg).as.ints, value(arg).count};
  }
  Device device(uint32_t arg) const;  // of a tensor argument
  // Sets the gradient of an argument. The engine sums it over broadcast dimensions and casts it to the argument's dtype, so a
  // formula need not. Undefined means zero.
  void set(uint32_t arg, Tensor gradient) { set(arg, 0, std::move(gradient)); }
  void set(uint32_t arg, uint32_t entry, Tensor gradient);
  // Takes out the gradient that has arrived for an argument, to write to it and set it again; undefined if others hold it.
  Tensor arrived(uint32_t arg);

 private:
  const TensorMeta* input(uint32_t arg, uint32_t entry) const;  // NULL where there is no tensor
  uint32_t edge(uint32_t arg, uint32_t entry) const;            // of a tensor
  const TensorMeta& tensor_of(uint32_t arg, std::string_view what) const;
  Tensor unpack(const Saved& saved) const;
  std::string_view arg_name(uint32_t arg) const;

  OpNode& node_;
  Run& run_;
  const Unpacked& saved_;
  tn_tensor* const* grads_;
  tn_tensor** outputs_;
};

// Masks of what a formula reads: in_(0) | in_(1) | out_(0). `always`, and more when an argument requires a gradient.
constexpr uint32_t in_(uint32_t arg) { return 1u << arg; }
constexpr uint32_t out_(uint32_t result) { return 1u << (16 + result); }

// What a formula keeps of a call.
struct Saves {
  uint32_t always = 0;
  uint32_t if_needs[3] = {0, 0, 0};  // what is also read when argument 0, 1, 2 needs a gradient
  // What a particular call (defaults filled in) does not need after all.
  uint32_t (*unread)(const tn_value* args) = nullptr;
};

struct GradFormula : Saves {
  const char* name;
  void (*apply)(GradCall& call);
};

}  // namespace tenon::core
