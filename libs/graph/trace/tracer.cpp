#include "trace/tracer.hpp"

#include <algorithm>

#include "ir/schema.hpp"
#include "tenon/op.h"
#include "tenon/random.h"

namespace tenon::graph {
namespace {

std::string_view name_of(const tn_op& op) { return detail::to_view(tn_op_name(&op)); }

[[noreturn]] void refuse(const tn_op& op, const std::string& why) {
  throw Error(TN_FAILED_PRECONDITION, "[graph] " + std::string(name_of(op)) + ": " + why);
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

// Flat, beginning at the tensor's first element and sharing its memory where the host can address it; a copy elsewhere.
Tensor flat_of(const Tensor& tensor, int64_t size) {
  if (tensor.is_contiguous()) return tensor.detach().reshape({size});
  if (tn_tensor_data(tensor.get()) == nullptr) return tensor.detach().contiguous().reshape({size});
  auto* held = new Tensor(tensor.detach());
  tn_tensor* made = nullptr;
  tn_status* status = tn_tensor_wrap_host(
      tn_tensor_data(tensor.get()), static_cast<tn_dtype>(tensor.dtype()), 1, &size, nullptr,
      [](void* owner) { delete static_cast<Tensor*>(owner); }, held, &made);
  if (status != nullptr) delete held;
  detail::check(status);
  return Tensor::adopt(made);
}

// Where the elements lie, or the handle of a tensor that the host cannot address.
const void* place_of(const Tensor& tensor) {
  const void* elements = tn_tensor_data(tensor.get());
  return elements != nullptr ? elements : tensor.get();
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.shape(), b.shape()) &&
         std::ranges::equal(a.strides(), b.strides());
}

}  // namespace

Tracer::Tracer() {
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
}

Tracer::~Tracer() { tn_status_release(tn_call_layer_pop(&layer_)); }

Tensor Tracer::input(const Tensor& like, std::string name) {
  const std::vector<int64_t> shape(like.shape().begin(), like.shape().end());
  Tensor made = recorder_.add(Role::Input, like.dtype(), shape, std::move(name));
  inputs_.push_back(recorder_.use(made));
  return made;
}

void Tracer::name(const Tensor& tensor, std::string name) {
  names_.emplace(place_of(tensor), std::move(name));
}

// A constant that was drawn or filled may be written to later, or has to differ from run to run.
bool Tracer::concerns(const tn_op& op, std::span<const tn_value> args) const {
  if (any_tensor(args, is_traced)) return true;
  if (any_tensor(args, [](const tn_tensor* tensor) { return tensor != nullptr; })) return false;
  const auto& known = parameters(op);
  return name_of(op) == "full" || std::ranges::any_of(known, &Parameter::generator);
}

Tensor Tracer::twin(const Tensor& tensor) {
  differentiable_ |= tensor.requires_grad();
  auto& known = twins_[place_of(tensor)];
  for (const Twin& twin : known)
    if (same(twin.original, tensor)) return twin.traced;
  const auto named = names_.find(place_of(tensor));
  const bool strided =
      tn_tensor_data(tensor.get()) != nullptr &&
      std::ranges::all_of(tensor.strides(), [](int64_t step) { return step >= 0; });
  View view;
  view.shape.assign(tensor.shape().begin(), tensor.shape().end());
  view.strides.assign(tensor.strides().begin(), tensor.strides().end());
  const Tensor source = strided || tensor.is_contiguous() ? tensor : tensor.detach().contiguous();
  const int64_t size = strided ? view.end() : tensor.numel();
  Tensor traced =
      recorder_.add(Role::Constant, tensor.dtype(), {&size, 1},
                    named == names_.end() ? std::string() : named->second, flat_of(source, size));
  traced = strided ? as_strided(traced, view.shape, view.strides) : traced.reshape(view.shape);
  known.push_back({tensor, traced});
  return traced;
}

// With traced tensors in the place of others, and on the device of these.
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
  if (!concerns(op, args)) return nullptr;
  const Arguments changed = convert(op, args);
  done = 1;
  return tn_op_call(&op, changed.values.data(), static_cast<uint32_t>(args.size()), outs, nouts);
}

tn_status* Tracer::call_into(const tn_op& op, std::span<const tn_value> args,
                             tn_tensor* const* outs, uint32_t nouts, uint32_t& done) {
  const bool writes_traced = std::any_of(outs, outs + nouts, is_traced);
  for (uint32_t k = 0; k < nouts; ++k) {
    const Tensor out = Tensor::share(outs[k]);
    if (is_traced(outs[k])) continue;
    if (any_tensor(args, is_traced))
      refuse(op,
             "it writes what is traced into a tensor from outside the function: return it instead");
    if (twins_.contains(place_of(out)))
      refuse(op, "it writes into a tensor that is a weight of the graph already");
  }
  if (!writes_traced) return nullptr;
  const Arguments changed = convert(op, args);
  done = 1;
  return tn_op_call_into(&op, changed.values.data(), static_cast<uint32_t>(args.size()), outs,
                         nouts);
}

void Tracer::check_writes() const {
  std::vector<uint32_t> written;
  for (const Node& node : recorder_.graph().nodes) {
    written.clear();
    writes(node, written);
    for (const uint32_t b : written) {
      const Buffer& buffer = recorder_.graph().buffers[b];
      if (buffer.role == Role::Temporary) continue;
      refuse(*node.op, std::string("it writes into ") +
                           (buffer.role == Role::Input ? "input " : "weight ") + buffer.name +
                           ": a graph leaves what it is given as it is; clone it first");
    }
  }
}

Graph Tracer::finish(std::span<const Tensor> results) {
  std::vector<View> views;
  for (const Tensor& result : results)
    views.push_back(recorder_.use(Recorder::traced(result.get()) ? result : twin(result)));
  check_writes();
  Graph graph = recorder_.take();
  graph.differentiable = differentiable_;
  graph.inputs = inputs_;
  graph.results = std::move(views);
  drop_dead(graph);
  return graph;
}

}  // namespace tenon::graph
