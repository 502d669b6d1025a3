#include "autograd/engine.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "boundary.hpp"
#include "dispatch/record.hpp"
#include "on_exit.hpp"

namespace tenon::core {
namespace {

constexpr size_t kKeepCells = 1u << 14;  // scratch memory that a thread keeps between runs

// One for each level of nesting.
thread_local std::vector<std::unique_ptr<Scratch>> t_scratch;

// Callbacks for the end of a thread's outermost run.
struct EndCall {
  tn_status* (*done)(void* ctx);
  void* ctx;
  void (*destroy)(void* ctx);
};
struct Ends {
  uint32_t runs = 0;  // in progress
  std::vector<EndCall> calls;

  void call_all() {  // a callback may add more
    for (size_t i = 0; i < calls.size(); ++i) check(calls[i].done(calls[i].ctx));
  }
  void drop_all() noexcept {
    for (const EndCall& call : std::exchange(calls, {}))
      if (call.destroy != nullptr) call.destroy(call.ctx);
  }
};
thread_local Ends t_ends;

Scratch* take_scratch() {
  if (t_scratch.empty()) return new Scratch;
  Scratch* scratch = t_scratch.back().release();
  t_scratch.pop_back();
  return scratch;
}

void drop(Pending& arrived, uint32_t nresults) noexcept {
  tn_tensor** grads = arrived.grads();
  const uint32_t n = arrived.many != nullptr ? nresults : kFewGradients;
  for (uint32_t k = 0; k < n; ++k) release(std::exchange(grads[k], nullptr));
  delete[] std::exchange(arrived.many, nullptr);
}

}  // namespace

void Scratch::clear() {
  for (Root& root : roots) release(root.edge.node);
  for (Capture& capture : captures) release(capture.edge.node);
  roots.clear();
  captures.clear();
  pending.clear(kKeepCells);
  marks.clear(kKeepCells);
  heap.clear();
  visits.clear();
  if (heap.capacity() > kKeepCells) heap = {};
  if (visits.capacity() > kKeepCells) visits = {};
}

Run::Run(uint32_t flags) : flags_(flags), outer_modes_(t_modes), scratch_(take_scratch()) {
  t_modes =
      (outer_modes_ & ~(TN_MODE_GRAD | TN_MODE_INFERENCE)) | (create_graph() ? TN_MODE_GRAD : 0);
  ++t_ends.runs;
}

Run::~Run() {
  t_modes = outer_modes_;
  if (front_node_ != nullptr) drop(front_, front_node_->nresults);
  for (const Scratch::Aged& aged : scratch_->heap)
    drop(*scratch_->pending.find(aged.node), aged.node->nresults);
  scratch_->clear();
  t_scratch.emplace_back(scratch_);
  if (--t_ends.runs == 0 && !t_ends.calls.empty()) t_ends.drop_all();
}

bool Run::wants(const Node* node) const {
  if (scratch_->captures.empty()) return true;
  const Mark* mark = scratch_->marks.find(node);
  return mark != nullptr && (mark->execute || mark->capture != 0);
}

void Run::add_root(tn_tensor& output, Ref gradient) {
  scratch_->roots.push_back({{}, std::move(gradient)});
  scratch_->roots.back().edge = gradient_edge(output);
}

void Run::capture(tn_tensor& input) {
  scratch_->captures.push_back({{}, Ref(), &input, 0});
  scratch_->captures.back().edge = gradient_edge(input);
}

// ---- Which nodes gradient() needs --------------------------------------------------------------

// Depth first, without recursion. Nodes older than every captured one can't lead to any.
void Run::visit_from(Node* root, uint64_t oldest) {
  auto& marks = scratch_->marks;
  auto& visits = scratch_->visits;
  const bool visited = std::exchange(marks.insert(root).reached, true);
  if (visited || root->sequence < oldest) return;
  visits.push_back({root, 0});
  while (!visits.empty()) {
    auto& [node, edge] = visits.back();
    if (edge == node->nedges) {
      visits.pop_back();
      continue;
    }
    Node* next = node->edges[edge].node;
    if (next == nullptr || next->sequence < oldest) {
      ++edge;
      continue;
    }
    Mark& mark = marks.insert(next);
    if (!std::exchange(mark.reached, true) && next->nedges != 0) {
      visits.push_back({next, 0});  // and then looks at this edge again
      continue;
    }
    if (mark.execute || mark.capture != 0) marks.find(node)->execute = true;
    ++edge;
  }
}

void Run::mark() {
  auto& marks = scratch_->marks;
  uint64_t oldest = ~uint64_t{0};
  for (uint32_t i = 0; i < scratch_->captures.size(); ++i) {
    Mark& mark = marks.insert(scratch_->captures[i].edge.node);
    scratch_->captures[i].next = std::exchange(mark.capture, i + 1);
    oldest = std::min(oldest, scratch_->captures[i].edge.node->sequence);
  }
  for (const Scratch::Root& root : scratch_->roots) visit_from(root.edge.node, oldest);
}

// ---- The loop ----------------------------------------------------------------------------------

tn_tensor*& Run::slot(Edge edge) {
  Pending* arrived = front_node_ == edge.node ? &front_ : scratch_->pending.find(edge.node);
  if (arrived == nullptr && front_node_ == nullptr) {
    front_node_ = edge.node;
    front_ = {};
    arrived = &front_;
  } else if (arrived == nullptr) {
    arrived = &scratch_->pending.insert(edge.node);
    scratch_->heap.push_back({edge.node->sequence, edge.node});
    std::push_heap(scratch_->heap.begin(), scratch_->heap.end());
  }
  if (edge.node->nresults > kFewGradients && arrived->many == nullptr)
    arrived->many = new tn_tensor* [edge.node->nresults] {};
  return arrived->grads()[edge.nr];
}

void Run::deliver(Edge edge, Ref gradient) {
  tn_tensor*& there = slot(edge);
  if (there != nullptr) gradient = sum(Ref(std::exchange(there, nullptr)), std::move(gradient));
  there = gradient.take();
}

bool Run::take_next(Node*& node, Pending& arrived) {
  auto& heap = scratch_->heap;
  if (front_node_ != nullptr && (heap.empty() || front_node_->sequence >= heap.front().sequence)) {
    node = std::exchange(front_node_, nullptr);
    arrived = front_;
    return true;
  }
  if (heap.empty()) return false;
  std::pop_heap(heap.begin(), heap.end());
  node = heap.back().node;
  heap.pop_back();
  arrived = scratch_->pending.take(node);
  return true;
}

void Run::execute() {
  if (!scratch_->captures.empty()) mark();
  for (Scratch::Root& root : scratch_->roots)
    if (wants(root.edge.node)) deliver(root.edge, std::move(root.gradient));
  Node* node;
  Pending arrived;
  while (take_next(node, arrived)) {
    const OnExit over([&arrived, n = node->nresults] { drop(arrived, n); });
    process(*node, arrived);
  }
  if (t_ends.runs == 1) t_ends.call_all();
}

void Run::process(Node& node, Pending& arrived) {
  tn_tensor** grads = arrived.grads();
  if (node.hooks.load(std::memory_order_acquire) != nullptr) run_hooks(node, grads);
  if (scratch_->captures.empty()) {
    if (!node.is_leaf) return apply(node, grads);
    if (grads[0] != nullptr)
      accumulate(static_cast<LeafNode&>(node), Ref(std::exchange(grads[0], nullptr)));
    return;
  }
  const Mark mark = *scratch_->marks.find(&node);
  if (mark.capture != 0) keep_captured(mark, grads);
  if (mark.execute) apply(node, grads);
}

void Run::keep_captured(const Mark& mark, tn_tensor** grads) {
  for (uint32_t i = mark.capture; i != 0; i = scratch_->captures[i - 1].next) {
    Scratch::Capture& capture = scratch_->captures[i - 1];
    capture.gradient = Ref::share(grads[capture.edge.nr]);
  }
}

void Run::run_hooks(Node& node, tn_tensor** grads) {
  for (const auto& hook : hooks_of(node).all()) {
    tn_tensor*& grad = grads[hook->nr];
    if (grad == nullptr || hook->run == nullptr) continue;
    tn_tensor* replacement = nullptr;
    tn_status* status = hook->run(hook->ctx, grad, &replacement);
    Ref fresh(replacement);
    check(status);
    if (!fresh) continue;
    fresh = conform(std::move(fresh), meta_of_tensor(*grad), node.name(), "from a hook");
    release(std::exchange(grad, fresh.take()));
  }
}

// Hooks see what the node passes on, and may replace it.
void Run::run_step_hooks(Node& node, tn_tensor** grads, tn_tensor** passed) {
  for (const auto& hook : hooks_of(node).all()) {
    if (hook->after == nullptr) continue;
    Outs fresh(node.nedges);
    check(hook->after(hook->ctx, passed, node.nedges, grads, node.nresults, fresh.data()));
    for (uint32_t e = 0; e < node.nedges; ++e) {
      Ref replacement = fresh.take(e);
      if (!replacement || passed[e] == nullptr) continue;
      replacement = conform(std::move(replacement), node.inputs[e], node.name(), "from a hook");
      release(std::exchange(passed[e], replacement.take()));
    }
  }
}

void Run::apply(Node& node, tn_tensor** grads) {
  Outs results(node.nedges);  // until they are delivered
  node.apply(*this, grads, results.data());
  if (node.hooks.load(std::memory_order_acquire) != nullptr)
    run_step_hooks(node, grads, results.data());
  const bool anomaly = (t_modes & TN_MODE_ANOMALY) != 0;
  for (uint32_t e = 0; e < node.nedges; ++e) {
    Ref gradient = results.take(e);
    const Edge edge = node.edges[e];
    if (!gradient || edge.node == nullptr || !wants(edge.node)) continue;
    if (anomaly && has_nan(*gradient))
      fail(TN_FAILED_PRECONDITION,
           "[{}] its gradient is NaN: of input {} with shape {}, made by the forward op number {}",
           node.name(), e, format_shape(gradient->sizes()), node.sequence);
    deliver(edge, std::move(gradient));
  }
}

Ref Run::captured(uint32_t input) {
  Scratch::Capture& capture = scratch_->captures[input];
  if (capture.gradient) return std::move(capture.gradient);
  const Mark* mark = scratch_->marks.find(capture.edge.node);
  if (!mark->reached) return Ref();
  return constant_like(meta_of_tensor(*capture.input), 0);
}

}  // namespace tenon::core

tn_status* tn_backward_on_end(tn_status* (*done)(void* ctx), void* ctx,
                              void (*destroy)(void* ctx)) {
  using namespace tenon::core;
  TN_REQUIRE(done);
  return guarded([&] {
    if (t_ends.runs == 0)
      fail(TN_FAILED_PRECONDITION, "[backward_on_end] no backward pass runs on this thread");
    t_ends.calls.push_back({done, ctx, destroy});
  });
}
