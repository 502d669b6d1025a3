// matmul and linear in bf16 and f16 by oneDNN, where the processor multiplies these types itself. A
// plan holds primitives for blocks of the product, which run on the plugin's threads, one each.
#include "ops/matmul_dnnl.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/matmul_activation.hpp"
#include "ops/matmul_rows.hpp"
#include "ops/workspace.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

using dnnl::memory;

using Block = HalfProduct::Block;

// Smaller products are quicker through f32 copies, without oneDNN's fixed cost.
constexpr int64_t kLeastWork = 600'000;
// Multiplications that are worth a block of their own: about 12 us.
constexpr int64_t kBlockWork = 2'000'000;

// Whether oneDNN takes a matrix as it lies: rows or columns contiguous, nothing overlapping.
bool takes(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  const auto lies = [](int64_t step, int64_t n, int64_t far, int64_t times) {
    return (step == 1 || n == 1) && (far >= n || times == 1);
  };
  return lies(col, cols, row, rows) || lies(row, rows, col, cols);
}

void append(dnnl::post_ops& ops, Activation activation) {
  using dnnl::algorithm;
  switch (activation) {
    case kNone:
      return;
    case kRelu:
      return ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
    case kGelu:
      return ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
    case kGeluTanh:
      return ops.append_eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
    case kSilu:
      return ops.append_eltwise(algorithm::eltwise_swish, 1, 0);
    case kSigmoid:
      return ops.append_eltwise(algorithm::eltwise_logistic, 0, 0);
    case kTanh:
      return ops.append_eltwise(algorithm::eltwise_tanh, 0, 0);
  }
}

// The steps of c over the batch.
std::array<int64_t, TN_MAX_DIMS> batch_steps(const Product& p) {
  std::array<int64_t, TN_MAX_DIMS> steps{};
  int64_t next = p.m * p.n;
  for (uint32_t d = p.ndim; d-- > 0; next *= p.shape[d]) steps[d] = next;
  return steps;
}

// Along the batch where it is long enough; else along rows, unless they are so few that packing all of b for
// each block costs more than columns that each pack their part. Sets `dim` to the dimension of the batch,
// p.ndim for columns, p.ndim + 1 for rows.
HalfProduct::ProductCut cut_of(const Product& p, uint32_t& dim) {
  const int64_t wanted = std::clamp<int64_t>(p.batches * p.m * p.n * p.k / kBlockWork, 1,
                                             std::max(4, 2 * max_threads()));
  const auto longest = std::max_element(p.shape.begin(), p.shape.begin() + p.ndim);
  int64_t unit = 1;
  HalfProduct::ProductCut cut;
  if (p.ndim > 0 && *longest >= std::min<int64_t>(wanted, 8)) {
    dim = static_cast<uint32_t>(longest - p.shape.begin());
    cut = {{p.shape[dim], 1}, p.a.batch[dim], p.b.batch[dim], batch_steps(p)[dim], 0};
  } else if (p.m >= 64 * wanted || p.m >= p.n || p.batches > 1) {
    dim = p.ndim + 1, unit = 32;
    cut = {{p.m, 1}, p.a.row, 0, p.n, 0};
  } else {
    dim = p.ndim, unit = 64;
    cut = {{p.n, 1}, 0, p.b.column, 1, p.bias_step, true};
  }
  const auto step = [&](int64_t blocks) {
    return std::min(cut.extent, ((cut.extent + blocks - 1) / blocks + unit - 1) / unit * unit);
  };
  cut.step = step(wanted);
  // As many for each thread: of three blocks, one would wait for the third.
  const int64_t blocks = (cut.extent + cut.step - 1) / cut.step, threads = max_threads();
  if (blocks > threads && blocks % threads != 0) cut.step = step(blocks - blocks % threads);
  return cut;
}

