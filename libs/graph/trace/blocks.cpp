// Control flow in a trace: the calls for a branch or an iteration become a graph of their own.
#include <fmt/format.h>

#include <algorithm>

#include "trace/tracer.hpp"

namespace tenon::graph {
namespace {

[[noreturn]] void refuse(const char* of, const std::string& why) {
  throw Error(TN_FAILED_PRECONDITION, fmt::format("[graph.{}] {}", of, why));
}

View whole(uint32_t buffer, const Buffer& of) { return {buffer, of.dtype, 0, {of.size}, {1}}; }

// Requires results to match, one by one, those that they stand in for.
void check_same(const char* of, const std::vector<View>& found, std::span<const View> wanted,
                const char* what, const char* beside) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (i >= found.size() || found[i].dtype != wanted[i].dtype || found[i].shape != wanted[i].shape)
      refuse(of, fmt::format("{} gives {} where {} has {}", what,
                             i < found.size() ? described_type(found[i]) : "nothing", beside,
                             described_type(wanted[i])));
  if (found.size() != wanted.size())
    refuse(of, fmt::format("{} gives {} tensors, {} has {}", what, found.size(), beside,
                           wanted.size()));
}

// Turns the nodes of a block into a graph; whatever they use of the outer graph becomes an input.
class Cut {
 public:
  Cut(const Graph& around, size_t buffers, std::span<const View> inputs)
      : around_(around), first_(buffers) {
    for (const View& input : inputs) {
      made_.graph.inputs.push_back(moved(input));
      made_.graph.buffers[made_.graph.inputs.back().buffer].role = Role::Input;
    }
  }
  Block take(std::span<Node> nodes, std::span<const View> results) {
    std::vector<uint32_t> written;
    for (Node& node : nodes) {
      written.clear();
      writes(node, written);
      for (const uint32_t b : written) check_write(node, b);
      each_view_in(node, [&](View& view) { view = moved(view); });
      made_.graph.nodes.push_back(std::move(node));
    }
    for (const View& result : results) made_.graph.results.push_back(moved(result));
    drop_dead(made_.graph);
    return std::move(made_);
  }

 private:
  void check_write(const Node& node, uint32_t b) const {
    const auto known = number_.find(b);
    const bool input =
        known != number_.end() && made_.graph.buffers[known->second].role == Role::Input;
    if (b < first_ || input || around_.buffers[b].role != Role::Temporary)
      throw Error(TN_FAILED_PRECONDITION,
                  fmt::format("[graph] {} in the body of a cond, loop or scan writes into a tensor "
                              "from outside the body: clone it first",
                              described(node)));
  }
  View moved(View view) {
    const uint32_t from = view.buffer;
    const auto found = number_.find(from);
    if (found != number_.end()) {
      view.buffer = found->second;
      return view;
    }
    view.buffer = static_cast<uint32_t>(made_.graph.buffers.size());
    number_.emplace(from, view.buffer);
    Buffer buffer = around_.buffers[from];
    if (from < first_ && !is_held(buffer.role)) {
      buffer.role = Role::Input;
      buffer.name = fmt::format("outer{}", made_.captures.size());
      made_.captures.push_back(from);
      made_.graph.inputs.push_back(whole(view.buffer, buffer));
    }
    made_.graph.buffers.push_back(std::move(buffer));
    return view;
  }

