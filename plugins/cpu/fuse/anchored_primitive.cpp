// The primitives of pieces.
#include "fuse/anchored.hpp"
#include "kernels.hpp"

namespace tenon::cpu {
namespace {

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

memory::dims dims_of(const Two& two) { return {two[0], two[1]}; }

// Padding behind the last row or column that is read.
int64_t after(int64_t in, int64_t before, int64_t out, int64_t kernel, int64_t stride,
              int64_t dilation) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1 - in - before;
}

// The paddings of a piece: above, left; below, right.
struct Padding {
  memory::dims before, behind;
  Padding(const ImageWindow& w, int64_t row, int64_t rows, int64_t first, int64_t count) {
    const int64_t above = first - (row * w.stride[0] - w.padding[0]);
    before = {above, w.padding[1]};
    behind = {after(count, above, rows, w.kernel[0], w.stride[0], w.dilation[0]),
              after(w.in[1], w.padding[1], w.out[1], w.kernel[1], w.stride[1], w.dilation[1])};
  }
};

bool is_quick(const char* name) {
  const std::string_view text(name);
  return text.find("ref") == text.npos && text.find("gemm") == text.npos;
}
void refuse_slow(const char* name) {
  if (!is_quick(name)) fail(TN_UNIMPLEMENTED, "oneDNN has no quick kernel for it here");
}

}  // namespace

memory::dims ImageWindow::weight_sizes(int64_t some) const {
  memory::dims sizes;
  if (groups > 1) sizes.push_back(groups);
  sizes.insert(sizes.end(), {some / groups, channels / groups, kernel[0], kernel[1]});
  return sizes;
}

Anchored::Primitive Anchored::make(const Piece& piece) {
  Primitive made;
  made.x = x_.inside(piece.samples, piece.count, x_.channels);
  made.y = y_.inside(piece.samples, piece.rows, piece.filters);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  for (const Epilogue& epilogue : recipe_.epilogues) {
    if (epilogue.operand != 0)
      ops.append_binary(epilogue.op, made.y);
    else
      ops.append_eltwise(epilogue.op, epilogue.alpha, epilogue.beta);
  }
  attributes.set_post_ops(ops);
  recipe_.pools ? make_pooling(made, piece, attributes) : make_convolution(made, piece, attributes);
  const auto copy = [](const memory::desc& from, const memory::desc& to) {
    return dnnl::reorder(dnnl::reorder::primitive_desc(dnnl_engine(), from, dnnl_engine(), to));
  };
  if (!x_.channels_last)
    made.copy_x = copy(x_.outside(piece.samples, piece.count, x_.channels), made.x);
  const auto outside = [&](const Image& image) {
    return image.outside(piece.samples, piece.rows, piece.filters);
  };
  if (!y_.lies_inside(piece.filters)) made.copy_y = copy(made.y, outside(y_));
  for (const Image& other : others_)
    made.copy_others.push_back(other.lies_inside(piece.filters) ? dnnl::reorder()
                                                                : copy(outside(other), made.y));
  return made;
}

void Anchored::make_convolution(Primitive& made, const Piece& piece,
                                const dnnl::primitive_attr& attributes) {
  const ImageWindow& w = recipe_.window;
  const Padding padding(w, piece.row, piece.rows, piece.first, piece.count);
  const memory::desc bias = recipe_.bias != 0 || recipe_.norm.is
                                ? memory::desc({piece.filters}, kF32, memory::format_tag::x)
                                : memory::desc();
  const auto with = [&](const memory::desc& weights) {
    return dnnl::convolution_forward::primitive_desc(
        dnnl_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        made.x, weights, bias, made.y, dims_of(w.stride), {w.dilation[0] - 1, w.dilation[1] - 1},
        padding.before, padding.behind, attributes);
  };
  const auto take = [&](const dnnl::convolution_forward::primitive_desc& found, size_t weights) {
    made.scratch = found.scratchpad_desc();
    made.primitive = dnnl::convolution_forward(found);
    made.weights = weights;
    weights_[weights].read = true;
  };
  // Pieces share weights. Where some are much smaller than others, their kernels may want another layout.
  for (size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i].filter == piece.filter && weights_[i].filters == piece.filters)
      if (const auto found = with(weights_[i].memory->get_desc()); is_quick(found.impl_info_str()))
        return take(found, i);
  const auto type = recipe_.integers ? memory::data_type::s8 : kF32;
  const auto found =
      with(memory::desc(w.weight_sizes(piece.filters), type, memory::format_tag::any));
  refuse_slow(found.impl_info_str());
  weights_.push_back(
      {std::make_shared<memory>(found.weights_desc(), dnnl_engine()), piece.filter, piece.filters});
  take(found, weights_.size() - 1);
}

void Anchored::make_pooling(Primitive& made, const Piece& piece,
                            const dnnl::primitive_attr& attributes) {
  const ImageWindow& w = recipe_.window;
  const Padding padding(w, piece.row, piece.rows, piece.first, piece.count);
  const dnnl::pooling_forward::primitive_desc found(
      dnnl_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max, made.x,
      made.y, dims_of(w.stride), dims_of(w.kernel), {w.dilation[0] - 1, w.dilation[1] - 1},
      padding.before, padding.behind, attributes);
  refuse_slow(found.impl_info_str());
  made.scratch = found.scratchpad_desc();
  made.primitive = dnnl::pooling_forward(found);
}

}  // namespace tenon::cpu
