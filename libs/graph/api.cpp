// The C API of tenon/graph.h, on top of the classes.
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>

#include "file/file.hpp"
#include "pass/quantize.hpp"
#include "run/program.hpp"
#include "tenon/graph.h"
#include "trace/fit.hpp"
#include "trace/fit_sizes.hpp"
#include "trace/recorder.hpp"
#include "trace/tracer.hpp"

using namespace tenon;  // NOLINT(google-build-using-namespace): this file is the ABI of that namespace

struct tn_trace {
  using Kind = graph::Tracer::Kind;
  explicit tn_trace(Kind of) : kind(of), tracer(std::in_place, of, reads) {}
  // Begins another pass.
  void again() {
    tracer.reset();
    tracer.emplace(kind, reads);
    tracer->source(where);
    tracer->stands_for(home);
  }
  ~tn_trace() {
    tracer.reset();
    forget_first();
  }
  // The first pass of a step at these sizes is no longer needed once the second has ended.
  void forget_first() {
    first.reset();
    for (Tensor& leaf : marked) leaf.zero_grad();
    marked.clear();
  }
  // Notes what an input stands for.
  void takes(const tn_tensor* like) {
    if (home == nullptr && tn_tensor_device(like) != graph::meta_device().get())
      home = tn_tensor_device(like);
    tracer->stands_for(home);
  }
  bool is_step() const { return kind == Kind::Step || kind == Kind::SizedStep; }
  Kind kind;
  std::vector<Tensor> reads;  // outside tensors whose elements the function read
  std::optional<graph::Tracer> tracer;
  // For a step: its first pass.
  std::optional<graph::Graph> first;
  std::vector<Tensor> marked;
  // For a trace at several sizes.
  std::optional<graph::SizeFit> fit;
  std::vector<std::vector<int32_t>> dims;  // by input
  size_t ndims = 0;
  std::function<std::string()> where;
  tn_device* home = nullptr;  // of the first input that has elements
};

struct tn_program {
  graph::Program program;
  std::atomic<uint64_t> references{1};
};

namespace {

// The barrier; anything else than our own Error becomes one.
template <class Body>
tn_status* guarded(Body&& body) noexcept {
  return detail::guarded("graph", [&] {
    try {
      body();
    } catch (const std::bad_alloc&) {
      throw Error(TN_OUT_OF_MEMORY, "[graph] out of host memory");
    }
  });
}

void require(const void* pointer, const char* what) {
  if (pointer == nullptr)
    throw Error(TN_INVALID_ARGUMENT, std::string("[graph] ") + what + " is NULL");
}

std::string text_of(tn_str text) {
  return text.data == nullptr ? std::string() : std::string(detail::to_view(text));
}

std::vector<Tensor> shared(tn_tensor* const* tensors, uint32_t count, const char* what) {
  if (count != 0) require(tensors, what);
  std::vector<Tensor> made;
  for (uint32_t i = 0; i < count; ++i) {
    require(tensors[i], what);
    made.push_back(Tensor::share(tensors[i]));
  }
  return made;
}

// Writes only as many bytes as the caller's struct has.
template <class Struct>
void give(Struct value, Struct* out) {
  const uint32_t size = out->struct_size;
  value.struct_size = size;
  std::memcpy(static_cast<void*>(out), &value, std::min<size_t>(size, sizeof value));
}

void give_value(const std::vector<graph::View>& views, const graph::Graph& graph, uint32_t index,
                tn_program_value* out) {
  require(out, "out");
  if (index >= views.size())
    throw Error(TN_OUT_OF_RANGE, "[graph] " + std::to_string(index) + " of " +
                                     std::to_string(views.size()) + " values");
  const graph::View& view = views[index];
  tn_program_value value{};
  value.dtype = static_cast<tn_dtype>(view.dtype);
  value.ndim = static_cast<uint32_t>(view.shape.size());
  value.shape = view.shape.data();
  value.name = detail::to_str(graph.buffers[view.buffer].name);
  if (!graph.sizes.empty()) {
    const bool input = &views == &graph.inputs;
    value.shape = (input ? graph.sizes.input_shapes : graph.sizes.result_shapes)[index].data();
    if (input) value.dims = graph.sizes.inputs[index].data();
  }
  give(value, out);
}

Device device_of(tn_device* device) { return device == nullptr ? Device("cpu") : Device(device); }

}  // namespace