  const Graph& around_;
  size_t first_;
  std::unordered_map<uint32_t, uint32_t> number_;
  Block made_;
};

// The captures of all bodies together; every body takes all of them.
std::vector<uint32_t> share_captures(const Graph& around, std::vector<Block>& blocks) {
  std::vector<uint32_t> all;
  for (const Block& block : blocks)
    for (const uint32_t b : block.captures)
      if (std::ranges::find(all, b) == all.end()) all.push_back(b);
  for (Block& block : blocks) {
    const size_t given = block.graph.inputs.size() - block.captures.size();
    std::vector<View> inputs(block.graph.inputs.begin(),
                             block.graph.inputs.begin() + static_cast<std::ptrdiff_t>(given));
    for (const uint32_t b : all) {
      const auto known = std::ranges::find(block.captures, b);
      if (known != block.captures.end()) {
        inputs.push_back(
            block.graph.inputs[given + static_cast<size_t>(known - block.captures.begin())]);
        continue;
      }
      const auto fresh = static_cast<uint32_t>(block.graph.buffers.size());
      block.graph.buffers.push_back(
          {Role::Input, around.buffers[b].dtype, around.buffers[b].size, "unused"});
      inputs.push_back(whole(fresh, block.graph.buffers.back()));
    }
    block.graph.inputs = std::move(inputs);
  }
  return all;
}

}  // namespace

thread_local Tracer* Tracer::current_ = nullptr;

std::vector<Tensor> Tracer::begin_block(std::span<const Tensor> like) {
  if (is_step())
    throw Error(TN_UNIMPLEMENTED,
                "[graph] cond, loop and scan are not recorded in a training step: gradients go "
                "through them in eager mode alone");
  for (const void* memory : host_calls_.stale()) trace_pending(memory);
  Open open{recorder_.graph().nodes.size(),
            recorder_.graph().buffers.size(),
            blocks_.size(),
            {},
            host_calls_.mark()};
  std::vector<Tensor> inputs;
  for (const Tensor& one : like) {
    inputs.push_back(recorder_.add(Role::Temporary, one.dtype(), one.shape(),
                                   fmt::format("arg{}", inputs.size())));
    open.inputs.push_back(recorder_.use(inputs.back()));
  }
  open_.push_back(std::move(open));
  return inputs;
}

void Tracer::end_block(std::span<const Tensor> results) {
  if (open_.empty()) throw Error(TN_FAILED_PRECONDITION, "[graph] no body is open");
  const size_t buffers = open_.back().buffers;
  try {
    std::vector<View> views;
    for (const Tensor& result : results) views.push_back(use(result));
    recorder_.settle_constants();
    std::vector<Node> nodes = recorder_.cut(open_.back().nodes);
    blocks_.push_back(Cut(recorder_.graph(), buffers, open_.back().inputs).take(nodes, views));
  } catch (...) {
    drop_block();
    throw;
  }
  host_calls_.back_to(std::move(open_.back().host_calls));
  open_.pop_back();
  forget_twins(buffers);
}

void Tracer::drop_block() {
  forget_open();
  // Finished bodies that no node runs yet are dropped as well.
  const size_t kept = open_.empty() ? 0 : open_.back().blocks;
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(kept), blocks_.end());
}

void Tracer::refuse_block(const std::string& why) {
  forget_open();
  blocks_.push_back({{}, {}, why.empty() ? "it cannot be computed" : why});
}

void Tracer::forget_open() {
  if (open_.empty()) throw Error(TN_FAILED_PRECONDITION, "[graph] no body is open");
  Open open = std::move(open_.back());
  open_.pop_back();
  host_calls_.back_to(std::move(open.host_calls));
  recorder_.settle_constants();
  recorder_.cut(open.nodes);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(open.blocks), blocks_.end());
  forget_twins(open.buffers);
}

// Values that a block computed from outside tensors do not exist after it.
void Tracer::forget_twins(size_t buffers) {
  std::erase_if(twins_, [&](const auto& one) {
    const View view = recorder_.use(one.second.traced);
    return view.buffer >= buffers && recorder_.graph().buffers[view.buffer].role == Role::Temporary;
  });
  std::erase_if(known_, [&](const auto& one) { return one.first >= buffers; });
}

