// matmul and linear in bf16 and f16 by oneDNN, where the processor multiplies these types itself. A
// plan holds the primitive.
#include <algorithm>
#include <dnnl.hpp>
#include <memory>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/activation.hpp"
#include "ops/product.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}
// A stream serves one thread at a time.
dnnl::stream& stream() {
  thread_local dnnl::stream own(engine());
  return own;
}

struct Plan {
  dnnl::matmul primitive;
  memory::desc a, b, c, bias, scratch;
};

// Smaller products are quicker through f32 copies, without oneDNN's fixed cost.
constexpr int64_t kLeastWork = 600'000;

bool has_type(tn_dtype dtype) {
  static const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(
      dtype == TN_DTYPE_BF16 ? dnnl::cpu_isa::avx512_core_bf16 : dnnl::cpu_isa::avx512_core_fp16);
  return (isa & wanted) == wanted;
}

// Whether oneDNN takes a matrix as it lies: rows or columns contiguous, nothing overlapping.
bool takes(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  return (col == 1 && row >= cols) || (row == 1 && col >= rows);
}

bool fits(const tn_call& call, const Product& p) {
  if (p.empty() || p.k == 0 || p.ndim > 6 || p.batches * p.m * p.n * p.k < kLeastWork) return false;
  if (!has_type(output(call).dtype) || !takes(p.m, p.k, p.a_row, p.a_col) ||
      !takes(p.k, p.n, p.b_row, p.b_col))
    return false;
  for (uint32_t d = 0; d < p.ndim; ++d)
    if (p.a_step[d] < 0 || p.b_step[d] < 0) return false;
  return p.bias == nullptr || p.bias->strides[0] == 1 || p.n == 1;
}

bool matmul_fits(const tn_call& call) { return fits(call, read_matmul(call)); }
bool linear_fits(const tn_call& call) { return fits(call, read_linear(call)); }

void append(dnnl::post_ops& ops, Activation activation) {
  using dnnl::algorithm;
  switch (activation) {
    case Activation::None:
      return;
    case Activation::Relu:
      return ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
    case Activation::Gelu:
      return ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
    case Activation::GeluTanh:
      return ops.append_eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
    case Activation::Silu:
      return ops.append_eltwise(algorithm::eltwise_swish, 1, 0);
    case Activation::Sigmoid:
      return ops.append_eltwise(algorithm::eltwise_logistic, 0, 0);
    case Activation::Tanh:
      return ops.append_eltwise(algorithm::eltwise_tanh, 0, 0);
  }
}

std::unique_ptr<Plan> make_plan(const tn_call& call, const Product& p, Activation activation) {
  const auto type =
      output(call).dtype == TN_DTYPE_BF16 ? memory::data_type::bf16 : memory::data_type::f16;
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
  std::array<int64_t, TN_MAX_DIMS> c_step{};
  int64_t next = p.m * p.n;
  for (uint32_t d = p.ndim; d-- > 0; next *= p.shape[d]) c_step[d] = next;
  auto plan = std::make_unique<Plan>();
  plan->a = describe(p.a_step.data(), p.m, p.k, p.a_row, p.a_col);
  plan->b = describe(p.b_step.data(), p.k, p.n, p.b_row, p.b_col);
  plan->c = describe(c_step.data(), p.m, p.n, p.n, 1);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  append(ops, activation);
  attributes.set_post_ops(ops);
  if (p.bias != nullptr) {
    memory::dims dims(p.ndim + 2, 1), strides(p.ndim + 2, p.n);
    dims.back() = p.n;
    strides.back() = 1;
    plan->bias = memory::desc(dims, type, strides);
  }
  const auto made =
      p.bias == nullptr
          ? dnnl::matmul::primitive_desc(engine(), plan->a, plan->b, plan->c, attributes)
          : dnnl::matmul::primitive_desc(engine(), plan->a, plan->b, plan->bias, plan->c,
                                         attributes);
  plan->scratch = made.scratchpad_desc();
  plan->primitive = dnnl::matmul(made);
  return plan;
}

std::unique_ptr<Plan> plan_matmul(const tn_call& call) {
  return make_plan(call, read_matmul(call), Activation::None);
}
std::unique_ptr<Plan> plan_linear(const tn_call& call) {
  return make_plan(call, read_linear(call), activation_of(text_arg(call, 3)));
}

void execute(Plan& plan, const tn_call& call, const Product& p) {
  const auto at = [](const memory::desc& desc, const void* data) {
    return memory(desc, engine(), const_cast<void*>(data));
  };
  std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, at(plan.a, p.a)},
                                          {DNNL_ARG_WEIGHTS, at(plan.b, p.b)},
                                          {DNNL_ARG_DST, at(plan.c, p.c)},
                                          {DNNL_ARG_SCRATCHPAD, at(plan.scratch, call.scratch)}};
  if (p.bias != nullptr) args.insert({DNNL_ARG_BIAS, at(plan.bias, p.bias->data)});
  plan.primitive.execute(stream(), args);
  stream().wait();
}

void run_matmul(Plan& plan, const tn_call& call) { execute(plan, call, read_matmul(call)); }
void run_linear(Plan& plan, const tn_call& call) { execute(plan, call, read_linear(call)); }

uint64_t scratch_size(void*, const tn_call*, void* plan) {
  return static_cast<Plan*>(plan)->scratch.get_size();
}

}  // namespace

void add_matmul_dnnl_kernels(KernelList& list) {
  constexpr uint64_t kTypes = TN_MASK_HALF;
  list.add({.schema = TN_SCHEMA_MATMUL,
            .dtypes = kTypes,
            .run = run_plan_of<Plan, run_matmul>,
            .flags = TN_KERNEL_STRIDED,
            .priority = 10,
            .supports = supports_of<matmul_fits>,
            .prepare = prepare_of<plan_matmul>,
            .release = release_of<Plan>,
            .scratch_size = scratch_size});
  list.add({.schema = TN_SCHEMA_LINEAR,
            .dtypes = kTypes,
            .run = run_plan_of<Plan, run_linear>,
            .flags = TN_KERNEL_STRIDED,
            .priority = 10,
            .supports = supports_of<linear_fits>,
            .prepare = prepare_of<plan_linear>,
            .release = release_of<Plan>,
            .scratch_size = scratch_size});
}

}  // namespace tenon::cpu
