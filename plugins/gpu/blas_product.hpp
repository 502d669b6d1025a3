// matmul, linear and the gradient of linear's weight by a vendor's BLAS: what we ask of every such library, and when a product is left to
// the plugin's own kernels. A plugin adds a BlasVendor.
#pragma once

#include <memory>
#include <vector>

#include "library_kernel.hpp"
#include "product.hpp"

namespace tenon::gpu {

// An operand for a column-major library: `pitch` elements from column to column, as it is or transposed.
struct BlasSide {
  bool transposed = false;
  int64_t pitch = 0;
};

// Our row-major result is such a library's transposed result, so it computes Cᵀ = Bᵀ Aᵀ: its first operand is our b; its result has n rows,
// m columns and a pitch of n.
struct BlasProduct {
  Product product;
  Activation activation = kNone;
  BlasSide a, b;
  int64_t copies = 1, a_step = 0, b_step = 0;  // the batch's last dimension, in one call
  uint32_t outer = 0;                          // dimensions of the batch that need separate calls
  const tn_view* sums = nullptr;               // a result: Σ of each row of a
  // The bias, or those sums. Libraries have one pointer for both.
  const tn_view* beside() const { return sums != nullptr ? sums : product.bias; }
};

class BlasPlan : public LibraryPlan {
 public:
  void run(const tn_call& call) const final;
  // Whether the library multiplies operands at any alignment; if not, `otherwise` computes those it refuses.
  virtual bool takes_any_memory() const { return true; }

  bool activates = false;                              // the library also applies the activation
  bool adds_up = false;                                // the library also sums the rows
  BlasProduct (*read)(const tn_call& call) = nullptr;  // set by blas_kernels, as the next is
  std::unique_ptr<LibraryPlan> otherwise;

 private:
  // Enqueues products and bias. [stream-ordered]
  virtual void multiply(const tn_call& call, const BlasProduct& product) const = 0;
  virtual bool suits(const tn_call&, const BlasProduct&) const { return true; }
};

struct BlasVendor {
  const char* library;  // its name in messages; static storage
  uint64_t dtypes;
  int32_t priority;  // for plugins that have several
  // Environment variable: below this many multiplications, the plugin's own kernels compute the product.
  const char* least_variable;
  // Whether the library is present and takes this product, beyond what every library must satisfy. Asked last, because it may open the
  // library.
  bool (*takes)(const tn_call& call, const BlasProduct& product);
  // If it throws TN_UNIMPLEMENTED, the next kernel computes the product.
  std::unique_ptr<BlasPlan> (*prepare)(const tn_call& call, const BlasProduct& product);
};

// Kernels for matmul, linear and linear_backward_weight of floats. Keeps `vendor`.
std::vector<tn_kernel> blas_kernels(const BlasVendor& vendor);

// The first elements of the operands and the result of one call.
struct BlasPlace {
  const char* a;
  const char* b;
  char* c;
};
BlasPlace blas_place(const tn_call& call, const BlasProduct& product, int64_t index);
inline int64_t blas_calls(const BlasProduct& p) { return p.product.batches / p.copies; }

// Sets each row of a dense result to `row`, whose elements are `step` apart, for libraries that add to the result. activate.cpp.
// [stream-ordered]
void repeat_row(const tn_call& call, const tn_view& result, const tn_view& row, int64_t step,
                int64_t columns);

}  // namespace tenon::gpu