std::vector<Tensor> Tracer::control(Control::Kind kind, std::span<const Tensor> operands,
                                    size_t carried, size_t scanned) {
  const size_t bodies = kind == Control::Kind::Scan ? 1 : 2;
  const char* of = name_of(kind);
  if (blocks_.size() < bodies || carried + scanned > operands.size())
    refuse(of, "its bodies are not there");
  auto control = std::make_shared<Control>();
  control->kind = kind;
  control->carried = static_cast<uint32_t>(carried);
  control->scanned = static_cast<uint32_t>(scanned);
  std::vector<Block> blocks(
      std::make_move_iterator(blocks_.end() - static_cast<std::ptrdiff_t>(bodies)),
      std::make_move_iterator(blocks_.end()));
  blocks_.resize(blocks_.size() - bodies);
  std::vector<View> all;
  for (const Tensor& one : operands) all.push_back(use(one));
  for (const uint32_t b : share_captures(recorder_.graph(), blocks))
    all.push_back(whole(b, recorder_.graph().buffers[b]));
  for (Block& block : blocks) {
    control->bodies.push_back(std::move(block.graph));
    control->refused.push_back(std::move(block.refused));
  }
  if (std::ranges::all_of(control->refused, &std::string::empty)) control->refused.clear();
  return record(std::move(control), all);
}

std::vector<Tensor> Tracer::record(std::shared_ptr<Control> control,
                                   const std::vector<View>& operands) {
  Node node;
  node.source = where_ ? std::make_shared<const std::string>(where_()) : nullptr;
  for (const View& one : operands) node.args.emplace_back(one);
  std::vector<Tensor> results;
  for (const View& shape : result_shapes(*control, node)) {
    results.push_back(recorder_.add(Role::Temporary, shape.dtype, shape.shape, ""));
    node.results.push_back(recorder_.use(results.back()));
  }
  node.control = std::move(control);
  recorder_.append(std::move(node));
  has_control_ = true;
  return results;
}

// The shapes that the bodies return, after checking that branches agree and that carried values keep their shape.
std::vector<View> Tracer::result_shapes(const Control& control, const Node& node) {
  const char* of = name_of(control.kind);
  std::vector<View> carried;
  for (uint32_t i = 0; i < control.carried; ++i) carried.push_back(std::get<View>(node.args[i]));
  const auto is_flag = [&](const View& view, const char* what) {
    if (view.numel() != 1 || is_complex(view.dtype))
      refuse(of, fmt::format("{} is {}, not one element", what, described_type(view)));
  };
  std::vector<View> shapes = control.bodies.back().results;
  if (!control.refused.empty()) {
    const size_t sound = is_refused(control, 0) ? 1 : 0;
    if (control.kind != Control::Kind::If || is_refused(control, sound))
      refuse(of, control.refused[sound == 0 ? 1 : 0]);
    is_flag(std::get<View>(node.args.front()), "the predicate");
    shapes = control.bodies[sound].results;
  } else if (control.kind == Control::Kind::If) {
    is_flag(std::get<View>(node.args.front()), "the predicate");
    check_same(of, control.bodies[1].results, control.bodies[0].results, "one branch", "the other");
  } else if (control.kind == Control::Kind::Loop) {
    if (control.bodies[0].results.size() != 1) refuse(of, "the condition gives no one tensor");
    is_flag(control.bodies[0].results[0], "the condition");
    check_same(of, shapes, carried, "the body", "what is carried");
  } else {
    const Dims& scanned = std::get<View>(node.args[control.carried]).shape;
    if (scanned.empty()) refuse(of, "what is scanned has no dimension");
    const int64_t trips = scanned[0];
    if (shapes.size() < carried.size()) refuse(of, "the body gives too few tensors");
    check_same(of, {shapes.begin(), shapes.begin() + static_cast<std::ptrdiff_t>(carried.size())},
               carried, "the body", "what is carried");
    for (size_t k = carried.size(); k < shapes.size(); ++k) shapes[k].shape.insert(0, trips);
  }
  return shapes;
}

}  // namespace tenon::graph