tn_status* tn_trace_begin(tn_trace** out) {
  return guarded([&] {
    require(out, "out");
    *out = new tn_trace(tn_trace::Kind::Function);
  });
}

tn_status* tn_trace_begin_step(tn_trace** out) {
  return guarded([&] {
    require(out, "out");
    *out = new tn_trace(tn_trace::Kind::Step);
  });
}

tn_status* tn_trace_number(tn_trace* trace, tn_str name, double value, uint32_t counts) {
  return guarded([&] {
    require(trace, "trace");
    trace->tracer->number(text_of(name), value, counts != 0);
  });
}

tn_status* tn_trace_again(tn_trace* trace, tn_tensor* const* results, uint32_t nresults) {
  return guarded([&] {
    require(trace, "trace");
    if (!trace->is_step() || trace->first)
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] only a step is traced again, and once: tn_trace_begin_step");
    trace->first = trace->tracer->finish(shared(results, nresults, "a result"));
    trace->marked = trace->tracer->mark_gradients();
    trace->dims.clear();
    trace->again();
  });
}

tn_status* tn_trace_input(tn_trace* trace, const tn_tensor* like, tn_str name, tn_tensor** out) {
  return guarded([&] {
    require(trace, "trace");
    require(like, "like");
    require(out, "out");
    trace->takes(like);
    const tn_view& view = *tn_tensor_view(like);
    if (trace->fit) trace->dims.emplace_back(view.ndim, -1);
    *out =
        trace->tracer->input(static_cast<DType>(view.dtype), {view.shape, view.ndim}, text_of(name))
            .take();
  });
}

namespace {

tn_trace* begin_sizes(tn_trace::Kind kind, const tn_trace_dim* dims, uint32_t ndims) {
  if (ndims != 0) require(dims, "dims");
  std::vector<graph::Dim> made;
  std::vector<graph::SizeFit::Declared> declared;
  for (uint32_t i = 0; i < ndims; ++i) {
    graph::Dim dim{text_of(dims[i].name)};
    if (dim.name.empty() || std::ranges::count(made, dim.name, &graph::Dim::name) != 0)
      throw Error(TN_INVALID_ARGUMENT, "[graph] dims need names that differ");
    declared.push_back({dims[i].min != 0, dims[i].multiple != 0});
    if (dims[i].min != 0) dim.min = dims[i].min;
    if (dims[i].max != 0) dim.max = dims[i].max;
    if (dims[i].multiple != 0) dim.multiple = dims[i].multiple;
    made.push_back(std::move(dim));
  }
  auto trace = std::make_unique<tn_trace>(kind);
  trace->fit.emplace(std::move(made), std::move(declared));
  trace->ndims = ndims;
  return trace.release();
}

}  // namespace

tn_status* tn_trace_begin_sizes(const tn_trace_dim* dims, uint32_t ndims, tn_trace** out) {
  return guarded([&] {
    require(out, "out");
    *out = begin_sizes(tn_trace::Kind::Sized, dims, ndims);
  });
}

tn_status* tn_trace_begin_step_sizes(const tn_trace_dim* dims, uint32_t ndims, tn_trace** out) {
  return guarded([&] {
    require(out, "out");
    *out = begin_sizes(tn_trace::Kind::SizedStep, dims, ndims);
  });
}

