#include "trace/recorder.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "ir/schema.hpp"
#include "tenon/creation.hpp"
#include "tenon/ext/draft/device.h"
#include "tenon/plugins.h"

namespace tenon::graph {
namespace {

// The plugin lies beside this library, in no directory that is searched for plugins, so programs that trace nothing never see the device.
std::string plugin_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&plugin_path), &info) == 0) return {};
  std::error_code ignored;
  const auto here = std::filesystem::canonical(info.dli_fname, ignored).parent_path();
  const auto installed = here / "tenon/graph/tenon_trace.so";
  return (std::filesystem::exists(installed, ignored) ? installed : here / "tenon_trace.so")
      .string();
}

const tn_trace_table& load() {
  // First all plugins that bring ops, because its kernels are for the ops known when it starts. Those that bring only devices, whose
  // drivers take long to load, are not needed; asking for an interface opens the others.
  const void* table = nullptr;
  tn_status_release(tn_plugin_interface(detail::to_str(TN_TRACE_ID), detail::to_str(TN_TRACE_NAME),
                                        TN_TRACE_REVISION, &table));
  detail::check(tn_plugin_load(detail::to_str(plugin_path())));
  detail::check(tn_plugin_interface(detail::to_str(TN_TRACE_ID), detail::to_str(TN_TRACE_NAME),
                                    TN_TRACE_REVISION, &table));
  return *static_cast<const tn_trace_table*>(table);
}

const tn_trace_table& table() {
  static const tn_trace_table& loaded = load();
  return loaded;
}

// Any pointer but NULL; it is never used.
void* stream() {
  static char stands_for_one;
  return &stands_for_one;
}

// Turns what a sink's function throws into a status.
template <class Body>
tn_status* guarded(Body&& body) noexcept {
  return detail::guarded("graph", std::forward<Body>(body));
}

}  // namespace

Device Recorder::device() {
  table();
  static const Device found("trace:0");
  return found;
}

Device meta_device() {
  table();
  return Device("meta:0");
}

const tn_dispatch& Recorder::dispatch() { return *table().dispatch; }
uint64_t Recorder::epoch() { return dispatch().epoch(); }

Recorder::Recorder(Device target) {
  const Device recording = device();
  if (tn_device_redirected() != nullptr)
    throw Error(TN_FAILED_PRECONDITION, "[graph] this thread traces or captures already");
  sink_.ctx = this;
  // Every tensor gets its own buffer: while calls are redirected, no memory is cached between them (tn_device_redirect).
  sink_.allocated = [](void* self, uint64_t number) {
    static_cast<Recorder*>(self)->allocated(number);
  };
  sink_.called = [](void* self, const tn_op* op, const tn_call* call, const tn_kernel* kernel) {
    return guarded([&] { static_cast<Recorder*>(self)->called(*op, *call, kernel); });
  };
  sink_.copied_in = [](void* self, const void* source, uint64_t number, uint64_t offset,
                       uint64_t bytes) {
    return guarded([&] { static_cast<Recorder*>(self)->copied_in(source, number, offset, bytes); });
  };
  sink_.read = [](void* self, uint64_t number) {
    return guarded([&] { static_cast<const Recorder*>(self)->refuse_read(number); });
  };
  sink_.release = tn_status_release;
  tn_generator_get_state(nullptr, &seed_, &offset_);
  tn_device_redirect(recording.get(), stream());
  table().listen(&sink_, target.get());
}

Recorder::~Recorder() {
  table().listen(nullptr, nullptr);
  tn_device_redirect(nullptr, nullptr);
  tn_generator_set_state(nullptr, seed_, offset_);  // as if nothing had been drawn
}

void Recorder::reserve(const Graph& like) {
  graph_.nodes.reserve(like.nodes.size());
  graph_.buffers.reserve(like.buffers.size());
  numbers_.reserve(like.buffers.size());
}

