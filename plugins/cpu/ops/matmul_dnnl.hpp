// Products in bf16 and f16 by oneDNN, as plans of the kernels that are such products.
#pragma once

#include <memory>

#include "../../common/product.hpp"
#include "ops/dnnl.hpp"

namespace tenon::cpu {

// Primitives for the blocks of a product, which is cut along one axis: a dimension of the batch, the columns of b or the rows of a.
struct HalfProduct {
  struct ProductCut : Cut {
    int64_t a = 0, b = 0, c = 0, bias = 0;  // elements from one index of the axis to the next
    bool columns = false;
  };
  struct Block {
    dnnl::matmul primitive;
    dnnl::memory::desc a, b, c, bias, scratch;
  };

  ProductCut cut;
  Parts<Block> blocks;

  // Whether the processor multiplies `dtype` and oneDNN takes the operands as they lie.
  static bool fits(tn_dtype dtype, const Product& p);
  static std::unique_ptr<HalfProduct> made(tn_dtype dtype, const Product& p, Activation activation);
  void run(const Product& p, void* c) const;
};

}  // namespace tenon::cpu
