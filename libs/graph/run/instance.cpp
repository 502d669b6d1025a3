#include "run/instance.hpp"

#include <algorithm>

#include "run/control.hpp"
#include "run/replay.hpp"
#include "tenon/creation.hpp"
#include "trace/derived.hpp"

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
    : graph_(graph),
      arena_(arena),
      device_(device),
      flats_(graph.buffers.size()),
      patches_(graph.buffers.size()) {
  place();
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
    scratch_ = std::max(scratch_, made.scratch_size());
    made.each_view([&](uint32_t buffer, const Patch& patch) {
      if (flats_[buffer].defined())
        put(patch, *tn_tensor_view(flats_[buffer].get()));
      else if (arena_.offsets[buffer] < 0)
        patches_[buffer].push_back(patch);
    });
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

void Instance::use(Memory& memory) {
  if (memory.place() == memory_) [[likely]]
    return;
  memory.reserve(arena_, scratch_);
  for (CallRoom::Place& place : room_.places) {
    const int64_t at = arena_.offsets[place.buffer];
    if (at < 0) continue;
    const DType dtype = graph_.buffers[place.buffer].dtype;
    const auto bytes = at * static_cast<int64_t>(size_of(dtype));
    put({&place.view, place.offset + bytes}, *tn_tensor_view(memory.arena(dtype).get()));
  }
  if (!called_.empty())
    for (uint32_t b = 0; b < flats_.size(); ++b)
      if (arena_.offsets[b] >= 0) {
        const Buffer& buffer = graph_.buffers[b];
        flats_[b] = memory.arena(buffer.dtype).narrow(0, arena_.offsets[b], buffer.size);
      }
  if (scratch_ != 0) {
    const tn_view* view = tn_tensor_view(memory.scratch().get());
    for (auto& call : bound_) call->set_scratch(view->data, view->buffer);
  }
  memory_ = memory.place();
}

// Decides where the buffers lie that are in no arena.
void Instance::place() {
  for (uint32_t b = 0; b < flats_.size(); ++b)
    if (is_held(graph_.buffers[b].role)) flats_[b] = graph_.buffers[b].constant;
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
  for (size_t k = 0; k < gives_.size(); ++k) {
    if (gives_[k] != Gives::kView) continue;
    views.push_back(given_out(graph_, view_in(graph_.results[k], flats_)));
  }
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
