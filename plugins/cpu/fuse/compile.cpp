#include "compile.hpp"

#include <cmath>
#include <cstring>

#include "check.hpp"
#include "dispatch.hpp"
#include "places.hpp"
#include "steps.hpp"
#include "tenon/schemas.h"
#include "tiling.hpp"

namespace tenon::cpu {
namespace {

class Compiler {
 public:
  Compiler(const tn_graph_expression& expression, const KnownKernels& kernels)
      : expression_(expression),
        kernels_(kernels),
        fused_(std::make_unique<Fused>()),
        steps_(*fused_) {}

  std::unique_ptr<Fused> compile() {
    loop();
    values_.resize(expression_.nnodes);
    // Places of numbers come before those of steps.
    for (uint32_t i = 0; i < expression_.nnodes; ++i)
      if (expression_.nodes[i].kind == TN_GRAPH_NUMBER) number(i);
    steps_.begin();
    for (uint32_t i = 0; i < expression_.nnodes; ++i) node(i);
    steps_.store_all(stored_);
    make_chains(*fused_, steps_.end());
    assign_places(*fused_, steps_.end());
    estimate(*fused_);
    return std::move(fused_);
  }

 private:
  void loop() {
    const tn_loop& loop = *expression_.loop;
    fused_->shape.assign(loop.shape, loop.shape + loop.ndim);
    fused_->reduced = loop.reduced;
    fused_->noutputs = expression_.noutputs;
    if (loop.reduced > 1)
      fail(TN_UNIMPLEMENTED, "rows of more than one dimension, which do not lie alike");
    if (loop.reduced != 0 && fused_->shape.back() > kLongestRow)
      fail(TN_UNIMPLEMENTED, "rows of more than ", kLongestRow, " elements");
    for (uint32_t k = 0; k < loop.noperands; ++k) {
      Operand& operand = fused_->operands.emplace_back();
      operand.size = size_of(expression_.dtypes[k]);
      for (uint32_t d = 0; d < loop.ndim; ++d)
        operand.step[d] = loop.shape[d] == 1 ? 0 : loop.strides[k][d] * operand.size;
    }
    cut(*fused_);
  }

  void number(uint32_t i) {
    auto& bytes = fused_->numbers.emplace_back();
    std::memcpy(bytes.data(), expression_.nodes[i].number, bytes.size());
    values_[i].dtype = expression_.nodes[i].dtype;
    values_[i].side.place =
        static_cast<uint16_t>(fused_->operands.size() + fused_->numbers.size() - 1);
  }

  void node(uint32_t i) {
    const tn_graph_node& node = expression_.nodes[i];
    values_[i].dtype = node.dtype;
    switch (node.kind) {
      case TN_GRAPH_LOAD:
        return load(i);
      case TN_GRAPH_OP:
        return op(i);
      case TN_GRAPH_REDUCE:
        return reduce(i);
      case TN_GRAPH_STORE:
        stored_.push_back({&values_[node.inputs[0]], static_cast<uint16_t>(node.operand)});
        return;
      default:
        return;
    }
  }

  void load(uint32_t i) {
    const uint32_t k = expression_.nodes[i].operand;
    const Operand& operand = fused_->operands[k];
    Value& value = values_[i];
    value.spread = operand.spread;
    value.side = {static_cast<uint16_t>(k), operand.packed, operand.row, operand.column};
    if (!operand.packed) value.side = steps_.packed(value.side, value.spread, operand.size);
  }

  const KnownKernels::Known& known(const tn_graph_node& node) const {
    const KnownKernels::Known* found = kernels_.find(*node.kernel);
    if (found == nullptr) fail(TN_UNIMPLEMENTED, "its kernel is another plugin's");
    return *found;
  }

  // A call that has attributes and the output's dtype, and no elements.
  const Elementwise& chosen(const tn_graph_node& node, const Stretch& stretch, Step& step) const {
    tn_view out{};
    out.dtype = node.dtype;
    const tn_view* const outs[] = {&out};
    tn_call call{};
    call.struct_size = sizeof call;
    call.args = node.args;
    call.nargs = node.nargs;
    call.outs = outs;
    call.nouts = 1;
    const Elementwise& self = *stretch.choose(node.kernel->self, call);
    if (self.read != nullptr) self.read(call, step.params.data());
    return self;
  }

  void op(uint32_t i) {
    const tn_graph_node& node = expression_.nodes[i];
    const Stretch stretch = known(node).stretch;
    if (stretch.choose == nullptr) fail(TN_UNIMPLEMENTED, "it does not go element by element");
    Step step{};
    step.kind = Step::Kind::kCompute;
    step.self = &chosen(node, stretch, step);
    step.compute = compute_through(stretch.through);
    step.inputs = step.self->inputs;
    check_types(i, *step.self, stretch.through != Through::kMemory);
    for (uint32_t k = 0; k < step.inputs; ++k)
      step.spread = std::max(step.spread, values_[node.inputs[k]].spread);
    choose_inputs(node, step);
    step.cheap = cheap(node, step);
    step.to.place = steps_.new_place();
    step.size = size_of(node.dtype);
    finish(i, step);
  }

