#include "trace/tracer.hpp"

#include <algorithm>

#include "ir/schema.hpp"
#include "tenon/op.h"
#include "tenon/random.h"
#include "tenon/schemas.h"
#include "trace/derived.hpp"

namespace tenon::graph {
namespace {

std::string_view name_of(const tn_op& op) { return detail::to_view(tn_op_name(&op)); }

[[noreturn]] void refuse(const tn_op& op, const std::string& why) {
  throw Error(TN_FAILED_PRECONDITION, "[graph] " + std::string(name_of(op)) + ": " + why);
}

[[noreturn]] void refuse_node(const Node& node, const std::string& why) {
  throw Error(TN_FAILED_PRECONDITION, "[graph] " + described(node) + ": " + why);
}

bool is_traced(const tn_tensor* tensor) { return tensor != nullptr && Recorder::traced(tensor); }

template <class Test>
bool any_tensor(std::span<const tn_value> args, Test&& test) {
  return std::ranges::any_of(args, [&](const tn_value& value) {
    if (value.tag == TN_VALUE_TENSOR) return test(value.as.tensor);
    return value.tag == TN_VALUE_TENSORS &&
           std::any_of(value.as.tensors, value.as.tensors + value.count, test);
  });
}

// The address of the elements, or the handle of a tensor that the host cannot address.
const void* place_of(const Tensor& tensor) {
  const void* elements = tn_tensor_data(tensor.get());
  return elements != nullptr ? elements : tensor.get();
}

View view_of(const Tensor& tensor) {
  View view{0, tensor.dtype(), 0, {}, {}};
  view.shape.assign(tensor.shape().begin(), tensor.shape().end());
  view.strides.assign(tensor.strides().begin(), tensor.strides().end());
  return view;
}

// Whether no stride reaches back before the first element, so that a flat view from there covers everything.
bool goes_forward(const Tensor& tensor) {
  return std::ranges::all_of(tensor.strides(), [](int64_t step) { return step >= 0; });
}

}  // namespace

Tracer::Tracer(Kind kind, std::vector<Tensor>& reads)
    : kind_(kind),
      reads_(reads),
      modes_(is_step() ? TN_MODE_GRAD : 0, is_step() ? 0 : TN_MODE_GRAD) {
  layer_.struct_size = sizeof layer_;
  layer_.ctx = this;
  layer_.call = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                   tn_tensor** outs, uint32_t nouts, uint32_t* done) {
    tn_status* inner = nullptr;
    tn_status* outer = detail::guarded("graph", [&] {
      inner = static_cast<Tracer*>(self)->call(*op, {args, nargs}, outs, nouts, *done);
    });
    return outer != nullptr ? outer : inner;
  };
  layer_.call_into = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                        tn_tensor* const* outs, uint32_t nouts, uint32_t* done) {
    tn_status* inner = nullptr;
    tn_status* outer = detail::guarded("graph", [&] {
      inner = static_cast<Tracer*>(self)->call_into(*op, {args, nargs}, outs, nouts, *done);
    });
    return outer != nullptr ? outer : inner;
  };
  detail::check(tn_call_layer_push(&layer_));
  outer_ = std::exchange(current_, this);
}

Tracer::~Tracer() {
  current_ = outer_;
  tn_status_release(tn_call_layer_pop(&layer_));
  for (Leaf& leaf : leaves_)
    if (is_traced(leaf.tensor.grad().get())) leaf.tensor.zero_grad();
}

Tensor Tracer::input(DType dtype, std::span<const int64_t> shape, std::string name) {
  Tensor made = recorder_.add(Role::Input, dtype, shape, std::move(name));
  inputs_.push_back(recorder_.use(made));
  return made;
}

void Tracer::name(const Tensor& tensor, std::string name) {
  named_.emplace_back(reach_of(*tn_tensor_view(tensor.get())), name);
  names_.emplace(place_of(tensor), std::move(name));
}