tn_status* tn_trace_input_sized(tn_trace* trace, const tn_tensor* like, tn_str name,
                                const int32_t* of, tn_tensor** out) {
  return guarded([&] {
    require(trace, "trace");
    require(like, "like");
    if (tn_tensor_view(like)->ndim != 0) require(of, "of");
    require(out, "out");
    if (!trace->fit)
      throw Error(TN_FAILED_PRECONDITION, "[graph] the trace has no dims: tn_trace_begin_sizes");
    trace->takes(like);
    const tn_view& view = *tn_tensor_view(like);
    std::vector<int64_t> shape(view.shape, view.shape + view.ndim);
    for (uint32_t d = 0; d < view.ndim; ++d) {
      if (of[d] < 0) continue;
      if (static_cast<size_t>(of[d]) >= trace->ndims)
        throw Error(TN_OUT_OF_RANGE, "[graph] there is no dim " + std::to_string(of[d]));
      trace->fit->begin_near(static_cast<size_t>(of[d]), shape[d]);
      shape[d] = trace->fit->next()[of[d]];
    }
    trace->dims.emplace_back(of, of + view.ndim);
    *out = trace->tracer->input(static_cast<DType>(view.dtype), shape, text_of(name)).take();
  });
}

namespace {

void next_pass(tn_trace& trace, bool more) {
  if (!more) return;
  trace.dims.clear();
  trace.again();
}

void require_sizes(const tn_trace* trace, const uint32_t* more) {
  require(trace, "trace");
  require(more, "more");
  if (!trace->fit || !trace->tracer)
    throw Error(TN_FAILED_PRECONDITION,
                "[graph] only a trace with dims has passes: tn_trace_begin_sizes");
}

}  // namespace

tn_status* tn_trace_next(tn_trace* trace, tn_tensor* const* results, uint32_t nresults,
                         uint32_t* more) {
  return guarded([&] {
    require_sizes(trace, more);
    const bool step = trace->is_step();
    if (step && !trace->first)
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] a step is traced twice at each size: tn_trace_again before "
                  "tn_trace_next");
    graph::Traced traced{trace->tracer->finish(shared(results, nresults, "a result")), {}};
    traced.known = trace->tracer->take_known();
    if (!step) traced.calls = trace->tracer->take_calls();
    trace->tracer.reset();
    if (step) traced.graph = graph::fit(std::move(*trace->first), traced.graph);
    trace->forget_first();
    *more = trace->fit->add(std::move(traced)) ? 1 : 0;
    next_pass(*trace, *more != 0);
  });
}

tn_status* tn_trace_failed(tn_trace* trace, uint32_t* more) {
  return guarded([&] {
    require_sizes(trace, more);
    trace->tracer.reset();
    trace->forget_first();
    *more = trace->fit->failed() ? 1 : 0;
    next_pass(*trace, *more != 0);
  });
}

uint32_t tn_trace_function_failed(const tn_trace* trace) {
  return trace != nullptr && trace->fit && trace->fit->function_failed() ? 1 : 0;
}

namespace {

graph::Tracer& tracing() {
  graph::Tracer* found = graph::Tracer::current();
  if (found == nullptr) throw Error(TN_FAILED_PRECONDITION, "[graph] this thread records no trace");
  return *found;
}

void give_all(std::vector<Tensor> tensors, tn_tensor** out) {
  for (size_t i = 0; i < tensors.size(); ++i) out[i] = tensors[i].take();
}

}  // namespace

uint32_t tn_trace_active(void) { return graph::Tracer::current() == nullptr ? 0 : 1; }

void tn_trace_read(const tn_tensor* tensor) {
  graph::Tracer* found = graph::Tracer::current();
  if (found == nullptr || tensor == nullptr || graph::Recorder::traced(tensor)) return;
  tn_status_release(guarded([&] { found->read(Tensor::share(const_cast<tn_tensor*>(tensor))); }));
}

uint32_t tn_trace_reads(const tn_trace* trace, tn_tensor** out, uint32_t room) {
  if (trace == nullptr) return 0;
  for (uint32_t i = 0; i < room && i < trace->reads.size(); ++i)
    out[i] = tn_tensor_retain(trace->reads[i].get());
  return static_cast<uint32_t>(trace->reads.size());
}

tn_status* tn_trace_meta_device(tn_device** out) {
  return guarded([&] {
    require(out, "out");
    *out = graph::meta_device().get();
  });
}

tn_status* tn_trace_body_begin(tn_tensor* const* like, uint32_t count, tn_tensor** inputs) {
  return guarded([&] {
    if (count != 0) require(inputs, "inputs");
    give_all(tracing().begin_block(shared(like, count, "an input")), inputs);
  });
}

