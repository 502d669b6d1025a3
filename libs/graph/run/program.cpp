#include "run/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "fuse/fused.hpp"
#include "ir/control.hpp"
#include "pass/pass.hpp"
#include "plan/lower.hpp"
#include "run/explain.hpp"
#include "run/picture.hpp"
#include "run/replay.hpp"
#include "run/unlayered.hpp"
#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "trace/derived.hpp"
#include "trace/tracer.hpp"

namespace tenon::graph {
namespace {

// The validating layer should see calls as the core makes them.
bool validating() {
  static const bool found = [] {
    const char* wanted = std::getenv("TENON_VALIDATE");
    return wanted != nullptr && !std::string_view(wanted).empty() &&
           std::string_view(wanted) != "0";
  }();
  return found;
}

std::string described(DType dtype, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(shape, ", "));
}

// "f32[batch, 64]"
std::string input_text(const Graph& graph, size_t i) {
  std::vector<std::string> sizes;
  const auto& shape = graph.sizes.input_shapes[i];
  for (size_t d = 0; d < shape.size(); ++d) {
    const int32_t dim = graph.sizes.inputs[i][d];
    sizes.push_back(dim < 0 ? fmt::to_string(shape[d]) : graph.sizes.dims[dim].name);
  }
  return fmt::format("{}[{}]", name_of(graph.inputs[i].dtype), fmt::join(sizes, ", "));
}

// Copies inputs that are not row-major, and runs.
void run_copies(Instance& instance, std::span<tn_tensor* const> inputs,
                std::span<const Symbol> symbols, tn_tensor** results) {
  std::vector<Tensor> copies;
  for (tn_tensor* input : inputs) copies.push_back(Tensor::share(input).contiguous());
  instance.run({TensorList(copies).handles(), copies.size()}, symbols, results);
}

}  // namespace

Program::Program(Graph graph, Device device, bool exact, bool sized)
    : graph_(std::move(graph)),
      device_(device),
      sized_(sized),
      in_turn_(graph_.writes_outside() || !graph_.symbols.empty()),
      written_(graph_.written_inputs()),
      exact_(exact) {
  for (const Buffer& buffer : graph_.buffers) {
    if (buffer.role != Role::State) continue;
    if (buffer.constant.device() != device_)
      throw Error(TN_INVALID_ARGUMENT,
                  fmt::format("[graph] {}, which the graph writes to, is on {}, the graph on {}",
                              buffer.name, buffer.constant.device().id(), device_.id()));
    state_.push_back(buffer.constant.get());
  }
  if (!graph_.sizes.empty()) {
    for (Buffer& buffer : graph_.buffers)  // once for all shapes
      if (is_held(buffer.role) && buffer.constant.device() != device_)
        buffer.constant = buffer.constant.to(device_);
    mark_shapes(graph_);
  }
  if (!written_.empty())
    for (const Buffer& buffer : graph_.buffers)
      if (is_held(buffer.role)) held_.push_back(reach_of(*tn_tensor_view(buffer.constant.get())));
  lowered_ = lowered_now(graph_);
}

namespace {

// What a run reads of a graph besides what was lowered.
Graph outline_of(const Graph& graph) {
  Graph made;
  made.inputs = graph.inputs;
  made.results = graph.results;
  made.symbols = graph.symbols;
  made.differentiable = graph.differentiable;
  return made;
}

}  // namespace

Program::Program(Program& whole, std::vector<int64_t> dims, const Graph& concrete)
    : graph_(outline_of(concrete)),
      device_(whole.device_),
      whole_(&whole),
      sized_(true),
      dims_(std::move(dims)),
      in_turn_(whole.in_turn_),
      written_(whole.written_),
      exact_(whole.exact()),
      state_(whole.state_) {
  shares_memory_ = binds();  // on a GPU a recording of its work may refer to the memory of a run
  lowered_ = lowered_now(concrete, &whole.decided_);
}

bool Program::binds() const {
  static const Device host("cpu");
  return device_ == host && !validating();
}

std::shared_ptr<const Program::Lowered> Program::lowered_again() const {
  return whole_ == nullptr ? lowered_now(graph_) : lowered_now(concrete(whole_->graph_, dims_));
}