void Tracer::read(const Tensor& tensor) {
  for (const Tensor& source : host_calls_.sources(tensor)) add_once(reads_, source);
}

void Tracer::number(std::string name, double value, bool counts) {
  symbols_.push_back({std::move(name), value, counts});
}

// A constant that was drawn or filled may be written to later, or must differ from run to run.
bool Tracer::concerns(const tn_op& op, std::span<const tn_value> args) const {
  if (any_tensor(args, is_traced)) return true;
  const auto& known = parameters(op);
  if (any_tensor(args, [](const tn_tensor* tensor) { return tensor != nullptr; })) {
    for (size_t i = 0; i < args.size(); ++i)  // a copy to traced tensors
      if (known[i].device && args[i].tag == TN_VALUE_DEVICE &&
          args[i].as.device == Recorder::device().get())
        return true;
    return is_step();
  }
  return name_of(op) == "full" || std::ranges::any_of(known, &Parameter::generator);
}

const Tracer::Flat& Tracer::flat_of(const Tensor& tensor) {
  const tn_view& elements = *tn_tensor_view(tensor.get());
  const bool addressable = elements.data != nullptr;
  const View view = view_of(tensor);
  const bool whole = addressable ? goes_forward(tensor) : tensor.is_contiguous();
  const int64_t size = whole ? view.end() : tensor.numel();
  Flat made{addressable ? nullptr : elements.buffer, 0, 0, tensor.dtype(), !whole, tensor, {}};
  made.begin = addressable ? reinterpret_cast<uintptr_t>(elements.data)
                           : static_cast<uintptr_t>(elements.offset);
  made.end = made.begin + static_cast<uintptr_t>(size) * size_of(made.dtype);
  for (const Flat& known : flats_)
    if (known.space == made.space && known.dtype == made.dtype && known.begin <= made.begin &&
        made.end <= known.end && size != 0 && !known.copied && whole)
      return known;
  tn_tensor* flat = nullptr;
  const Tensor source = whole ? tensor : tensor.detach().contiguous();
  detail::check(Recorder::dispatch().flat(source.get(), size, &flat));
  const auto named = names_.find(place_of(tensor));
  Tensor constant = Tensor::adopt(flat);
  if (!whole) host_calls_.copied(tensor.detach(), constant);
  made.traced =
      recorder_.add(Role::Constant, made.dtype, {&size, 1},
                    named == names_.end() ? std::string() : named->second, std::move(constant));
  return flats_.emplace_back(std::move(made));
}

Tensor Tracer::twin(const Tensor& tensor) {
  differentiable_ |= tensor.requires_grad();
  const auto found = twins_.find(tensor.get());
  if (found != twins_.end()) return found->second.traced;
  if (Tensor again = traced_again(tensor); again.defined()) return again;
  const bool leaf = is_step() && tensor.requires_grad();
  if (leaf && !tensor.is_leaf())
    throw Error(TN_FAILED_PRECONDITION,
                "[graph] a tensor from outside, made by " + std::string(tensor.grad_fn_name()) +
                    ", has a history of its own: compute it inside the step, or detach() it");
  if (const Tensor widest = host_calls_.widest(memory_of(tensor.get()));
      kind_ == Kind::Sized && widest.defined() && widest.dtype() == tensor.dtype())
    flat_of(widest);
  const Flat& flat = flat_of(tensor);
  const View view = view_of(tensor);
  const auto from = reinterpret_cast<uintptr_t>(tn_tensor_view(tensor.get())->data);
  Tensor traced;
  if (flat.copied) {
    traced = flat.traced.reshape(view.shape).detach();
  } else {
    const uintptr_t begin =
        flat.space == nullptr ? from : static_cast<uintptr_t>(tn_tensor_view(tensor.get())->offset);
    const auto offset = static_cast<int64_t>((begin - flat.begin) / size_of(flat.dtype));
    traced = as_strided(flat.traced, view.shape, view.strides, offset).detach();
  }
  if (leaf) {
    leaves_.push_back({tensor, tensor.grad()});
    detail::check(Recorder::dispatch().share_gradient(traced.get(), tensor.get()));
  }
  twins_.emplace(tensor.get(), Twin{tensor, traced});
  return traced;
}