tn_status* tn_trace_body_end(tn_tensor* const* results, uint32_t count) {
  return guarded([&] { tracing().end_block(shared(results, count, "a result")); });
}

tn_status* tn_trace_body_drop(void) {
  return guarded([&] { tracing().drop_block(); });
}

tn_status* tn_trace_body_refuse(tn_str why) {
  return guarded([&] { tracing().refuse_block(text_of(why)); });
}

tn_status* tn_trace_control(uint32_t kind, tn_tensor* const* operands, uint32_t count,
                            uint32_t carried, tn_tensor** results, uint32_t nresults) {
  return guarded([&] {
    if (kind > TN_CONTROL_SCAN)
      throw Error(TN_INVALID_ARGUMENT,
                  "[graph] there is no control flow of kind " + std::to_string(kind));
    if (carried > count)
      throw Error(TN_INVALID_ARGUMENT, "[graph] " + std::to_string(carried) + " of " +
                                           std::to_string(count) + " operands are carried");
    if (nresults != 0) require(results, "results");
    using Kind = graph::Control::Kind;
    const auto of = static_cast<Kind>(kind);
    if (of == Kind::If) carried = 0;
    if (of == Kind::Loop) carried = count;
    const uint32_t scanned = of == Kind::Scan ? count - carried : 0;
    std::vector<Tensor> made =
        tracing().control(of, shared(operands, count, "an operand"), carried, scanned);
    if (made.size() != nresults)
      throw Error(TN_INVALID_ARGUMENT, "[graph] the bodies give " + std::to_string(made.size()) +
                                           " tensors, not " + std::to_string(nresults));
    give_all(std::move(made), results);
  });
}

tn_status* tn_trace_source(tn_trace* trace, void (*where)(void* ctx, tn_write_fn write, void* to),
                           void* ctx) {
  return guarded([&] {
    require(trace, "trace");
    if (where == nullptr) throw Error(TN_INVALID_ARGUMENT, "[graph] where is NULL");
    trace->where = [where, ctx] {
      std::string text;
      where(ctx, &detail::append_text, &text);
      return text;
    };
    if (trace->tracer) trace->tracer->source(trace->where);
  });
}

tn_status* tn_trace_name(tn_trace* trace, const tn_tensor* weight, tn_str name) {
  return guarded([&] {
    require(trace, "trace");
    require(weight, "weight");
    trace->tracer->name(Tensor::share(const_cast<tn_tensor*>(weight)), text_of(name));
  });
}

tn_status* tn_trace_end(tn_trace* trace, tn_tensor* const* results, uint32_t nresults,
                        tn_device* device, tn_program** out) {
  return guarded([&] {
    require(trace, "trace");
    std::unique_ptr<tn_trace> owned(trace);
    require(out, "out");
    if (owned->kind == tn_trace::Kind::Step && !owned->fit && !owned->first)
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] a step is traced twice: call tn_trace_again before tn_trace_end");
    if (owned->fit && owned->tracer)
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] the trace needs more sizes: call tn_trace_next before tn_trace_end");
    graph::Graph graph = owned->fit ? owned->fit->take(owned->dims)
                                    : owned->tracer->finish(shared(results, nresults, "a result"));
    if (owned->first) graph = graph::fit(std::move(*owned->first), graph);
    if (device == nullptr) device = owned->home;
    owned.reset();  // frees the thread, because the program traces again for its device
    *out = new tn_program{{graph, device_of(device)}};
  });
}

void tn_trace_drop(tn_trace* trace) { delete trace; }

tn_status* tn_program_run(tn_program* program, tn_tensor* const* inputs, uint32_t ninputs,
                          tn_tensor** results, uint32_t nresults) {
  return guarded([&] {
    require(program, "program");
    if (nresults != program->program.graph().results.size())
      throw Error(TN_INVALID_ARGUMENT, "[graph] " + std::to_string(nresults) +
                                           " results asked for, the graph has " +
                                           std::to_string(program->program.graph().results.size()));
    if (nresults != 0) require(results, "results");
    if (ninputs != 0) require(inputs, "an input");
    for (uint32_t i = 0; i < ninputs; ++i) require(inputs[i], "an input");
    program->program.run({inputs, ninputs}, results);
  });
}

