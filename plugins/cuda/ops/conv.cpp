// conv and its gradients by cuDNN.
#include <memory>

#include "../cudnn_plans.hpp"
#include "../numerics.hpp"
#include "backend.hpp"
#include "library_kernel.hpp"
#include "timeline.hpp"

namespace tenon::gpu {

namespace {

namespace fe = cudnn_frontend::graph;

template <class Attributes>
Attributes attributes_of(const CudnnConv& conv) {
  return Attributes()
      .set_pre_padding(conv.padding)
      .set_post_padding(conv.padding)
      .set_stride(conv.stride)
      .set_dilation(conv.dilation);
}

CudnnTensor convolve(fe::Graph& graph, const CudnnConv& conv, const CudnnTensor& first,
                     const CudnnTensor& second) {
  if (conv.pass == kForward)
    return graph.conv_fprop(first, second, attributes_of<fe::Conv_fprop_attributes>(conv));
  if (conv.pass == kInput)
    return graph.conv_dgrad(first, second, attributes_of<fe::Conv_dgrad_attributes>(conv));
  return graph.conv_wgrad(first, second, attributes_of<fe::Conv_wgrad_attributes>(conv));
}

}  // namespace

std::unique_ptr<CudnnGraph> describe(const CudnnConv& conv) {
  auto graph = std::make_unique<CudnnGraph>(conv.dtype);
  const CudnnTensor first = graph->input(conv.first, dense_strides(conv.first));
  const CudnnTensor second = graph->input(conv.second, dense_strides(conv.second));
  graph->result(convolve(graph->operations(), conv, first, second), conv.result,
                dense_strides(conv.result), conv.dtype);
  return graph;
}

namespace {

CudnnConv conv_of(const tn_call& call, Pass pass) {
  const Geometry g(call, pass);
  const uint32_t spatial = spatial_of(output(call));
  return {pass,
          output(call).dtype,
          plane_sizes(input(call, arg::conv::x)),
          plane_sizes(input(call, arg::conv::weight)),
          plane_sizes(output(call)),
          Geometry::last(g.stride, spatial),
          Geometry::last(g.padding, spatial),
          Geometry::last(g.dilation, spatial)};
}

class Plan final : public LibraryPlan {
 public:
  Plan(const tn_call& call, Pass pass) : pass_(pass), graph_(describe(conv_of(call, pass))) {
    const CudnnHandle handle(call.device_index);
    graph_->plan(cudnn_target(call.device_index, handle),
                 {allows_tf32(), allows_nondeterminism(), most_workspace(call.device_index)});
    workspace = graph_->workspace();
  }
  void run(const tn_call& call) const override {
    {
      CudnnHandle handle(call.device_index);
      handle.set_stream(stream_of(call).handle());
      void* const addresses[] = {input(call, arg::conv::x).data,
                                 input(call, arg::conv::weight).data, output(call).data};
      graph_->run(handle, addresses, call.scratch);
    }
    Timed::launched();
    const tn_view* const bias = pass_ == kForward ? input_or_null(call, arg::conv::bias) : nullptr;
    if (bias != nullptr) add_to_planes(call, output(call), *bias);
  }

 private:
  Pass pass_;
  std::unique_ptr<CudnnGraph> graph_;
};

// Planning asks the heuristics and may compile, so smaller convolutions are left to the plugin's own kernels.
double least_work() {
  static const double least = number_from("TENON_CUDA_CUDNN_LEAST", 1 << 20);
  return least;
}

class ConvKernel final : public LibraryKernel {
 public:
  ConvKernel(std::string_view schema, Pass pass)
      : LibraryKernel({schema, "cuDNN", TN_MASK_FLOAT}), pass_(pass) {}

  bool takes(const tn_call& call) const override {
    for (const tn_view* view :
         {&input(call, arg::conv::x), &input(call, arg::conv::weight), &output(call)})
      if (numel(*view) == 0 || !is_aligned_for_cudnn(*view)) return false;
    return Geometry(call, pass_).work() >= least_work() && has_cudnn();
  }
  std::unique_ptr<LibraryPlan> prepare(const tn_call& call) const override {
    return std::make_unique<Plan>(call, pass_);
  }

 private:
  Pass pass_;
};

}  // namespace

std::vector<tn_kernel> cudnn_conv_kernels() {
  static const ConvKernel kernels[] = {{TN_SCHEMA_CONV, kForward},
                                       {TN_SCHEMA_CONV_BACKWARD_INPUT, kInput},
                                       {TN_SCHEMA_CONV_BACKWARD_WEIGHT, kWeight}};
  std::vector<tn_kernel> made;
  for (const ConvKernel& kernel : kernels) made.push_back(library_kernel(kernel));
  return made;
}

}  // namespace tenon::gpu
