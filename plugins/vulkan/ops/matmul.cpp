// matmul and linear: tiled, or column by column if there are few rows. Transposed operands are not copied.
#include <algorithm>

#include "../common/product.hpp"
#include "ops/cooperative.hpp"
#include "shaders/matmul.hpp"
#include "shaders/product_sum.hpp"
#include "shaders/thin.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t { kMatmul, kLinear };

constexpr int64_t kThin = 4;

enum Quads : uint32_t { kSingle, kAlongK, kAlongColumns };  // as shaders/thin.comp

// Whether four elements along `along` are aligned wherever a row of the operand begins.
bool in_quads(const Product::Operand& operand, const Product& p, int64_t along, int64_t across) {
  const int64_t size = size_of(operand.view->dtype);
  bool fits =
      along == 1 && across % 4 == 0 && operand.view->offset % std::min<int64_t>(16, 4 * size) == 0;
  for (uint32_t d = 0; d < p.ndim; ++d) fits &= operand.batch[d] % 4 == 0;
  for (uint32_t d = 0; d < operand.view->ndim; ++d) fits &= operand.view->strides[d] >= 0;
  return fits;
}

Quads quads_of(const Product& p) {
  if (p.k % 4 == 0 && in_quads(p.a, p, p.a.column, p.a.row) &&
      in_quads(p.b, p, p.b.row, p.b.column))
    return kAlongK;
  if (p.n % 4 == 0 && p.n >= 128 && in_quads(p.b, p, p.b.column, p.b.row)) return kAlongColumns;
  return kSingle;
}

// Derived from a call, the same for its scratch size and its run.
struct Plan {
  Product product;
  Compute compute;
  bool thin;
  bool cooperative = false;
  uint32_t columns = 1;  // in a workgroup, for thin products
  Quads quads = kSingle;
  Tiles tiles{};
  int64_t groups = 0;  // number of workgroups before sums are split
  Parts parts;

  Plan(const tn_call& call, uint32_t op, Way way = Way::kAny)
      : product(op == kMatmul ? read_matmul(call) : read_linear(call)),
        compute(compute_of(output(call).dtype)) {
    const Extent size = {product.m, product.n, product.k};
    thin = size.m <= kThin;
    cooperative =
        way == Way::kCooperative || (way == Way::kAny && takes_cooperative(call, product));
    if (cooperative) {
      groups = Cooperative::groups(product);
    } else if (thin) {
      // Neighbouring invocations read neighbours in b: along k, or along the columns.
      columns = product.b.row == 1 && size.k >= 64 ? 1 : 32;
      quads = quads_of(product);
      if (quads == kAlongK && columns != 1) quads = kSingle;
      const int64_t wide = quads == kAlongColumns ? 4 * columns : columns;
      groups = (size.n + wide - 1) / wide * product.batches;
    } else {
      tiles = choose_tiles(size, product.batches, compute, device_of(call), kMatrices);
      groups = tiles.count(size) * product.batches;
    }
    if (!product.empty()) parts = split_sum(size.k, groups, device_of(call));
  }
  uint64_t partial_bytes() const {
    if (parts.count == 1) return 0;
    return static_cast<uint64_t>(parts.count * product.batches * product.m * product.n) *
           sum_bytes(compute);
  }
};

// Constants from the third on, and words, as shaders/product.glsl reads them. `last`: no further pass adds to the result.
void give_product(Launch& launch, const Plan& plan, const tn_call& call, Activation activation,
                  bool last) {
  const Product& p = plan.product;
  const tn_dtype dtype = output(call).dtype;
  const bool bias = last && p.bias != nullptr;
  launch.constant(dtype).constant(last ? static_cast<uint32_t>(dtype) : sum_dtype(plan.compute));
  launch.constant((last ? activation : kNone) | (bias ? 256u : 0u));
  launch.word(p.m)
      .word(p.n)
      .word(p.k)
      .word(p.a.row)
      .word(p.a.column)
      .word(p.b.row)
      .word(p.b.column);
  launch.word(p.batches)
      .word(launch.bias(1))
      .word(launch.bias(2))
      .word(plan.parts.count)
      .word(plan.parts.length);
  const uint32_t eights = plan.cooperative ? Cooperative::flags(p) : 0;
  launch.word(bias ? launch.bias(3) : 0).word(p.bias_step).word(p.ndim);
  launch.word((p.a.column == 1 ? 1u : 0u) | (p.b.row == 1 ? 2u : 0u) | eights);
}

const Shader& shader_of(const Plan& plan, const tn_call& call) {
  if (plan.cooperative) return cooperative_shader(call);
  return plan.thin ? shaders::thin : shaders::matmul;
}

void run_plan(const tn_call& call, uint32_t op, const Plan& plan) {
  const Product& p = plan.product;
  if (p.empty()) return;
  const Activation activation =
      op == kLinear ? activation_of(text_arg(call, arg::linear::activation)) : kNone;
  const bool split = plan.parts.count > 1, bias = p.bias != nullptr;
  Launch launch(call, shader_of(plan, call), plan.compute);
  if (plan.cooperative) {
    launch.constant(cooperative_error(call)).constant(0);
    launch.group_size(Cooperative::kInvocations);
  } else if (plan.thin) {
    launch.constant(plan.columns).constant(static_cast<uint32_t>(p.m));
  } else {
    launch.constant(plan.tiles.code()).constant(plan.tiles.rows);
    launch.group_size(plan.tiles.invocations());
  }
  if (split)
    launch.scratch(0, plan.partial_bytes());
  else
    launch.out(output(call));
  for (const auto* operand : {&p.a, &p.b}) {
    if (p.k > 0)
      launch.in(*operand->view);
    else
      launch.none();
  }
  if (bias && !split) launch.in(*p.bias);
  give_product(launch, plan, call, activation, !split);
  if (plan.thin && !plan.cooperative) launch.constant(plan.quads);
  if (p.ndim > 0) {
    std::vector<uint32_t> table;
    for (uint32_t d = 0; d < p.ndim; ++d) table.push_back(static_cast<uint32_t>(p.shape[d]));
    for (const auto* operand : {&p.a, &p.b})
      for (uint32_t d = 0; d < p.ndim; ++d)
        table.push_back(static_cast<uint32_t>(operand->batch[d]));
    launch.table(table);
  }
  launch.groups(plan.groups * plan.parts.count);
  if (!split) return;

  Launch sum(call, shaders::product_sum, plan.compute);
  sum.constant(sum_dtype(plan.compute)).constant(0);
  sum.out(output(call)).scratch(0, plan.partial_bytes()).none();
  if (bias) sum.in(*p.bias);
  give_product(sum, plan, call, activation, true);
  sum.elements(p.batches * p.m * p.n);
}

void run(const tn_call& call, uint32_t op) { run_plan(call, op, Plan(call, op)); }

uint64_t scratch(const tn_call& call, uint32_t op) { return Plan(call, op).partial_bytes(); }

}  // namespace

void run_matmul(const tn_call& call, Way way) { run_plan(call, kMatmul, Plan(call, kMatmul, way)); }

void add_matmul_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_MATMUL,
            .dtypes = kReals,
            .run = run,
            .code = kMatmul,
            .flags = TN_KERNEL_STRIDED,
            .scratch = scratch});
  list.add({.schema = TN_SCHEMA_LINEAR,
            .dtypes = kReals,
            .run = run,
            .code = kLinear,
            .flags = TN_KERNEL_STRIDED,
            .scratch = scratch});
}

}  // namespace tenon::vulkan