Tensor Recorder::add(Role role, DType dtype, std::span<const int64_t> shape, std::string name,
                     Tensor constant) {
  Tensor made = empty(IntList(shape), dtype, device());
  const View view = use(*tn_tensor_view(made.get()));
  Buffer& buffer = graph_.buffers[view.buffer];
  buffer.role = role;
  buffer.name = std::move(name);
  buffer.constant = std::move(constant);
  return made;
}

std::vector<Node> Recorder::cut(size_t from) {
  const auto begin = graph_.nodes.begin() + static_cast<std::ptrdiff_t>(from);
  std::vector<Node> nodes(std::make_move_iterator(begin),
                          std::make_move_iterator(graph_.nodes.end()));
  graph_.nodes.erase(begin, graph_.nodes.end());
  return nodes;
}

Graph Recorder::take() {
  settle_constants();
  return std::move(graph_);
}

void Recorder::settle_constants() {
  for (auto& [index, bytes] : bytes_) {
    Buffer& buffer = graph_.buffers[index];
    bytes.resize(static_cast<size_t>(buffer.size) * size_of(buffer.dtype));
    buffer.role = Role::Constant;
    tn_tensor* made = nullptr;
    detail::check(tn_tensor_from_host(bytes.data(), bytes.size(),
                                      static_cast<tn_dtype>(buffer.dtype), 1, &buffer.size, nullptr,
                                      &made));
    buffer.constant = Tensor::adopt(made);
  }
  bytes_.clear();
}

void Recorder::allocated(uint64_t number) {
  numbers_.push_back(number);
  graph_.buffers.push_back({});
}

void Recorder::refuse_read(uint64_t number) const {
  const uint32_t buffer = index_of(number);
  std::string of = graph_.buffers[buffer].name;
  std::vector<uint32_t> written;
  for (const Node& node : graph_.nodes) {
    written.clear();
    writes(node, written);
    if (std::ranges::find(written, buffer) != written.end()) of = described(node);
  }
  throw Error(
      TN_FAILED_PRECONDITION,
      fmt::format("[graph] an element of {} is read while a function is traced, but traced "
                  "tensors have no elements (item(), bool(), tolist(), numpy() and printing "
                  "read them); return the tensor, or compute with tensors (where, graph.cond)",
                  of.empty() ? "a tensor" : of));
}

uint32_t Recorder::index_of(uint64_t number) const {
  // Numbers in between can only belong to other threads.
  const uint64_t guess = numbers_.empty() ? 0 : number - numbers_.front();
  if (guess < numbers_.size() && numbers_[guess] == number) return static_cast<uint32_t>(guess);
  const auto found = std::ranges::lower_bound(numbers_, number);
  if (found == numbers_.end() || *found != number)
    throw Error(TN_FAILED_PRECONDITION, "[graph] a tensor of another trace was used");
  return static_cast<uint32_t>(found - numbers_.begin());
}

View Recorder::use(const tn_view& view) {
  View made;
  use(view, made);
  return made;
}

void Recorder::use(const tn_view& view, View& made) {
  made.buffer = index_of(reinterpret_cast<uintptr_t>(view.buffer));
  made.dtype = static_cast<DType>(view.dtype);
  made.offset = view.offset / static_cast<int64_t>(size_of(made.dtype));
  made.shape.assign(view.shape, view.shape + view.ndim);
  made.strides.assign(view.strides, view.strides + view.ndim);
  Buffer& buffer = graph_.buffers[made.buffer];
  if (buffer.size != 0 && buffer.dtype != made.dtype)
    throw Error(TN_UNIMPLEMENTED,
                "[graph] the memory of a traced tensor is read as another dtype, which programs "
                "cannot do: do it outside the function");
  buffer.dtype = made.dtype;
  buffer.size = std::max(buffer.size, made.end());
}