  // What the node is in a chain.
  ChainCode cheap(const tn_graph_node& node, Step& step) const {
    const tn_dtype in = values_[node.inputs[0]].dtype;
    for (uint32_t k = 1; k < step.inputs; ++k)
      if (values_[node.inputs[k]].dtype != in) return ChainCode::kNone;
    if (step.spread != Spread::kAll) return ChainCode::kNone;
    const ChainCode code = cheap_op(sdk::view_of(known(node).kernel->op), in, node.dtype);
    if (code == ChainCode::kClamp) return read_bounds(node, step) ? code : ChainCode::kNone;
    return code == ChainCode::kFromInt || step.self->read == nullptr ? code : ChainCode::kNone;
  }

  // False unless they are numbers.
  static bool read_bounds(const tn_graph_node& node, Step& step) {
    using arg = arg::clamp;
    if (node.inputs[arg::min] != TN_GRAPH_ATTRIBUTE || node.inputs[arg::max] != TN_GRAPH_ATTRIBUTE)
      return false;
    tn_call call{};
    call.struct_size = sizeof call;
    call.args = node.args;
    call.nargs = node.nargs;
    const auto read = [&](uint32_t at, float none) {
      return node.args[at].tag == TN_VALUE_NONE ? none : static_cast<float>(real_arg(call, at));
    };
    step.low = read(arg::min, -HUGE_VALF);
    step.high = read(arg::max, HUGE_VALF);
    return step.low == step.low && step.high == step.high;
  }

  void check_types(uint32_t i, const Elementwise& self, bool narrow) const {
    const tn_graph_node& node = expression_.nodes[i];
    const auto in_memory = [&](uint8_t size) { return narrow && size == 4 ? 2u : size; };
    bool fits = node.nargs >= self.inputs && in_memory(self.out_size) == size_of(node.dtype);
    for (uint32_t k = 0; fits && k < node.nargs; ++k) {
      const bool is_node = node.inputs[k] != TN_GRAPH_ATTRIBUTE;
      fits = is_node == (k < self.inputs) &&
             (!is_node || in_memory(self.in_size[k]) == size_of(values_[node.inputs[k]].dtype));
    }
    if (!fits)
      fail(TN_INVALID_ARGUMENT, "[tn.graph] node ", i, ": its inputs are not those of its kernel");
  }

  // Single values are taken as such where the kernel can, and written out where it cannot.
  void choose_inputs(const tn_graph_node& node, Step& step) {
    uint32_t ones = 0;
    for (uint32_t k = 0; step.spread != Spread::kOne && k < step.inputs; ++k)
      if (values_[node.inputs[k]].spread == Spread::kOne) ones |= 1u << k;
    if (ones >= 4 || step.self->fn[ones] == nullptr) ones = 0;
    step.ones = static_cast<uint8_t>(ones);
    for (uint32_t k = 0; k < step.inputs; ++k) {
      Value& value = values_[node.inputs[k]];
      const bool as_it_is = value.spread == step.spread || (ones >> k & 1) != 0;
      step.in[k] = as_it_is ? value.side.place : steps_.whole(value);
    }
  }

  void reduce(uint32_t i) {
    const tn_graph_node& node = expression_.nodes[i];
    const KnownKernels::Known& found = known(node);
    const std::string_view schema = sdk::view_of(found.kernel->op);
    if (schema.find("int[]? dims=none") == schema.npos ||
        schema.find("bool keepdim") == schema.npos)
      fail(TN_UNIMPLEMENTED, "it does not reduce rows");
    if (node.nargs == 0 || node.inputs[0] == TN_GRAPH_ATTRIBUTE)
      fail(TN_INVALID_ARGUMENT, "[tn.graph] node ", i, ": it reduces no node");
    Value& from = values_[node.inputs[0]];
    if ((found.kernel->dtypes & TN_MASK(from.dtype)) == 0)
      fail(TN_INVALID_ARGUMENT, "[tn.graph] node ", i, ": its kernel is for other dtypes");
    Step step{};
    step.kind = Step::Kind::kReduce;
    step.spread = fused_->tiling.rows == 1 ? Spread::kOne : Spread::kRow;
    step.from.place = steps_.whole(from);
    step.to.place = steps_.new_place();
    step.kernel = found.kernel;
    step.size = size_of(node.dtype);
    step.dtype_in = from.dtype, step.dtype_out = node.dtype;
    step.attributes = static_cast<uint32_t>(fused_->attributes.size());
    keep(node);
    finish(i, step);
  }

  // Attributes outlive the expression.
  void keep(const tn_graph_node& node) {
    auto& args = fused_->attributes.emplace_back(node.args, node.args + node.nargs);
    for (tn_value& value : args) {
      if (value.tag != TN_VALUE_INTS) continue;
      auto& list = fused_->lists.emplace_back(value.as.ints, value.as.ints + value.count);
      value.as.ints = list.data();
    }
  }

  void finish(uint32_t i, const Step& step) {
    values_[i].spread = step.spread;
    values_[i].side = {step.to.place, true, 0, 0};
    values_[i].computed = static_cast<int>(fused_->steps.size());
    fused_->steps.push_back(step);
  }

  const tn_graph_expression& expression_;
  const KnownKernels& kernels_;
  std::unique_ptr<Fused> fused_;
  std::vector<Value> values_;
  Steps steps_;
  std::vector<Stored> stored_;
};

}  // namespace

std::unique_ptr<Fused> compile(const tn_graph_expression& expression, const KnownKernels& kernels) {
  check_expression(expression);
  return Compiler(expression, kernels).compile();
}

}  // namespace tenon::cpu