// The arguments with traced tensors in place of outside ones, and on their device.
Tracer::Arguments Tracer::convert(const tn_op& op, std::span<const tn_value> args) {
  Arguments changed;
  changed.values.assign(args.begin(), args.end());
  const auto traced = [&](tn_tensor* tensor) {
    if (tensor == nullptr || is_traced(tensor)) return tensor;
    changed.held.push_back(twin(Tensor::share(tensor)));
    return changed.held.back().get();
  };
  const auto& known = parameters(op);
  for (size_t i = 0; i < args.size(); ++i) {
    tn_value& value = changed.values[i];
    if (value.tag == TN_VALUE_TENSOR) value.as.tensor = traced(value.as.tensor);
    if (value.tag == TN_VALUE_TENSORS) {
      auto& list = changed.lists.emplace_back();
      for (uint32_t k = 0; k < value.count; ++k) list.push_back(traced(value.as.tensors[k]));
      value.as.tensors = list.data();
    }
    if (known[i].device) {
      value = {};
      value.tag = TN_VALUE_DEVICE;
      value.as.device = Recorder::device().get();
    }
    if (value.tag == TN_VALUE_GENERATOR && value.as.generator != tn_generator_default())
      refuse(op, "it draws from a generator of its own; graphs draw from the default one");
  }
  return changed;
}

tn_status* Tracer::call(const tn_op& op, std::span<const tn_value> args, tn_tensor** outs,
                        uint32_t nouts, uint32_t& done) {
  if (!concerns(op, args)) {
    const auto& known = parameters(op);
    for (size_t i = 0; i < args.size(); ++i)
      if (known[i].written && args[i].tag == TN_VALUE_TENSOR) check_outside(op, args[i].as.tensor);
    if (kind_ == Kind::Step) return nullptr;
    done = 1;
    return call_at_once(op, args, outs, nouts);
  }
  const Arguments changed = convert(op, args);
  done = 1;
  if (where_) recorder_.set_source(where_());
  tn_status* status =
      tn_op_call(&op, changed.values.data(), static_cast<uint32_t>(args.size()), outs, nouts);
  if (status == nullptr && name_of(op) == "full")
    fills_[recorder_.use(Tensor::share(outs[0])).buffer] =
        std::make_shared<const HeldArguments>(args);
  return status;
}

// Writes of tensors of one value, which are always traced, into host tensors, as in `x[0] = 1`, are computed at once.
tn_status* Tracer::call_into(const tn_op& op, std::span<const tn_value> args,
                             tn_tensor* const* outs, uint32_t nouts, uint32_t& done) {
  if (!is_step() && !std::any_of(outs, outs + nouts, is_traced)) {
    const auto changed = on_host(args);
    if (!changed)
      refuse(op,
             "it writes what is traced into a tensor from outside the function: return it instead");
    for (uint32_t k = 0; k < nouts; ++k) {
      if (host_calls_.made(memory_of(outs[k]))) keep_as_read(memory_of(outs[k]));
      if (is_weight(Tensor::share(outs[k])))
        refuse(op, "it writes into a tensor that is a weight of the graph already");
      check_outside(op, outs[k]);
    }
    done = 1;
    return call_at_once_into(op, changed->values, outs, nouts);
  }
  if (!is_step() && !std::all_of(outs, outs + nouts, is_traced))
    refuse(op, "it writes both into traced tensors and into others");
  const Arguments changed = convert(op, args);
  std::vector<Tensor> targets;
  for (uint32_t k = 0; k < nouts; ++k)
    targets.push_back(is_traced(outs[k]) ? Tensor::share(outs[k]) : twin(Tensor::share(outs[k])));
  done = 1;
  if (where_) recorder_.set_source(where_());
  return tn_op_call_into(&op, changed.values.data(), static_cast<uint32_t>(args.size()),
                         TensorList(targets).handles(), nouts);
}