std::shared_ptr<const Program::Lowered> Program::lowered_now(const Graph& graph,
                                                             Decided* decided) const {
  const Unlayered unlayered;
  auto made = std::make_shared<Lowered>();
  made->epoch = Recorder::epoch();
  const std::optional<Graph> joined = join_slices(graph);
  made->graph = lower(joined ? *joined : graph, device_);
  for (Node& node : made->graph.nodes) {
    if (node.control == nullptr) continue;
    node.control = std::make_shared<Control>(*node.control);
    for (const Graph& body : node.control->bodies)
      node.control->programs.push_back(std::make_shared<Program>(body, device_, exact_, sized_));
  }
  for (Buffer& buffer : made->graph.buffers)
    if (is_held(buffer.role) && buffer.constant.device() != device_)
      buffer.constant = buffer.constant.to(device_);
  made->exact = exact_;
  made->refused = optimise(made->graph, device_, binds(), {made->exact, sized_}, decided);
  made->packing.begin(made->graph);
  made->arena = plan_arena(made->graph);
  return made;
}

Program::TakenPtr Program::take() {
  TakenPtr taken = idle_.take();
  if (taken == nullptr || taken->lowered->epoch != Recorder::epoch() ||
      taken->lowered->exact != exact_ || taken->lowered->packing.stale())
    taken = taken_anew(std::move(taken));
  if (shares_memory_) taken->memory = whole_->memories_.take();
  if (taken->memory == nullptr) taken->memory = std::make_unique<Memory>(device_);
  taken->instance->use(*taken->memory);
  return taken;
}

// An instance of the graph as it is lowered now. `taken`: one that may no longer be.
Program::TakenPtr Program::taken_anew(TakenPtr taken) {
  const std::lock_guard lock(mutex_);
  if (lowered_->epoch != Recorder::epoch()) lowered_ = lowered_again();
  if (lowered_->packing.stale()) lowered_->packing.pack();
  while (taken != nullptr && taken->lowered != lowered_) taken = idle_.take();
  if (taken != nullptr) return taken;
  taken = std::make_unique<Taken>();
  taken->lowered = lowered_;
  taken->instance = std::make_unique<Instance>(lowered_->graph, lowered_->arena, device_, binds());
  return taken;
}

void Program::give(TakenPtr taken) {
  if (shares_memory_) whole_->memories_.give(std::move(taken->memory));
  idle_.give(std::move(taken));
}

void Program::check_type(size_t i, const tn_view& input) const {
  const View& wanted = graph_.inputs[i];
  const auto dtype = static_cast<DType>(input.dtype);
  const std::span<const int64_t> shape(input.shape, input.ndim);
  if (dtype == wanted.dtype && std::ranges::equal(shape, wanted.shape)) return;
  throw Error(TN_INVALID_ARGUMENT,
              fmt::format("[graph] input {} ({}) is {}, not {}", i, buffers()[wanted.buffer].name,
                          described(wanted.dtype, wanted.shape), described(dtype, shape)));
}

constexpr size_t kMostPlanned = 64, kMostPacked = 8;  // each packed one holds copies of the weights

void Program::check_sized(std::span<tn_tensor* const> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const tn_view& view = *tn_tensor_view(inputs[i]);
    const View& wanted = graph_.inputs[i];
    const std::vector<int64_t>& shape = graph_.sizes.input_shapes[i];
    bool fits = static_cast<DType>(view.dtype) == wanted.dtype && view.ndim == shape.size();
    for (uint32_t d = 0; d < view.ndim && fits; ++d)
      fits = shape[d] < 0 || shape[d] == view.shape[d];
    if (fits) continue;
    throw Error(TN_INVALID_ARGUMENT,
                fmt::format("[graph] input {} ({}) is {}, not {}", i,
                            graph_.buffers[wanted.buffer].name, input_text(graph_, i),
                            described(static_cast<DType>(view.dtype), {view.shape, view.ndim})));
  }
}

std::vector<int64_t> Program::dims_of_inputs(std::span<tn_tensor* const> inputs) const {
  check_sized(inputs);
  std::vector<std::span<const int64_t>> shapes;
  for (const tn_tensor* input : inputs) {
    const tn_view& view = *tn_tensor_view(input);
    shapes.emplace_back(view.shape, view.ndim);
  }
  return dims_of(graph_, shapes);
}

void Program::run_sized(std::span<tn_tensor* const> inputs, tn_tensor** results) {
  std::vector<int64_t> dims = dims_of_inputs(inputs);
  if (std::ranges::any_of(inputs, &Recorder::traced))
    return run_traced(concrete(graph_, dims), inputs, results);
  std::unique_lock<std::mutex> turn;
  if (in_turn_) turn = std::unique_lock(turn_);
  std::unique_ptr<ByCalls> calls;
  if (const std::shared_ptr<Program> planned = at(dims, calls)) {
    if (in_turn_) planned->set_symbols(graph_.symbols);
    planned->run(inputs, results);
  } else {
    for (size_t i = 0; i < inputs.size(); ++i) check_device(i, inputs[i]);
    if (in_turn_) announce_writes(inputs);
    calls->run(inputs, results);
    calls_.give(std::move(calls));
  }
  if (in_turn_) count_up();
}