// p holds the block's sizes, `whole` those of what it is written into.
Block make_block(const Product& p, const Product& whole, memory::data_type type,
                 Activation activation) {
  const auto describe = [&](const int64_t* step, int64_t rows, int64_t cols, int64_t row,
                            int64_t col) {
    memory::dims dims, strides;
    for (uint32_t d = 0; d < p.ndim; ++d) {
      dims.push_back(step[d] == 0 ? 1 : p.shape[d]);
      strides.push_back(step[d] == 0 ? rows * cols : step[d]);
    }
    dims.insert(dims.end(), {rows, cols});
    // The stride of a dimension of size 1 says nothing; oneDNN wants a plausible one.
    strides.insert(strides.end(), {rows == 1 ? std::max(row, cols) : row,
                                   cols == 1 ? std::max(col, int64_t{1}) : col});
    return memory::desc(dims, type, strides);
  };
  Block block;
  block.a = describe(p.a.batch.data(), p.m, p.k, p.a.row, p.a.column);
  block.b = describe(p.b.batch.data(), p.k, p.n, p.b.row, p.b.column);
  block.c = describe(batch_steps(whole).data(), p.m, p.n, whole.n, 1);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  append(ops, activation);
  attributes.set_post_ops(ops);
  if (p.bias != nullptr) {
    memory::dims dims(p.ndim + 2, 1), strides(p.ndim + 2, p.n);
    dims.back() = p.bias_step == 0 ? 1 : p.n;
    strides.back() = 1;
    block.bias = memory::desc(dims, type, strides);
  }
  const auto made =
      p.bias == nullptr
          ? dnnl::matmul::primitive_desc(dnnl_engine(), block.a, block.b, block.c, attributes)
          : dnnl::matmul::primitive_desc(dnnl_engine(), block.a, block.b, block.bias, block.c,
                                         attributes);
  block.scratch = made.scratchpad_desc();
  block.primitive = dnnl::matmul(made);
  return block;
}

void execute(const Block& block, const HalfProduct::ProductCut& cut, const Product& p, void* c,
             int64_t index) {
  const auto at = [&](const memory::desc& desc, const void* data, int64_t step) {
    constexpr int64_t kSize = 2;  // bytes of a half
    return memory(desc, dnnl_engine(),
                  static_cast<char*>(const_cast<void*>(data)) + index * step * kSize);
  };
  void* scratch = workspace(Workspace::Packed, std::max<size_t>(block.scratch.get_size(), 1));
  // oneDNN's best kernel wants rows of c without gaps.
  auto* beside = cut.columns
                     ? static_cast<uint16_t*>(workspace(Workspace::Columns, block.c.get_size()))
                     : nullptr;
  std::unordered_map<int, memory> args = {
      {DNNL_ARG_SRC, at(block.a, p.a.view->data, cut.a)},
      {DNNL_ARG_WEIGHTS, at(block.b, p.b.view->data, cut.b)},
      {DNNL_ARG_DST, cut.columns ? memory(block.c, dnnl_engine(), beside) : at(block.c, c, cut.c)},
      {DNNL_ARG_SCRATCHPAD, memory(block.scratch, dnnl_engine(), scratch)}};
  if (p.bias != nullptr) args.insert({DNNL_ARG_BIAS, at(block.bias, p.bias->data, cut.bias)});
  block.primitive.execute(dnnl_stream(), args);
  dnnl_stream().wait();
  if (!cut.columns) return;
  const int64_t size = std::min(cut.step, cut.extent - index);
  for (int64_t i = 0; i < p.m; ++i)
    std::copy_n(beside + i * size, size, static_cast<uint16_t*>(c) + i * p.n + index);
}

}  // namespace