void Tracer::check_outside(const tn_op& op, const tn_tensor* written) const {
  if (is_step() || written == nullptr || is_traced(written)) return;
  const Reach reach = reach_of(*tn_tensor_view(written));
  const auto named =
      std::ranges::find_if(named_, [&](const auto& one) { return one.first.meets(reach); });
  if (named != named_.end())
    refuse(op, "it writes into " + named->second +
                   ", which is from outside the function, and runs would not: return it instead");
}

tn_status* Tracer::call_at_once(const tn_op& op, std::span<const tn_value> args, tn_tensor** outs,
                                uint32_t nouts) {
  tn_status* status = tn_op_call(&op, args.data(), static_cast<uint32_t>(args.size()), outs, nouts);
  if (status == nullptr) computed(op, args, outs, nouts, false);
  return status;
}

tn_status* Tracer::call_at_once_into(const tn_op& op, std::span<const tn_value> args,
                                     tn_tensor* const* outs, uint32_t nouts) {
  tn_status* status =
      tn_op_call_into(&op, args.data(), static_cast<uint32_t>(args.size()), outs, nouts);
  if (status == nullptr) computed(op, args, outs, nouts, true);
  return status;
}

void Tracer::computed(const tn_op& op, std::span<const tn_value> args, tn_tensor* const* outs,
                      uint32_t nouts, bool into) {
  if (kind_ == Kind::Step) return;
  HostCalls::Call made{&op,
                       std::make_shared<const HeldArguments>(args),
                       {},
                       into,
                       where_ ? where_() : std::string()};
  for (uint32_t k = 0; k < nouts; ++k) {
    if (outs[k] == nullptr || is_traced(outs[k])) return;
    made.results.push_back(Tensor::share(outs[k]));
  }
  std::vector<Tensor> written = into ? made.results : std::vector<Tensor>();
  const auto& known = parameters(op);
  for (size_t i = 0; i < args.size(); ++i)
    if (known[i].written && args[i].tag == TN_VALUE_TENSOR && args[i].as.tensor != nullptr)
      written.push_back(Tensor::share(args[i].as.tensor));
  for (const Tensor& one : written)
    if (const auto* base = host_calls_.base(memory_of(one.get())); base != nullptr)
      known_.erase(recorder_.use(base->flat).buffer);
  host_calls_.add(std::move(made), written);
}

Tensor Tracer::traced_again(const Tensor& tensor) {
  const void* memory = memory_of(tensor.get());
  if (!is_sized() || !host_calls_.made(memory) || (is_step() && tensor.requires_grad())) return {};
  if (!again_) trace_pending(memory);
  const HostCalls::Base* base = host_calls_.base(memory);
  if (base == nullptr) return {};
  if (!again_ && base->written) note_known(base->host, base->flat, true);
  return HostCalls::shown(*base, tensor);
}

void Tracer::trace_pending(const void* memory) {
  again_ = true;
  for (const size_t i : host_calls_.pending(memory))
    if (host_calls_.at(i).state == HostCalls::State::Pending) trace_again(i);
  again_ = false;
}

void Tracer::trace_again(size_t call) {
  const HostCalls::Call made = host_calls_.at(call);
  const auto args = made.args->values();
  std::vector<Tensor> results;
  try {
    const Arguments changed = convert(*made.op, args);
    const auto nargs = static_cast<uint32_t>(args.size());
    const auto nouts = static_cast<uint32_t>(made.results.size());
    if (where_) recorder_.set_source(made.source);
    if (made.into) {
      for (const Tensor& one : made.results) results.push_back(twin(one));
      detail::check(tn_op_call_into(made.op, changed.values.data(), nargs,
                                    TensorList(results).handles(), nouts));
    } else {
      std::vector<tn_tensor*> outs(nouts);
      detail::check(tn_op_call(made.op, changed.values.data(), nargs, outs.data(), nouts));
      for (tn_tensor* out : outs) results.push_back(Tensor::adopt(out));
    }
  } catch (const Error&) {  // the call needs elements, so its results are constants
    host_calls_.drop(call);
    return;
  }
  host_calls_.traced(call, results);
  for (const void* memory : made.makes)
    if (const auto* base = host_calls_.base(memory); base != nullptr && !base->written)
      note_known(base->host, base->flat, false);
}

