// attention and its gradients by cuDNN, for half types without a mask. Otherwise the plugin's own kernels run.
#include <cmath>
#include <memory>

#include "../../common/attention_packed.hpp"
#include "../cudnn_plans.hpp"
#include "../numerics.hpp"
#include "backend.hpp"
#include "dense_copy.hpp"
#include "library_kernel.hpp"
#include "timeline.hpp"

namespace tenon::gpu {

namespace {

namespace fe = cudnn_frontend::graph;

using Operand = CudnnAttention::Operand;

Operand dense(const std::vector<int64_t>& sizes) { return {sizes, dense_strides(sizes)}; }

CudnnTensor add(CudnnGraph& graph, const Operand& operand) {
  return graph.input(operand.sizes, operand.strides);
}
void add_result(CudnnGraph& graph, const CudnnTensor& tensor, const Operand& like, tn_dtype dtype) {
  graph.result(tensor, like.sizes, like.strides, dtype);
}

void describe_forward(CudnnGraph& graph, const CudnnAttention& a, const Operand& lse) {
  const CudnnTensor q = add(graph, a.q), k = add(graph, a.k), v = add(graph, a.v);
  const auto [y, stats] = graph.operations().sdpa(
      q, k, v,
      fe::SDPA_attributes().set_generate_stats(true).set_causal_mask(a.causal).set_attn_scale(
          a.scale));
  add_result(graph, y, a.y, a.dtype);
  add_result(graph, stats, lse, TN_DTYPE_F32);
}

void describe_backward(CudnnGraph& graph, const CudnnAttention& a, const Operand& lse) {
  const CudnnTensor g = add(graph, a.g), q = add(graph, a.q), k = add(graph, a.k),
                    v = add(graph, a.v), y = add(graph, a.y);
  const CudnnTensor stats = graph.input(lse.sizes, lse.strides, TN_DTYPE_F32);
  const auto [gq, gk, gv] =
      graph.operations().sdpa_backward(q, k, v, y, g, stats,
                                       fe::SDPA_backward_attributes()
                                           .set_causal_mask(a.causal)
                                           .set_attn_scale(a.scale)
                                           .set_deterministic_algorithm(a.deterministic));
  const auto or_dense = [](const Operand& result, const Operand& like) {
    return result.sizes.empty() ? dense(like.sizes) : result;
  };
  add_result(graph, gq, or_dense(a.gq, a.q), a.dtype);
  add_result(graph, gk, or_dense(a.gk, a.k), a.dtype);
  add_result(graph, gv, or_dense(a.gv, a.v), a.dtype);
}

}  // namespace

std::unique_ptr<CudnnGraph> describe(const CudnnAttention& attention) {
  auto graph = std::make_unique<CudnnGraph>(attention.dtype);
  const std::vector<int64_t>& q = attention.q.sizes;
  const Operand lse = dense({q[0], q[1], q[2], 1});
  attention.is_backward ? describe_backward(*graph, attention, lse)
                        : describe_forward(*graph, attention, lse);
  return graph;
}

namespace {

using forward_arg = arg::attention;
using backward_arg = arg::attention_backward;

// Positions of operands in a call.
struct Call {
  const tn_call& call;
  bool is_backward;