// A plan takes microseconds for each node, and saves the time to write and read what fused nodes pass on. Where weights are packed, results
// of the first run would round otherwise than those of later ones, so that waits until sizes are expected to go on, as with a cache that
// grows.
bool Program::begins_by_calls(const Graph& concrete) const {
  constexpr int64_t kElements = 8192;
  constexpr size_t kManySizes = 16;
  const auto has_control = [](const Node& node) { return node.control != nullptr; };
  if (std::ranges::any_of(concrete.nodes, has_control)) return false;
  return sizes_met_ > kManySizes ||
         ((exact_ || lowered_->packing.empty()) &&
          elements_of(concrete) <= kElements * static_cast<int64_t>(concrete.nodes.size()));
}

std::shared_ptr<Program> Program::at(const std::vector<int64_t>& dims,
                                     std::unique_ptr<ByCalls>& calls) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(planned_, dims, &Planned::dims);
  const bool met = found != planned_.end();
  if (met) {
    planned_.splice(planned_.begin(), planned_, found);
    if (planned_.front().program != nullptr) return planned_.front().program;
  }
  calls = calls_.take();
  if (calls == nullptr) calls = std::make_unique<ByCalls>(graph_, device_);
  calls->set(graph_, dims);
  if (!met) planned_.push_front({dims, nullptr});
  sizes_met_ += met ? 0 : 1;
  std::shared_ptr<Program> made;
  if (met || !begins_by_calls(calls->graph())) {
    made = std::make_shared<Program>(*this, dims, calls->graph());
    calls_.give(std::move(calls));
    planned_.front().program = made;
  }
  const bool packed = made != nullptr && !made->lowered_->packing.empty();
  while (planned_.size() > (packed ? kMostPacked : kMostPlanned)) planned_.pop_back();
  return made;
}

void Program::check_device(size_t i, const tn_tensor* input) const {
  const Device found(tn_tensor_device(input));
  if (found == device_) return;
  throw Error(TN_INVALID_ARGUMENT, fmt::format("[graph] input {} is on {}, the graph on {}", i,
                                               found.id(), device_.id()));
}

void Program::announce_writes(std::span<tn_tensor* const> inputs) const {
  for (tn_tensor* written : state_) Recorder::dispatch().wrote(written);
  for (const size_t i : written_) {
    const auto refuse = [&](const std::string& why) {
      throw Error(TN_FAILED_PRECONDITION,
                  fmt::format("[graph] input {} ({}), which the graph writes to, {}", i,
                              buffers()[graph_.inputs[i].buffer].name, why));
    };
    const tn_view& view = *tn_tensor_view(inputs[i]);
    if ((view.flags & TN_VIEW_CONTIGUOUS) == 0) refuse("is not contiguous");
    const Reach written = reach_of(view);
    for (size_t k = 0; k < inputs.size(); ++k)
      if (k != i && written.meets(reach_of(*tn_tensor_view(inputs[k]))))
        refuse(fmt::format("shares memory with input {}", k));
    const auto& held = whole_ == nullptr ? held_ : whole_->held_;
    if (std::ranges::any_of(held, [&](const Reach& one) { return one.meets(written); }))
      refuse("shares memory with a weight");
    if (Recorder::dispatch().wrote(inputs[i]) == 0) refuse("is read-only");
  }
}

void Program::run(std::span<tn_tensor* const> inputs, tn_tensor** results) {
  if (inputs.size() != graph_.inputs.size())
    throw Error(TN_INVALID_ARGUMENT, fmt::format("[graph] {} inputs were given, the graph has {}",
                                                 inputs.size(), graph_.inputs.size()));
  if (graph_.derived != nullptr) refresh_derived();
  if (!graph_.sizes.empty()) return run_sized(inputs, results);
  bool here = true, dense = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const tn_view& view = *tn_tensor_view(inputs[i]);
    check_type(i, view);
    here &= tn_tensor_device(inputs[i]) == device_.get();
    dense &= (view.flags & TN_VIEW_CONTIGUOUS) != 0;
  }
  if (!here) [[unlikely]] {
    if (std::ranges::any_of(inputs, &Recorder::traced)) {
      const NoGrad no_grad;
      return run_traced(graph_, inputs, results);
    }
    for (size_t i = 0; i < inputs.size(); ++i) check_device(i, inputs[i]);
  }
  if (!in_turn_) return run_here(inputs, dense, results);
  const std::lock_guard turn(turn_);
  announce_writes(inputs);
  run_here(inputs, dense, results);
  count_up();
}

// Not within a trace, which would record it.
void Program::refresh_derived() const {
  if (Tracer::current() == nullptr) graph_.derived->refresh();
}