// The elements are known if the host tensor shows all of its memory in rows.
void Tracer::note_known(const Tensor& host, const Tensor& flat, bool copy) {
  const View view = recorder_.use(flat);
  const Graph& graph = recorder_.graph();
  const Buffer& buffer = graph.buffers[view.buffer];
  if (kind_ != Kind::Sized || !open_.empty() || !host.is_contiguous() ||
      host.numel() != buffer.size || buffer.role != Role::Temporary)
    return;
  Tensor elements = host.detach().reshape({host.numel()});
  if (copy) {
    Tensor kept = elements.clone();
    host_calls_.copied(std::move(elements), kept);
    known_.insert_or_assign(view.buffer, KnownBuffer{std::move(kept), graph.nodes.size()});
  } else {
    known_.emplace(view.buffer, KnownBuffer{std::move(elements), graph.nodes.size()});
  }
}

// A host tensor of the one value that a traced one holds. Undefined if it was not made so, or written to since.
Tensor Tracer::filled_on_host(const Tensor& traced) {
  const uint32_t buffer = recorder_.use(traced).buffer;
  const auto found = fills_.find(buffer);
  if (found == fills_.end()) return {};
  size_t writers = 0;
  std::vector<uint32_t> written;
  for (const Node& node : recorder_.graph().nodes) writes(node, written);
  writers = static_cast<size_t>(std::ranges::count(written, buffer));
  if (writers != 1) return {};
  static const tn_op* const op = tn_op_find(detail::to_str("full"));
  std::vector<tn_value> args(found->second->values().begin(), found->second->values().end());
  tn_value& shape = args[arg::full::shape];
  shape.as.ints = traced.shape().data();
  shape.count = static_cast<uint32_t>(traced.shape().size());
  tn_tensor* made = nullptr;
  detail::check(call_at_once(*op, args, &made, 1));
  return Tensor::adopt(made);
}

std::optional<Tracer::Arguments> Tracer::on_host(std::span<const tn_value> args) {
  Arguments changed;
  changed.values.assign(args.begin(), args.end());
  for (tn_value& value : changed.values) {
    if (value.tag == TN_VALUE_TENSORS && any_tensor({&value, 1}, is_traced)) return std::nullopt;
    if (value.tag != TN_VALUE_TENSOR || !is_traced(value.as.tensor)) continue;
    Tensor made = filled_on_host(Tensor::share(value.as.tensor));
    if (!made.defined()) return std::nullopt;
    changed.held.push_back(std::move(made));
    value.as.tensor = changed.held.back().get();
  }
  return changed;
}

// The graph has read memory that the function made and now writes to: it keeps a copy, and reads the memory anew next time.
void Tracer::keep_as_read(const void* memory) {
  std::erase_if(flats_, [&](const Flat& flat) {
    if (memory_of(flat.source.get()) != memory) return false;
    const uint32_t buffer = recorder_.use(flat.traced).buffer;
    Tensor read = recorder_.graph().buffers[buffer].constant;
    recorder_.copy_constant(buffer);
    host_calls_.copied(std::move(read), recorder_.graph().buffers[buffer].constant);
    return true;
  });
  std::erase_if(twins_,
                [&](const auto& one) { return memory_of(one.second.original.get()) == memory; });
}