tn_status* tn_program_save(const tn_program* program, tn_str path) {
  return guarded([&] {
    require(program, "program");
    graph::save(program->program.snapshot(), text_of(path));
  });
}

tn_status* tn_program_load(tn_str path, tn_device* device, tn_program** out) {
  return guarded([&] {
    require(out, "out");
    const std::string file = text_of(path);
    graph::Graph graph = graph::load(file);
    try {
      *out = new tn_program{{graph, device_of(device)}};
    } catch (const Error& error) {  // of an op, whose tensors do not fit
      throw Error(error.code(), "[graph.load] " + file + ": " + error.what());
    }
  });
}

tn_status* tn_program_get_info(tn_program* program, tn_program_info* out) {
  return guarded([&] {
    require(program, "program");
    require(out, "out");
    const graph::Facts facts = program->program.facts();
    const graph::Graph& graph = program->program.graph();
    tn_program_info info{};
    info.inputs = static_cast<uint32_t>(graph.inputs.size());
    info.results = static_cast<uint32_t>(graph.results.size());
    info.differentiable = graph.differentiable ? 1 : 0;
    info.nodes = facts.nodes;
    info.bound = facts.bound;
    info.arena = facts.arena;
    info.unshared = facts.apart;
    info.weights = facts.weights;
    info.state = facts.state;
    info.numbers = static_cast<uint32_t>(graph.symbols.size());
    info.fused = facts.fused;
    info.dims = static_cast<uint32_t>(graph.sizes.dims.size());
    info.exact = program->program.exact() ? 1 : 0;
    info.written = static_cast<uint32_t>(graph.written_inputs().size());
    give(info, out);
  });
}

tn_status* tn_program_get_number(tn_program* program, uint32_t index, tn_program_number* out) {
  return guarded([&] {
    require(program, "program");
    require(out, "out");
    const auto& symbols = program->program.graph().symbols;
    if (index >= symbols.size())
      throw Error(TN_OUT_OF_RANGE, "[graph] " + std::to_string(index) + " of " +
                                       std::to_string(symbols.size()) + " numbers");
    tn_program_number number{};
    number.counts = symbols[index].counts ? 1 : 0;
    number.value = program->program.number(index);
    number.name = detail::to_str(symbols[index].name);
    give(number, out);
  });
}

tn_status* tn_program_get_dim(const tn_program* program, uint32_t index, tn_trace_dim* out) {
  return guarded([&] {
    require(program, "program");
    require(out, "out");
    const auto& dims = program->program.graph().sizes.dims;
    if (index >= dims.size())
      throw Error(TN_OUT_OF_RANGE, "[graph] " + std::to_string(index) + " of " +
                                       std::to_string(dims.size()) + " dims");
    tn_trace_dim dim{};
    dim.name = detail::to_str(dims[index].name);
    dim.min = dims[index].min;
    dim.max = dims[index].max == graph::Dim{}.max ? 0 : dims[index].max;
    dim.multiple = static_cast<uint32_t>(dims[index].multiple);
    give(dim, out);
  });
}

tn_status* tn_program_set_exact(tn_program* program, uint32_t exact) {
  return guarded([&] {
    require(program, "program");
    program->program.set_exact(exact != 0);
  });
}

namespace {

// Runs the program on samples and lets the quantizer record what its products read.
void observe(graph::Quantizer& quantizer, const graph::Program& program,
             std::span<tn_tensor* const> samples) {
  const size_t inputs = program.graph().inputs.size(), results = program.graph().results.size();
  if (inputs == 0 || samples.size() % inputs != 0)
    throw Error(TN_INVALID_ARGUMENT, "[graph] " + std::to_string(samples.size()) +
                                         " tensors are no samples of " + std::to_string(inputs) +
                                         " inputs each");
  graph::Program watched(quantizer.observed(), program.device());
  std::vector<tn_tensor*> handles(watched.graph().results.size());
  for (size_t at = 0; at < samples.size(); at += inputs) {
    watched.run(samples.subspan(at, inputs), handles.data());
    std::vector<Tensor> made;
    for (tn_tensor* one : handles) made.push_back(Tensor::adopt(one));
    quantizer.observe(std::span(made).subspan(results));
  }
}

}  // namespace