Argument Recorder::argument(const tn_value& value, bool generator) {
  switch (value.tag) {
    case TN_VALUE_BOOL:
      return value.as.i != 0;
    case TN_VALUE_INT:
      return value.as.i;
    case TN_VALUE_FLOAT:
      return value.as.f;
    case TN_VALUE_COMPLEX:
      return std::complex<double>(value.as.floats[0], value.as.floats[1]);
    case TN_VALUE_STR:
      return std::string(value.as.str, value.count);
    case TN_VALUE_INTS:
      if (generator) return Draw();
      return std::vector<int64_t>(value.as.ints, value.as.ints + value.count);
    case TN_VALUE_FLOATS:
      return std::vector<double>(value.as.floats, value.as.floats + value.count);
    case TN_VALUE_DTYPE:
      return static_cast<DType>(value.as.i);
    case TN_VALUE_DEVICE:
      return Here();
    case TN_VALUE_VIEW: {
      if ((value.as.view->flags & TN_VIEW_SCALAR) == 0) return use(*value.as.view);
      Number number{static_cast<DType>(value.as.view->dtype), {}};
      std::memcpy(number.bytes.data(), value.as.view->scalar, number.bytes.size());
      return number;
    }
    case TN_VALUE_VIEWS: {
      Views views;
      for (uint32_t k = 0; k < value.count; ++k) {
        const tn_view* view = value.as.views[k];
        views.push_back(view == nullptr ? std::nullopt : std::optional(use(*view)));
      }
      return views;
    }
    case TN_VALUE_NONE:
      return std::monostate();
    default:
      throw Error(TN_UNIMPLEMENTED, fmt::format("[graph] arguments with tag {}", value.tag));
  }
}

void Recorder::called(const tn_op& op, const tn_call& call, const tn_kernel* kernel) {
  Node node;
  node.op = &op;
  node.source = source_;
  const auto& known = parameters(op);
  node.args.reserve(call.nargs);
  for (uint32_t i = 0; i < call.nargs; ++i) {
    const tn_value& value = call.args[i];
    if (value.tag == TN_VALUE_VIEW && (value.as.view->flags & TN_VIEW_SCALAR) == 0)
      use(*value.as.view, node.args.emplace_back().emplace<View>());  // most are, and stay in place
    else
      node.args.push_back(argument(value, known[i].generator));
  }
  node.results.reserve(call.nouts);
  for (uint32_t k = 0; k < call.nouts; ++k) use(*call.outs[k], node.results.emplace_back());
  // Each run must draw anew, which only a call does.
  node.kernel = draws(node) ? nullptr : kernel;
  if (call.loop != nullptr) {
    const tn_loop& loop = *call.loop;
    Loop& copy = node.loop.emplace();
    copy.reduced = loop.reduced;
    copy.shape.assign(loop.shape, loop.shape + loop.ndim);
    copy.strides.reserve(loop.noperands);
    for (uint32_t k = 0; k < loop.noperands; ++k)
      copy.strides.emplace_back(loop.strides[k], loop.strides[k] + loop.ndim);
    copy.flags = call.flags;
  }
  graph_.nodes.push_back(std::move(node));
}

void Recorder::keep_symbols(const Node& node, size_t from) {
  auto& nodes = graph_.nodes;
  const bool as_it_is = nodes.size() == from + 1 && nodes[from].op == node.op &&
                        (nodes[from].kernel == nullptr || nodes[from].kernel->prepare == nullptr);
  if (!as_it_is) {
    nodes.resize(from);
    nodes.push_back(node);
    nodes.back().kernel = nullptr;
    return;
  }
  for (size_t i = 0; i < node.args.size(); ++i)
    if (const auto* symbolic = std::get_if<Symbolic>(&node.args[i]))
      nodes[from].args[i] = *symbolic;
}

void Recorder::copied_in(const void* source, uint64_t number, uint64_t offset, uint64_t bytes) {
  auto& held = bytes_[index_of(number)];
  held.resize(std::max<size_t>(held.size(), offset + bytes));
  std::memcpy(held.data() + offset, source, bytes);
}

}  // namespace tenon::graph
