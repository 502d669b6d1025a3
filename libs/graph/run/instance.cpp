#include "run/instance.hpp"

#include <algorithm>

#include "run/control.hpp"
#include "run/replay.hpp"
#include "tenon/creation.hpp"

namespace tenon::graph {
namespace {

// Adds the op's name to an error.
tn_status* named(const Node& node, tn_status* status) {
  const std::string_view message = detail::to_view(tn_status_message(status));
  if (message.starts_with('[')) return status;
  const std::string text = "[" + std::string(node.name()) + "] " + std::string(message);
  tn_status* made = tn_status_make(tn_status_code(status), detail::to_str(text));
  tn_status_release(status);
  return made;
}

void check_there(const tn_view& base) {
  if ((base.flags & TN_VIEW_RELEASED) != 0)
    throw Error(TN_FAILED_PRECONDITION,
                "[graph] the storage of an input or a weight was released; restore it first");
}

// Sets where the elements are from now on.
void put(const Patch& patch, const tn_view& base) {
  patch.view->data = static_cast<char*>(base.data) + patch.offset;
  patch.view->buffer = base.buffer;
  patch.view->offset = base.offset + patch.offset;
}

}  // namespace

Instance::Instance(const Graph& graph, const Arena& arena, const Device& device, bool bind)
    : graph_(graph), device_(device), flats_(graph.buffers.size()), patches_(graph.buffers.size()) {
  place(arena);
  uint64_t scratch = 0;
  steps_.reserve(graph.nodes.size());
  if (bind) room_.reserve(graph);
  for (const Node& node : graph.nodes) {
    if (!bind || node.kernel == nullptr) {
      add_call(node);
      continue;
    }
    BoundCall& made = *bound_.emplace_back(std::make_unique<BoundCall>(node, room_));
    steps_.push_back({made.kernel().run, made.kernel().self, made.plan(), &made.call(), &node});
    if (made.has_symbols()) varying_.push_back(&made);
    scratch = std::max(scratch, made.scratch_size());
    made.each_view([&](uint32_t buffer, const Patch& patch) {
      if (flats_[buffer].defined())
        put(patch, *tn_tensor_view(flats_[buffer].get()));
      else
        patches_[buffer].push_back(patch);
    });
  }
  if (scratch != 0) {
    scratch_ = empty(static_cast<int64_t>(scratch), DType::U8, device_);
    const tn_view* view = tn_tensor_view(scratch_.get());
    for (auto& call : bound_) call->set_scratch(view->data, view->buffer);
  }
  for (const Tensor& flat : flats_)
    if (flat.defined()) check_there(*tn_tensor_view(flat.get()));
  const auto is_input = [&](const View& view) {
    return graph.buffers[view.buffer].role == Role::Input;
  };
  const bool views = std::ranges::find(gives_, Gives::kView) != gives_.end();
  calls_nothing_ = called_.empty() && !views;
  keeps_inputs_ = !called_.empty() || std::ranges::any_of(graph.results, is_input);
}

// Makes flat tensors of the buffers that stay in place.
void Instance::place(const Arena& arena) {
  std::map<DType, Tensor> arenas;
  for (const auto& [dtype, size] : arena.sizes) arenas[dtype] = empty(size, dtype, device_);
  for (uint32_t b = 0; b < flats_.size(); ++b) {
    const Buffer& buffer = graph_.buffers[b];
    if (is_held(buffer.role)) {
      flats_[b] = buffer.constant;
    } else if (arena.offsets[b] >= 0) {
      flats_[b] = arenas[buffer.dtype].narrow(0, arena.offsets[b], buffer.size);
    }
  }
  for (const View& result : graph_.results) {
    const Buffer& buffer = graph_.buffers[result.buffer];
    const bool whole = result.contiguous() && result.numel() == buffer.size;
    auto known = std::ranges::find(made_, result.buffer, &Made::buffer);
    if (buffer.role == Role::Temporary && known == made_.end())
      known = made_.insert(made_.end(), {result.buffer, whole ? result.shape : Dims{buffer.size}});
    const bool same = known != made_.end() && whole && known->shape == result.shape;
    gives_.push_back(same ? Gives::kSame : Gives::kView);
  }
  for (size_t k = 0; k < gives_.size(); ++k) {
    const auto behind = graph_.results.begin() + static_cast<std::ptrdiff_t>(k) + 1;
    const bool last = std::none_of(behind, graph_.results.end(), [&](const View& other) {
      return other.buffer == graph_.results[k].buffer;
    });
    if (last && gives_[k] == Gives::kSame) gives_[k] = Gives::kLast;
  }
}

void Instance::add_call(const Node& node) {
  Called& called = *called_.emplace_back(std::make_unique<Called>(Called{&node, this}));
  const auto run = [](void* self, void*, const tn_call*) {
    const auto& of = *static_cast<Called*>(self);
    const Instance& in = *of.instance;
    return detail::guarded("graph", [&] {
      if (of.node->control != nullptr)
        run_control(*of.node, in.flats_);
      else
        Replay(in.flats_, in.device_, in.symbols_).run(*of.node);
    });
  };
  steps_.push_back({run, &called, nullptr, nullptr, &node});
}

void Instance::set(uint32_t buffer, const tn_tensor* tensor) {
  const tn_view& base = *tn_tensor_view(tensor);
  check_there(base);
  for (const Patch& patch : patches_[buffer]) put(patch, base);
}

tn_status* Instance::run_steps() const {
  for (const Step& step : steps_)
    if (tn_status* status = step.run(step.self, step.plan, step.call)) [[unlikely]]
      return named(*step.node, status);
  return nullptr;
}

void Instance::give_results(tn_tensor** results) {
  std::vector<Tensor> views;  // first whatever can fail
  for (size_t k = 0; k < gives_.size(); ++k)
    if (gives_[k] == Gives::kView) views.push_back(view_in(graph_.results[k], flats_));
  for (size_t k = 0, at = 0; k < gives_.size(); ++k) {
    Tensor& flat = flats_[graph_.results[k].buffer];
    results[k] = gives_[k] == Gives::kView   ? views[at++].take()
                 : gives_[k] == Gives::kSame ? tn_tensor_retain(flat.get())
                                             : flat.take();
  }
}

void Instance::run(std::span<tn_tensor* const> inputs, std::span<const Symbol> symbols,
                   tn_tensor** results) {
  symbols_ = symbols;
  for (BoundCall* call : varying_) call->set_symbols(symbols);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t buffer = graph_.inputs[i].buffer;
    if (keeps_inputs_) flats_[buffer] = Tensor::share(inputs[i]);
    set(buffer, inputs[i]);
  }
  for (const Made& made : made_) {
    flats_[made.buffer] = empty(made.shape, graph_.buffers[made.buffer].dtype, device_);
    set(made.buffer, flats_[made.buffer].get());
  }
  tn_status* status = run_steps();
  if (status == nullptr) give_results(results);
  // Does not keep tensors that came from outside or went there.
  if (keeps_inputs_)
    for (const View& input : graph_.inputs) flats_[input.buffer] = Tensor();
  for (const Made& made : made_) flats_[made.buffer] = Tensor();
  detail::check(status);
}

}  // namespace tenon::graph