bool Tracer::is_weight(const Tensor& tensor) const {
  const tn_view& view = *tn_tensor_view(tensor.get());
  const bool addressable = view.data != nullptr;
  const void* space = addressable ? nullptr : view.buffer;
  const auto begin =
      addressable ? reinterpret_cast<uintptr_t>(view.data) : static_cast<uintptr_t>(view.offset);
  return std::ranges::any_of(flats_, [&](const Flat& flat) {
    return flat.space == space && flat.begin <= begin && begin < flat.end;
  });
}

// Another tensor that overlaps the written memory would not see the write in order.
void Tracer::check_shared(const Flat& written) const {
  for (const Flat& other : flats_)
    if (&other != &written && other.space == written.space && other.begin < written.end &&
        written.begin < other.end)
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] two tensors from outside share memory, in part, and one of them is "
                  "written to: use one tensor and its views");
}

void Tracer::check_writes() {
  std::vector<uint32_t> written;
  for (const Node& node : recorder_.graph().nodes) {
    written.clear();
    writes(node, written);
    for (const uint32_t b : written) {
      const Buffer& buffer = recorder_.graph().buffers[b];
      if (buffer.role == Role::Temporary || buffer.role == Role::State) continue;
      if (buffer.role == Role::Input && is_step()) continue;
      if (!is_step())
        refuse_node(node, std::string("it writes into ") +
                              (buffer.role == Role::Input ? "input " : "weight ") + buffer.name +
                              ": a graph leaves what it is given as it is; clone it first");
      const auto flat = std::ranges::find_if(
          flats_, [&](const Flat& one) { return recorder_.use(one.traced).buffer == b; });
      if (flat == flats_.end())
        refuse_node(node, "it writes into numbers that the function holds: clone them first");
      if (flat->copied)
        refuse_node(node, "it writes into a tensor that lies as no graph can write it: clone it");
      check_shared(*flat);
      if (Recorder::dispatch().wrote(flat->source.get()) == 0)
        refuse_node(node, "it writes into a tensor that is read-only: clone it");
      recorder_.make_state(b);
    }
  }
}

// Gradients must not leave a step: one from before would be added to or read by one run and not by the next.
void Tracer::check_gradients() const {
  const auto used = [&](const Tensor& gradient) {
    return gradient.defined() && twins_.contains(gradient.get());
  };
  for (const Leaf& leaf : leaves_)
    if (used(leaf.before) || used(leaf.tensor.grad()))
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] a gradient from before the step is used in it: the step has to begin "
                  "with zero_grad(), and to compute its own gradients");
}

std::vector<Tensor> Tracer::mark_gradients() {
  std::vector<Tensor> marked;
  for (Leaf& leaf : leaves_) {
    if (!is_traced(leaf.tensor.grad().get())) continue;
    tn_tensor* mark = nullptr;
    const auto shape = leaf.tensor.shape();
    detail::check(tn_tensor_empty(static_cast<tn_dtype>(leaf.tensor.dtype()),
                                  static_cast<uint32_t>(shape.size()), shape.data(),
                                  leaf.tensor.device().get(), &mark));
    leaf.tensor.set_grad(Tensor::adopt(mark));
    marked.push_back(leaf.tensor);
  }
  return marked;
}

Graph Tracer::finish(std::span<const Tensor> results) {
  if (!open_.empty() || !blocks_.empty())
    throw Error(TN_FAILED_PRECONDITION,
                "[graph] a body of a cond, loop or scan was begun and is not used");
  std::vector<View> views;
  for (const Tensor& result : results)
    views.push_back(recorder_.use(Recorder::traced(result.get()) ? result : twin(result)));
  check_gradients();
  check_writes();
  Graph graph = recorder_.take();
  graph.differentiable = differentiable_;
  graph.inputs = inputs_;
  graph.symbols = symbols_;
  graph.results = std::move(views);
  if (kind_ != Kind::Sized) drop_dead(graph);  // for Kind::Sized once all sizes are traced
  if (has_control_ && kind_ != Kind::Sized) drop_unused(graph);
  if (kind_ == Kind::Function) graph.derived = Derived::of(host_calls_, graph);
  return graph;
}

}  // namespace tenon::graph