tn_status* tn_program_quantize(tn_program* program, tn_tensor* const* samples, uint32_t nsamples,
                               tn_program** out) {
  return guarded([&] {
    require(program, "program");
    require(out, "out");
    for (uint32_t i = 0; i < nsamples; ++i) require(samples[i], "a sample");
    graph::Quantizer quantizer(program->program.graph());
    if (nsamples != 0) observe(quantizer, program->program, {samples, nsamples});
    *out = new tn_program{{quantizer.quantized(), program->program.device()}};
    (*out)->program.set_exact(program->program.exact());
  });
}

tn_status* tn_program_set_numbers(tn_program* program, uint32_t first, const double* values,
                                  uint32_t count) {
  return guarded([&] {
    require(program, "program");
    if (count != 0) require(values, "values");
    program->program.set_numbers(first, {values, count});
  });
}

tn_status* tn_program_input(const tn_program* program, uint32_t index, tn_program_value* out) {
  return guarded([&] {
    require(program, "program");
    const graph::Graph& graph = program->program.graph();
    give_value(graph.inputs, graph, index, out);
  });
}

tn_status* tn_program_result(const tn_program* program, uint32_t index, tn_program_value* out) {
  return guarded([&] {
    require(program, "program");
    const graph::Graph& graph = program->program.graph();
    give_value(graph.results, graph, index, out);
  });
}

tn_device* tn_program_device(const tn_program* program) {
  return program == nullptr ? nullptr : program->program.device().get();
}

tn_status* tn_program_print(tn_program* program, uint32_t form, tn_write_fn write, void* ctx) {
  return guarded([&] {
    require(program, "program");
    if (write == nullptr) throw Error(TN_INVALID_ARGUMENT, "[graph] write is NULL");
    graph::Program& shown = program->program;
    const auto text = [&]() -> std::string {
      switch (form) {
        case TN_PROGRAM_RECORDED:
          return graph::to_text(shown.graph());
        case TN_PROGRAM_LOWERED:
          return shown.text();
        case TN_PROGRAM_EXPLAINED:
          return shown.explain();
        case TN_PROGRAM_DRAWN:
          return shown.svg();
        default:
          throw Error(TN_INVALID_ARGUMENT, "[graph] there is no form " + std::to_string(form));
      }
    };
    write(ctx, detail::to_str(text()));
  });
}

tn_status* tn_program_describe(const tn_program* program, tn_write_fn write, void* ctx) {
  return guarded([&] {
    require(program, "program");
    if (write == nullptr) throw Error(TN_INVALID_ARGUMENT, "[graph] write is NULL");
    write(ctx, detail::to_str(graph::describe(program->program.graph())));
  });
}

tn_status* tn_program_describe_at(const tn_program* program, const int64_t* sizes, uint32_t ndims,
                                  tn_write_fn write, void* ctx) {
  return guarded([&] {
    require(program, "program");
    if (write == nullptr) throw Error(TN_INVALID_ARGUMENT, "[graph] write is NULL");
    const graph::Graph& graph = program->program.graph();
    if (ndims != graph.sizes.dims.size())
      throw Error(TN_INVALID_ARGUMENT, "[graph] " + std::to_string(ndims) + " sizes of " +
                                           std::to_string(graph.sizes.dims.size()) + " dims");
    if (ndims != 0) require(sizes, "sizes");
    write(ctx, detail::to_str(graph::describe(graph::concrete(graph, {sizes, ndims}))));
  });
}

tn_status* tn_program_weight(const tn_program* program, tn_str name, tn_tensor** out) {
  return guarded([&] {
    require(program, "program");
    require(out, "out");
    *out = graph::weight(program->program.graph(), text_of(name)).take();
  });
}

tn_program* tn_program_retain(tn_program* program) {
  if (program != nullptr) program->references.fetch_add(1, std::memory_order_relaxed);
  return program;
}

void tn_program_release(tn_program* program) {
  if (program != nullptr && program->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete program;
}
