#include "fuse/packed_product.hpp"

#include "dispatch.hpp"
#include "fuse/anchor_reader.hpp"
#include "fuse/anchored.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"

#if defined(__x86_64__)
#include "ops/quantize_packed.hpp"
#include "ops/workspace.hpp"

namespace tenon::cpu {
namespace {

class Reader : AnchorReader {
 public:
  using AnchorReader::AnchorReader;

  std::optional<PackedProductRecipe> read() {
    const tn_graph_node* product = nullptr;
    uint32_t ops = 0;
    for (uint32_t i = 0; i < expression_.nnodes; ++i) {
      const tn_graph_node& node = expression_.nodes[i];
      if (node.kind == TN_GRAPH_ANCHOR) product = &node;
      ops += node.kind == TN_GRAPH_ANCHOR || node.kind == TN_GRAPH_OP ? 1 : 0;
    }
    const std::string_view op = schema(*product);
    recipe_.quantizes = op == TN_SCHEMA_LINEAR_W8A8;
    if (!recipe_.quantizes && op != TN_SCHEMA_LINEAR_INTEGER) return std::nullopt;
    if (ops != 1) return std::nullopt;  // rows may be windows, which are convolutions
    for (uint32_t k = 0; k < product->nargs; ++k) recipe_.operands.push_back(dense(*product, k));
    static_assert(arg::linear_w8a8::packed == arg::linear_integer::weight &&
                  arg::linear_w8a8::x == arg::linear_integer::x);
    recipe_.weight = constant(*product, arg::linear_integer::weight, TN_DTYPE_I8);
    const tn_view& weight = *expression_.views[recipe_.weight];
    const tn_view& x = *expression_.views[recipe_.operands[arg::linear_integer::x]];
    ImageWindow window;
    if (!recipe_.quantizes && read_integers(x, weight, *expression_.views[0], window))
      return std::nullopt;
    recipe_.outputs = weight.shape[0];
    recipe_.n = weight.shape[1];
    recipe_.rows = sdk::numel(x) / recipe_.n;
    return std::move(recipe_);
  }

 private:
  // The operand that an argument is; 0 where it is none.
  uint32_t dense(const tn_graph_node& node, uint32_t arg) const {
    if (node.inputs[arg] == TN_GRAPH_ATTRIBUTE) return 0;
    const auto found = operand(node, arg);
    if (!found || (expression_.views[*found]->flags & TN_VIEW_CONTIGUOUS) == 0)
      cannot("what it reads is not dense");
    return *found;
  }

  PackedProductRecipe recipe_;
};

class PackedProduct : public AnchoredKernel {
 public:
  // Shares the weight of `like`, NULL or a kernel of the same one.
  PackedProduct(PackedProductRecipe recipe, const PackedProduct* like)
      : recipe_(std::move(recipe)), packed_{nullptr, nullptr, recipe_.outputs, recipe_.n} {
    if (like == nullptr || like->recipe_.outputs != recipe_.outputs || like->recipe_.n != recipe_.n)
      return;
    packed_ = like->packed_;
    memory_ = like->memory_;
    shares_ = true;
  }

  void pack(const tn_view* const* views) override {
    if (std::exchange(shares_, false)) return;
    if (memory_ == nullptr || memory_.use_count() > 1) allocate();  // others may read it now
    const auto* const weight = data_of<const int8_t>(*views[recipe_.weight]);
    pack_bytes({weight, recipe_.outputs, recipe_.n}, packed_);
  }

  // Arguments are the operands behind the output.
  void run(const tn_call& call) const override {
    tn_value args[kMostArguments]{};
    for (size_t k = 0; k < recipe_.operands.size(); ++k)
      if (recipe_.operands[k] != 0) args[k] = call.args[recipe_.operands[k] - 1];
    tn_call product = call;
    product.args = args;
    product.nargs = static_cast<uint32_t>(recipe_.operands.size());
    (recipe_.quantizes ? run_w8a8 : run_integer)(product, &packed_);
  }

 private:
  static constexpr size_t kMostArguments = 5;
  static_assert(arg::linear_w8a8::x_range < kMostArguments);
  void allocate() {
    constexpr std::align_val_t kLine{64};
    memory_.reset(::operator new(Room::bytes_of<int8_t>(packed_.bytes()) +
                                     Room::bytes_of<int32_t>(packed_.columns()),
                                 kLine),
                  [](void* memory) { ::operator delete(memory, kLine); });
    Room room(memory_.get());
    packed_.data = room.take<int8_t>(packed_.bytes());
    packed_.sums = room.take<int32_t>(packed_.columns());
  }
  PackedProductRecipe recipe_;
  PackedBytes packed_;
  std::shared_ptr<void> memory_;
  bool shares_ = false;  // what is packed already
};

}  // namespace

std::optional<PackedProductRecipe> read_packed_product(const tn_graph_expression& expression,
                                                       const KnownKernels& kernels) {
  return Reader(expression, kernels).read();
}

std::unique_ptr<AnchoredKernel> make_packed_product(PackedProductRecipe recipe,
                                                    const AnchoredKernel* like) {
  return std::make_unique<PackedProduct>(std::move(recipe),
                                         dynamic_cast<const PackedProduct*>(like));
}

}  // namespace tenon::cpu
#else
namespace tenon::cpu {
std::optional<PackedProductRecipe> read_packed_product(const tn_graph_expression&,
                                                       const KnownKernels&) {
  return std::nullopt;
}
std::unique_ptr<AnchoredKernel> make_packed_product(PackedProductRecipe, const AnchoredKernel*) {
  return nullptr;
}
}  // namespace tenon::cpu
#endif