bool HalfProduct::fits(tn_dtype dtype, const Product& p) {
  if (p.empty() || p.k == 0 || p.ndim > 6 || p.batches * p.m * p.n * p.k < kLeastWork) return false;
  if (!multiplies(dtype) || !takes(p.m, p.k, p.a.row, p.a.column) ||
      !takes(p.k, p.n, p.b.row, p.b.column))
    return false;
  for (uint32_t d = 0; d < p.ndim; ++d)
    if (p.a.batch[d] < 0 || p.b.batch[d] < 0) return false;
  return p.bias == nullptr || p.bias_step == 0 || p.bias_step == 1;
}

std::unique_ptr<HalfProduct> HalfProduct::made(tn_dtype dtype, const Product& p,
                                               Activation activation) {
  const OneThread one;
  const auto type = dtype == TN_DTYPE_BF16 ? memory::data_type::bf16 : memory::data_type::f16;
  uint32_t dim = 0;
  const ProductCut cut = cut_of(p, dim);
  return std::make_unique<HalfProduct>(
      HalfProduct{cut, Parts<Block>(cut, [&](int64_t size) {
                    Product part = p;
                    (dim < p.ndim ? part.shape[dim] : dim == p.ndim ? part.n : part.m) = size;
                    return make_block(part, cut.columns ? part : p, type, activation);
                  })});
}

void HalfProduct::run(const Product& p, void* c) const {
  blocks.run([&](const Block& block, int64_t index) { execute(block, cut, p, c, index); });
}

namespace {

// Whether rows that lie apart are gathered first: not so many that their copy would keep much memory.
bool gathers(const Product& p) {
  constexpr int64_t kMost = int64_t{1} << 24;
  return scatters_rows(p) && p.batches * p.m * p.k <= kMost;
}
// The product that oneDNN is given.
Product asked(const Product& p) { return gathers(p) ? of_gathered_rows(p) : p; }

void run_asked(const HalfProduct& plan, const Product& p, void* c) {
  if (!gathers(p)) return plan.run(p, c);
  tn_view rows = *p.a.view;
  rows.data = gathered_rows<uint16_t>(p, 0, p.batches);
  Product one = of_gathered_rows(p);
  one.a.view = &rows;
  plan.run(one, c);
}

bool matmul_fits(const tn_call& call) {
  return HalfProduct::fits(output(call).dtype, asked(read_matmul(call)));
}
bool linear_fits(const tn_call& call) {
  return HalfProduct::fits(output(call).dtype, asked(read_linear(call)));
}

std::unique_ptr<HalfProduct> plan_matmul(const tn_call& call) {
  return HalfProduct::made(output(call).dtype, asked(read_matmul(call)), kNone);
}
std::unique_ptr<HalfProduct> plan_linear(const tn_call& call) {
  return HalfProduct::made(output(call).dtype, asked(read_linear(call)),
                           activation_of(text_arg(call, arg::linear::activation)));
}

void run_matmul(HalfProduct& plan, const tn_call& call) {
  run_asked(plan, read_matmul(call), output(call).data);
}
void run_linear(HalfProduct& plan, const tn_call& call) {
  run_asked(plan, read_linear(call), output(call).data);
}

}  // namespace

void add_matmul_dnnl_kernels(KernelList& list) {
  constexpr uint64_t kTypes = TN_MASK_HALF;
  list.add({.schema = TN_SCHEMA_MATMUL,
            .dtypes = kTypes,
            .run = run_plan_of<HalfProduct, run_matmul>,
            .flags = TN_KERNEL_STRIDED,
            .priority = 10,
            .supports = supports_of<matmul_fits>,
            .prepare = prepare_of<plan_matmul>,
            .release = release_of<HalfProduct>});
  list.add({.schema = TN_SCHEMA_LINEAR,
            .dtypes = kTypes,
            .run = run_plan_of<HalfProduct, run_linear>,
            .flags = TN_KERNEL_STRIDED,
            .priority = 10,
            .supports = supports_of<linear_fits>,
            .prepare = prepare_of<plan_linear>,
            .release = release_of<HalfProduct>});
}

}  // namespace tenon::cpu