  uint32_t at(uint32_t forward, uint32_t backward) const {
    return is_backward ? backward : forward;
  }
  const tn_view& q() const { return input(call, at(forward_arg::q, backward_arg::q)); }
  const tn_view& k() const { return input(call, at(forward_arg::k, backward_arg::k)); }
  const tn_view& v() const { return input(call, at(forward_arg::v, backward_arg::v)); }
  const tn_view& y() const { return is_backward ? input(call, backward_arg::y) : output(call); }
  const tn_view& lse() const {
    return is_backward ? input(call, backward_arg::lse) : output(call, forward_arg::result::lse);
  }
  bool has_mask() const {
    return input_or_null(call, at(forward_arg::mask, backward_arg::mask)) != nullptr;
  }
  bool has_lse_gradient() const {
    return is_backward && input_or_null(call, backward_arg::glse) != nullptr;
  }
  bool causal() const { return call.args[at(forward_arg::causal, backward_arg::causal)].as.i != 0; }
  float scale() const {
    const uint32_t arg = at(forward_arg::scale, backward_arg::scale);
    if (call.args[arg].tag == TN_VALUE_NONE)
      return static_cast<float>(1 / std::sqrt(static_cast<double>(q().shape[3])));
    return static_cast<float>(real_arg(call, arg));
  }
};

Operand operand_of(const tn_view& view) {
  return {{view.shape, view.shape + view.ndim}, {view.strides, view.strides + view.ndim}};
}

// Rows consist of whole vectors, one behind the other.
bool lies_in_vectors(const tn_view& view) {
  constexpr int64_t kVector = 8;
  if (view.strides[3] != 1 || view.shape[3] % kVector != 0) return false;
  for (uint32_t d = 0; d < 3; ++d)
    if (view.strides[d] <= 0 || view.strides[d] % kVector != 0) return false;
  return true;
}
bool fits(const tn_view& view) {
  return numel(view) != 0 && is_aligned_for_cudnn(view) && lies_in_vectors(view);
}

// Whether a plan copies g first: the gradient of a sum, say, is one number with strides of 0.
bool copies_gradient(const Call& at) {
  return at.is_backward && !lies_in_vectors(input(at.call, backward_arg::g));
}

CudnnAttention attention_of(const Call& at) {
  CudnnAttention made{
      at.is_backward,     at.q().dtype, operand_of(at.q()), operand_of(at.k()), operand_of(at.v()),
      operand_of(at.y()), {},           at.causal(),        at.scale()};
  if (at.is_backward) {
    const tn_view& g = input(at.call, backward_arg::g);
    made.g = copies_gradient(at) ? dense(operand_of(g).sizes) : operand_of(g);
    made.gq = operand_of(output(at.call, backward_arg::result::gq));
    made.gk = operand_of(output(at.call, backward_arg::result::gk));
    made.gv = operand_of(output(at.call, backward_arg::result::gv));
  }
  made.deterministic = !allows_nondeterminism();
  return made;
}

class Plan final : public LibraryPlan {
 public:
  explicit Plan(const Call& at)
      : is_backward_(at.is_backward),
        copies_gradient_(copies_gradient(at)),
        graph_(describe(attention_of(at))) {
    const CudnnHandle handle(at.call.device_index);
    graph_->plan(cudnn_target(at.call.device_index, handle),
                 {.nondeterministic = allows_nondeterminism(),
                  .workspace = most_workspace(at.call.device_index)});
    workspace = graph_->workspace();
    if (!copies_gradient_) return;
    const tn_view& g = input(at.call, backward_arg::g);
    place_of_gradient_ = (workspace + 255) / 256 * 256;
    workspace = place_of_gradient_ + static_cast<uint64_t>(numel(g)) * size_of(g.dtype);
  }
  void run(const tn_call& call) const override {
    std::vector<void*> addresses;
    const uint32_t inputs = is_backward_ ? 6 : 3, outputs = is_backward_ ? 3 : 2;
    for (uint32_t i = 0; i < inputs; ++i) addresses.push_back(input(call, i).data);
    for (uint32_t i = 0; i < outputs; ++i) addresses.push_back(output(call, i).data);
    if (copies_gradient_) {
      addresses[backward_arg::g] = static_cast<char*>(call.scratch) + place_of_gradient_;
      copy_dense(call, input(call, backward_arg::g), addresses[backward_arg::g]);
    }
    {
      CudnnHandle handle(call.device_index);
      handle.set_stream(stream_of(call).handle());
      graph_->run(handle, addresses, call.scratch);
    }
    Timed::launched();
  }

 private:
  bool is_backward_, copies_gradient_;
  uint64_t place_of_gradient_ = 0;  // in the scratch memory
  std::unique_ptr<CudnnGraph> graph_;
};

// A plan for the call that a packed call stands for.
class PackedPlan final : public LibraryPlan {
 public:
  PackedPlan(const tn_call& call, bool is_backward)
      : is_backward_(is_backward),
        plan_(Call{UnpackedAttention(call, is_backward).call(), is_backward}) {
    workspace = plan_.workspace;
  }
  void run(const tn_call& call) const override {
    plan_.run(UnpackedAttention(call, is_backward_).call());
  }

 private:
  bool is_backward_;
  Plan plan_;
};

class AttentionKernel final : public LibraryKernel {
 public:
  AttentionKernel(std::string_view schema, bool is_backward, bool is_packed)
      : LibraryKernel({schema, "cuDNN", TN_MASK_HALF, TN_KERNEL_STRIDED}),
        is_backward_(is_backward),
        is_packed_(is_packed) {}

  bool takes(const tn_call& call) const override {
    return is_packed_ ? takes_plain(UnpackedAttention(call, is_backward_).call())
                      : takes_plain(call);
  }
  std::unique_ptr<LibraryPlan> prepare(const tn_call& call) const override {
    if (is_packed_) return std::make_unique<PackedPlan>(call, is_backward_);
    return std::make_unique<Plan>(Call{call, is_backward_});
  }

 private:
  bool takes_plain(const tn_call& call) const {
    const Call at{call, is_backward_};
    if (at.has_mask() || at.has_lse_gradient()) return false;
    for (const tn_view* view : {&at.q(), &at.k(), &at.v(), &at.y()})
      if (!fits(*view)) return false;
    if (is_backward_ && (at.lse().flags & TN_VIEW_CONTIGUOUS) == 0) return false;
    if (is_backward_ && !copies_gradient(at) && !fits(input(call, backward_arg::g))) return false;
    return has_cudnn();
  }

  bool is_backward_, is_packed_;
};

}  // namespace

std::vector<tn_kernel> cudnn_attention_kernels() {
  static const AttentionKernel kernels[] = {{TN_SCHEMA_ATTENTION, false, false},
                                            {TN_SCHEMA_ATTENTION_BACKWARD, true, false},
                                            {TN_SCHEMA_ATTENTION_PACKED, false, true},
                                            {TN_SCHEMA_ATTENTION_PACKED_BACKWARD, true, true}};
  std::vector<tn_kernel> made;
  for (const AttentionKernel& kernel : kernels) made.push_back(library_kernel(kernel));
  return made;
}

}  // namespace tenon::gpu
