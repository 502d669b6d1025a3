// matmul, linear and the gradient of its weight over a vendor's BLAS: what every such library is asked for, and when a product is left to the plugin's own
// kernels. A plugin adds a BlasVendor.
#pragma once

#include <memory>
#include <vector>

#include "library_kernel.hpp"
#include "product.hpp"

namespace tenon::gpu {

// An operand for a library that stores by columns: a matrix of `pitch` elements a column, as it lies or transposed.
struct BlasSide {
  bool transposed = false;
  int64_t pitch = 0;
};

// The rows of our result are columns of such a library, so it is given Cᵀ = Bᵀ Aᵀ: its first operand is our b, its result has
// n rows, m columns and a pitch of n.
struct BlasProduct {
  Product product;
  Activation activation = kNone;
  BlasSide a, b;
  int64_t copies = 1, a_step = 0, b_step = 0;  // the batch's last dimension, in one call
  uint32_t outer = 0;                          // dimensions of the batch that calls loop over
  const tn_view* sums = nullptr;               // a result: Σ of each row of a
  // The bias, or those sums: what a library has one pointer for.
  const tn_view* beside() const { return sums != nullptr ? sums : product.bias; }
};

class BlasPlan : public LibraryPlan {
 public:
  void run(const tn_call& call) const final;
  // Whether it multiplies wherever the operands lie; otherwise `otherwise` computes what it does not suit.
  virtual bool takes_any_memory() const { return true; }

  bool activates = false;                              // the library applies the activation, too
  bool adds_up = false;                                // and gives the sums of rows
  BlasProduct (*read)(const tn_call& call) = nullptr;  // set by blas_kernels, as the next is
  std::unique_ptr<LibraryPlan> otherwise;

 private:
  // Enqueues products and bias. [stream-ordered]
  virtual void multiply(const tn_call& call, const BlasProduct& product) const = 0;
  virtual bool suits(const tn_call&, const BlasProduct&) const { return true; }
};

struct BlasVendor {
  const char* library;  // as people call it; static storage
  uint64_t dtypes;
  int32_t priority;  // where a plugin has several
  // Environment: multiplications below which a product is left to the plugin's own kernels.
  const char* least_variable;
  // Whether the library is there and takes this, beyond what all of them ask for. Asked last: it may open the library.
  bool (*takes)(const tn_call& call, const BlasProduct& product);
  // TN_UNIMPLEMENTED, thrown, leaves the product to the next kernel.
  std::unique_ptr<BlasPlan> (*prepare)(const tn_call& call, const BlasProduct& product);
};

// matmul, linear and linear_backward_weight of floats. `vendor` is kept.
std::vector<tn_kernel> blas_kernels(const BlasVendor& vendor);

// Where the operands and the result of one call to the library begin.
struct BlasPlace {
  const char* a;
  const char* b;
  char* c;
};
BlasPlace blas_place(const tn_call& call, const BlasProduct& product, int64_t index);
inline int64_t blas_calls(const BlasProduct& p) { return p.product.batches / p.copies; }

// Each row of a dense result becomes `row`, whose elements are `step` apart: for libraries that add
// to what is there. activate.cpp. [stream-ordered]
void repeat_row(const tn_call& call, const tn_view& result, const tn_view& row, int64_t step,
                int64_t columns);

}  // namespace tenon::gpu