void Program::count_up() {
  for (Symbol& symbol : graph_.symbols) symbol.value += symbol.counts ? 1 : 0;
}

void Program::set_symbols(const std::vector<Symbol>& symbols) {
  const std::lock_guard turn(turn_);
  graph_.symbols = symbols;
}

void Program::run_here(std::span<tn_tensor* const> inputs, bool dense, tn_tensor** results) {
  TakenPtr taken = take();
  // An instance whose run failed is not used again.
  if (dense && taken->instance->calls_nothing()) [[likely]] {
    taken->instance->run(inputs, graph_.symbols, results);
  } else {
    const NoGrad no_grad;
    const Unlayered unlayered;
    if (dense)
      taken->instance->run(inputs, graph_.symbols, results);
    else
      run_copies(*taken->instance, inputs, graph_.symbols, results);
  }
  give(std::move(taken));
}

void Program::set_exact(bool exact) {
  const std::lock_guard lock(mutex_);
  if (exact_.exchange(exact) == exact) return;
  planned_.clear();
  decided_ = {};
  lowered_ = lowered_again();
}

void Program::set_numbers(size_t first, std::span<const double> values) {
  const std::lock_guard turn(turn_);
  if (first > graph_.symbols.size() || values.size() > graph_.symbols.size() - first)
    throw Error(TN_OUT_OF_RANGE, fmt::format("[graph] {} numbers from {} on, of {}", values.size(),
                                             first, graph_.symbols.size()));
  for (size_t i = 0; i < values.size(); ++i) graph_.symbols[first + i].value = values[i];
}

double Program::number(size_t i) const {
  const std::lock_guard turn(turn_);
  return graph_.symbols.at(i).value;
}

Graph Program::snapshot() const {
  if (graph_.derived != nullptr) refresh_derived();
  const std::lock_guard turn(turn_);
  return graph_;
}

namespace {

void record_control(const Node& node, std::span<const Tensor> flats) {
  Tracer* tracer = Tracer::current();
  if (tracer == nullptr)
    throw Error(TN_FAILED_PRECONDITION, "[graph] control flow on trace:0 without a trace");
  std::vector<View> operands;
  for (const Argument& argument : node.args)
    operands.push_back(tracer->use(view_in(std::get<View>(argument), flats)));
  const std::vector<Tensor> results = tracer->record(node.control, operands);
  for (size_t k = 0; k < results.size(); ++k) view_in(node.results[k], flats).copy_(results[k]);
}

}  // namespace

// Inside another trace the nodes are recorded in that trace.
void Program::run_traced(const Graph& graph, std::span<tn_tensor* const> inputs,
                         tn_tensor** results) const {
  if (in_turn_)
    throw Error(
        TN_FAILED_PRECONDITION,
        "[graph] a program that writes into state or inputs runs inside a trace: trace the whole "
        "step");
  std::vector<Tensor> flats;
  for (const Buffer& buffer : graph.buffers)
    flats.push_back(buffer.role == Role::Constant
                        ? buffer.constant
                        : empty(buffer.size, buffer.dtype, Recorder::device()));
  for (size_t i = 0; i < inputs.size(); ++i)
    flats[graph.inputs[i].buffer] = Tensor::share(inputs[i]).contiguous();
  Replay replay(flats, Recorder::device(), {});
  for (const Node& node : graph.nodes) {
    if (node.control != nullptr)
      record_control(node, flats);
    else
      replay.run(node);
  }
  std::vector<Tensor> made;
  for (const View& view : graph.results) made.push_back(view_in(view, flats));
  for (size_t k = 0; k < made.size(); ++k) results[k] = made[k].take();
}

Facts Program::facts() {
  const std::lock_guard lock(mutex_);
  Facts facts;
  facts.nodes = lowered_->graph.nodes.size();
  for (const Node& node : lowered_->graph.nodes) {
    facts.bound += binds() && node.kernel != nullptr;
    facts.fused += node.fused == nullptr ? 0 : node.fused->nodes.size();
  }
  facts.arena = lowered_->arena.bytes;
  facts.apart = lowered_->arena.apart;
  for (const Buffer& buffer : buffers())
    if (is_held(buffer.role))
      (buffer.role == Role::State ? facts.state : facts.weights) += buffer.constant.nbytes();
  return facts;
}

std::string Program::text() {
  const std::lock_guard lock(mutex_);
  return to_text(lowered_->graph);
}

std::string Program::svg() {
  const std::lock_guard lock(mutex_);
  return to_svg(lowered_->graph, lowered_->arena);
}

std::string Program::explain() {
  const std::lock_guard lock(mutex_);
  return graph::explain(lowered_->graph, lowered_->arena, lowered_->refused);
}

}  // namespace tenon::graph
