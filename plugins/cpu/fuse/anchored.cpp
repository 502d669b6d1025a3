#include "fuse/anchored.hpp"

#include <algorithm>
#include <unordered_map>

#include "kernels.hpp"
#include "ops/workspace.hpp"

namespace tenon::cpu {
namespace {

using dnnl::memory;

memory::data_type type_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_U8:
      return memory::data_type::u8;
    case TN_DTYPE_I8:
      return memory::data_type::s8;
    case TN_DTYPE_I32:
      return memory::data_type::s32;
    default:
      return memory::data_type::f32;
  }
}

}  // namespace

memory::desc Anchored::Image::inside(int64_t samples, int64_t rows, int64_t some) const {
  return memory::desc({samples, some, rows, columns}, type, memory::format_tag::nhwc);
}

memory::desc Anchored::Image::outside(int64_t samples, int64_t rows, int64_t some) const {
  if (lies_inside(some)) return inside(samples, rows, some);
  return memory::desc({samples, some, rows, columns}, type,
                      memory::dims(strides.begin(), strides.end()));
}

Anchored::Image Anchored::image_of(const tn_view& view) {
  Image image{true, {}, view.shape[1], view.shape[3], type_of(view.dtype)};
  const std::array<int64_t, 4> dense = {view.shape[1] * view.shape[2] * view.shape[3], 1,
                                        view.shape[1] * view.shape[3], view.shape[1]};
  for (uint32_t d = 0; d < 4; ++d) {
    image.strides[d] = view.shape[d] == 1 ? dense[d] : view.strides[d];
    image.channels_last = image.channels_last && image.strides[d] == dense[d];
  }
  return image;
}

Anchored::Image Anchored::dense_image(int64_t channels, const Two& size, tn_dtype dtype) {
  const int64_t row = size[1] * channels;
  return {true, {size[0] * row, 1, row, channels}, channels, size[1], type_of(dtype)};
}

bool Anchored::Piece::like(const Piece& other) const {
  return samples == other.samples && rows == other.rows && count == other.count &&
         (first == 0) == (other.first == 0) && row == other.row && filter == other.filter &&
         filters == other.filters;
}

Anchored::Anchored(const tn_graph_expression& expression, const KnownKernels& kernels,
                   const Anchored* like)
    : recipe_(read_anchored(expression, kernels)),
      x_(recipe_.integers ? dense_image(recipe_.window.channels, recipe_.window.in,
                                        expression.views[recipe_.x]->dtype)
                          : image_of(*expression.views[recipe_.x])),
      y_(recipe_.integers ? dense_image(recipe_.window.filters, recipe_.window.out, TN_DTYPE_I32)
                          : image_of(*expression.views[0])) {
  if (like != nullptr && has_constants_of(like->recipe_)) share_constants(*like);
  const OneThread one;
  for (const Epilogue& epilogue : recipe_.epilogues)
    if (epilogue.operand != 0) others_.push_back(image_of(*expression.views[epilogue.operand]));
  cut();
}

// Whether the places of an image may be rows of one place each.
bool Anchored::may_flatten() const {
  const auto last = [](const Image& image) { return image.channels_last; };
  return !recipe_.pools && !recipe_.integers && recipe_.window.is_pointwise() && last(x_) &&
         last(y_) && std::all_of(others_.begin(), others_.end(), last);
}

void Anchored::flatten() {
  for (Two* size : {&recipe_.window.in, &recipe_.window.out}) *size = {(*size)[0] * (*size)[1], 1};
  const auto flat = [](Image& image) {
    image.strides[2] = image.strides[3];
    image.columns = 1;
  };
  flat(x_);
  flat(y_);
  std::for_each(others_.begin(), others_.end(), flat);
}

// Whether each thread may have some of the filters, which oneDNN takes by vectors; what they give is copied.
bool Anchored::may_cut_filters(int64_t threads) const {
  const ImageWindow& w = recipe_.window;
  return !recipe_.pools && !recipe_.integers && w.groups == 1 && w.filters % (16 * threads) == 0;
}

// Each thread gets as many rows of results, or where they are few, filters; pieces end where a sample does, unless they hold whole ones.
void Anchored::cut() {
  const ImageWindow& w = recipe_.window;
  constexpr double kGrain = 150'000;  // multiplications worth a thread
  const int64_t most =
      std::clamp<int64_t>(static_cast<int64_t>(w.work() / kGrain), 1, max_threads());
  // Whether some thread would have a tenth more to do than if rows could be cut anywhere.
  const auto uneven = [&] {
    const int64_t rows = w.batch * w.out[0], threads = std::min(most, rows);
    return 10 * most * ((rows + threads - 1) / threads) > 11 * rows;
  };
  if (uneven() && may_flatten()) flatten();
  if (uneven() && may_cut_filters(most)) {
    for (int64_t t = 0; t < most; ++t)
      pieces_.push_back(
          {0, w.batch, 0, w.out[0], 0, w.in[0], w.filters / most * t, w.filters / most, 0});
  } else {
    const int64_t rows = w.batch * w.out[0], threads = std::min(most, rows);
    for (int64_t t = 0; t < threads; ++t) add_pieces(rows * t / threads, rows * (t + 1) / threads);
  }
  for (Piece& piece : pieces_) {
    const auto known = std::find_if(pieces_.begin(), pieces_.end(),
                                    [&](const Piece& other) { return piece.like(other); });
    if (&*known != &piece) {
      piece.primitive = known->primitive;
      continue;
    }
    piece.primitive = primitives_.size();
    primitives_.push_back(make(piece));
  }
}

