// Calls of ops without samples, which plugins bring: arguments are made up from the schema.
#pragma once

#include <memory>

#include "bridge.hpp"
#include "runner.hpp"

namespace tenon::conformance {

class NewOp {
 public:
  NewOp(const std::string& name, Device device, uint64_t seed);
  const tn_op* op() const { return op_; }
  Device device() const { return device_; }

  // How many argument sets the op accepts; if none, the reason.
  size_t sets() const { return taken_.size(); }
  const std::string& reason() const { return reason_; }
  // Writes into an argument. A leaf cannot be that argument, so such ops have no gradient checks.
  bool writes() const;
  // The widest float type of the device.
  DType dtype() const;
  // A call with argument set `set`; each variant has other data.
  std::unique_ptr<Call> call(size_t set, DType dtype, uint64_t variant, Layout layout) const;
  std::vector<Array> results(DType dtype, uint64_t variant, Layout layout) const;
  // The reference: the same values in f64, computed on the host if the op runs there. `dtype` is the dtype that they were rounded to.
  std::vector<Array> reference(size_t set, DType dtype) const;

 private:
  struct Parameter {
    std::string type;  // "Tensor", "int", "float[]"
    bool optional = false;
  };
  // One attempt at arguments: shapes of the tensors, and the value for ints.
  struct Try {
    std::vector<Shape> shapes;
    int64_t number;
  };
  static const std::vector<Try>& tries();
  static std::vector<Parameter> parameters_of(const std::string& schema);
  // Throws Error if a value cannot be made up.
  Args make_args(const Try& attempt, DType dtype, uint64_t seed) const;
  void find_arguments();

  const tn_op* op_ = nullptr;
  Device device_;
  uint64_t seed_;
  std::vector<Parameter> parameters_;
  std::vector<const Try*> taken_;
  std::string reason_;
};

bool has_samples(const std::string& name);
// Like run_values, for an op without samples: every argument set, dtype and layout against the reference.
void run_made_up_values(const std::string& name, const Options& options, Sink& sink);

}  // namespace tenon::conformance