void Anchored::add_pieces(int64_t begin, int64_t end) {
  const ImageWindow& w = recipe_.window;
  const int64_t reach = (w.kernel[0] - 1) * w.dilation[0];
  while (begin < end) {
    Piece piece{begin / w.out[0], 1, begin % w.out[0], 0, 0, w.in[0], 0, w.filters, 0};
    if (piece.row == 0 && end - begin >= w.out[0]) {
      piece.samples = (end - begin) / w.out[0];
      piece.rows = w.out[0];
    } else {
      piece.rows = std::min(end - begin, w.out[0] - piece.row);
      const int64_t top = piece.row * w.stride[0] - w.padding[0];
      piece.first = std::max<int64_t>(top, 0);
      piece.count =
          std::min(w.in[0], top + (piece.rows - 1) * w.stride[0] + reach + 1) - piece.first;
    }
    pieces_.push_back(piece);
    begin += piece.samples * piece.rows;
  }
}

void Anchored::execute(const Piece& piece, const tn_call& call) const {
  const Primitive& made = primitives_[piece.primitive];
  const auto bytes = [](const memory::desc& desc) {
    return Room::bytes_of<char>(static_cast<int64_t>(desc.get_size()));
  };
  size_t room_bytes = bytes(made.scratch) + (x_.channels_last ? 0 : bytes(made.x)) +
                      (y_.lies_inside(piece.filters) ? 0 : bytes(made.y));
  for (const Image& other : others_)
    room_bytes += other.lies_inside(piece.filters) ? 0 : bytes(made.y);
  Room room(Workspace::Columns, room_bytes);
  const auto take = [&](const memory::desc& desc) {
    return memory(desc, dnnl_engine(), room.take<char>(static_cast<int64_t>(desc.get_size())));
  };
  const auto there = [&](const Image& image, const tn_view& view, int64_t row, int64_t rows,
                         int64_t channel, int64_t channels) {
    const auto size = static_cast<int64_t>(memory::data_type_size(image.type));
    auto* const first =
        data_of<char>(view) + size * (piece.sample * image.strides[0] + channel * image.strides[1] +
                                      row * image.strides[2]);
    return memory(image.outside(piece.samples, rows, channels), dnnl_engine(), first);
  };
  const auto result_there = [&](const Image& image, const tn_view& view) {
    return there(image, view, piece.row, piece.rows, piece.filter, piece.filters);
  };
  // Arguments are the operands behind the output.
  const auto given = [&](uint32_t operand) -> const tn_view& {
    return *call.args[operand - 1].as.view;
  };
  std::unordered_map<int, memory> args = {{DNNL_ARG_SCRATCHPAD, take(made.scratch)}};
  memory x = there(x_, given(recipe_.x), piece.first, piece.count, 0, x_.channels);
  memory y = result_there(y_, output(call));
  const bool in_place = y_.lies_inside(piece.filters);
  const auto copied = [&](const dnnl::reorder& copy, memory& from, const memory::desc& to) {
    memory into = take(to);
    copy.execute(dnnl_stream(), from, into);
    return into;
  };
  if (!x_.channels_last) x = copied(made.copy_x, x, made.x);
  args[DNNL_ARG_SRC] = x;
  memory inner = in_place ? y : take(made.y);
  args[DNNL_ARG_DST] = inner;
  if (!weights_.empty()) args[DNNL_ARG_WEIGHTS] = *weights_[made.weights].memory;
  if (bias_)
    args[DNNL_ARG_BIAS] =
        memory({{piece.filters}, memory::data_type::f32, memory::format_tag::x}, dnnl_engine(),
               static_cast<float*>(bias_.get_data_handle()) + piece.filter);
  size_t k = 0;
  for (size_t e = 0; e < recipe_.epilogues.size(); ++e) {
    if (recipe_.epilogues[e].operand == 0) continue;
    memory other = result_there(others_[k], given(recipe_.epilogues[e].operand));
    if (!others_[k].lies_inside(piece.filters)) other = copied(made.copy_others[k], other, made.y);
    args[DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(e)) | DNNL_ARG_SRC_1] = other;
    ++k;
  }
  made.primitive.execute(dnnl_stream(), args);
  if (!in_place) made.copy_y.execute(dnnl_stream(), inner, y);
  dnnl_stream().wait();
}

void Anchored::run(const tn_call& call) const {
  parallel_for(static_cast<int64_t>(pieces_.size()), 1, [&](int64_t begin, int64_t end) {
    const OneThread one;
    for (int64_t i = begin; i < end; ++i) execute(pieces_[static_cast<size_t>(i)], call);
  });
}

}  // namespace tenon::cpu
