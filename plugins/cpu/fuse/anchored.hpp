// Expressions with an anchor: a convolution or a pooling of images, and what goes over its result, as one primitive of oneDNN's a thread.
#pragma once

#include <array>
#include <memory>

#include "fuse/anchored_kernel.hpp"
#include "ops/dnnl.hpp"

namespace tenon::cpu {

// The two spatial dimensions: rows, columns.
using Two = std::array<int64_t, 2>;

// A window over images, as both kinds of anchors have it.
struct ImageWindow {
  int64_t batch = 1, channels = 1, filters = 1, groups = 1;  // all of x and of y
  Two in{1, 1}, out{1, 1}, kernel{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  double work() const;  // multiplications, or comparisons
  bool is_pointwise() const;
  // Of some filters; of all where they are in groups.
  dnnl::memory::dims weight_sizes(int64_t some) const;
};

// What happens to an element of the anchor's result, in order.
struct Epilogue {
  dnnl::algorithm op = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
  uint32_t operand = 0;  // of binary_add: the other one; 0 where there is none
};

// An expression as it was read. Numbers of operands, where 0 says that there is none.
struct AnchoredRecipe {
  ImageWindow window;
  bool pools = false;
  bool integers =
      false;  // x and weight of eight bits, sums of 32; weight (filters, rows, columns, channels), x and y channels-last
  uint32_t x = 0, weight = 0, bias = 0;
  // Of a batch norm behind a convolution, which goes into weight and bias.
  struct Norm {
    bool is = false;
    uint32_t weight = 0, bias = 0, mean = 0, var = 0;
    double eps = 0;
  } norm;
  std::vector<Epilogue> epilogues;
};
// The window that a product of integers is, as rows of x go over an image; false if they do not, or not so that oneDNN can.
bool read_integers(const tn_view& x, const tn_view& weight, const tn_view& y, ImageWindow& window);
// Whether oneDNN adds products of bytes exactly here.
bool sums_are_exact();
// Throws sdk::Error: TN_UNIMPLEMENTED for what there is no kernel for.
AnchoredRecipe read_anchored(const tn_graph_expression& expression, const KnownKernels& kernels);

class Anchored : public AnchoredKernel {
 public:
  // `like`: NULL, or this anchor at other sizes, whose constants are shared.
  Anchored(const tn_graph_expression& expression, const KnownKernels& kernels,
           const Anchored* like);
  void pack(const tn_view* const* views) override;
  void run(const tn_call& call) const override;

 private:
  // An image as it lies, cut into rows.
  struct Image {
    bool channels_last;
    std::array<int64_t, 4> strides;  // samples, channels, rows, columns
    int64_t channels, columns;
    dnnl::memory::data_type type = dnnl::memory::data_type::f32;
    // Some of the channels; what lies like `inside` needs no copy.
    dnnl::memory::desc outside(int64_t samples, int64_t rows, int64_t some) const;
    dnnl::memory::desc inside(int64_t samples, int64_t rows, int64_t some) const;
    bool lies_inside(int64_t some) const { return channels_last && some == channels; }
  };
  // Rows of the results of some samples, by some filters.
  struct Piece {
    int64_t sample, samples, row, rows;
    int64_t first, count;  // rows of x that they read
    int64_t filter, filters;
    size_t primitive;
    bool like(const Piece& other) const;
  };
  // For pieces that are alike.
  struct Primitive {
    dnnl::primitive primitive;
    dnnl::memory::desc x, y, scratch;
    size_t weights = 0;
    dnnl::reorder copy_x, copy_y;
    std::vector<dnnl::reorder> copy_others;
  };
  static Image image_of(const tn_view& view);
  // That lies channels-last, without gaps.
  static Image dense_image(int64_t channels, const Two& size, tn_dtype dtype);
  void cut();
  bool may_flatten() const;
  void flatten();
  bool may_cut_filters(int64_t threads) const;
  void add_pieces(int64_t begin, int64_t end);
  Primitive make(const Piece& piece);
  void make_convolution(Primitive& made, const Piece& piece,
                        const dnnl::primitive_attr& attributes);
  void make_pooling(Primitive& made, const Piece& piece, const dnnl::primitive_attr& attributes);
  void execute(const Piece& piece, const tn_call& call) const;
  void lay_out(dnnl::memory::data_type type, dnnl::memory::format_tag tag, const void* weight);
  bool has_constants_of(const AnchoredRecipe& other) const;
  void share_constants(const Anchored& other);

  AnchoredRecipe recipe_;
  Image x_, y_;
  std::vector<Image> others_;  // what is added
  std::vector<Piece> pieces_;
  std::vector<Primitive> primitives_;
  // In a layout that a primitive reads.
  struct Weights {
    std::shared_ptr<dnnl::memory> memory;
    int64_t filter, filters;
    bool fresh = true;  // without elements, or with those of before
    bool read = true;   // by a primitive of this kernel, not just by some for other sizes
    bool wanted() const { return fresh && read; }
  };
  std::vector<Weights> weights_;
  dnnl::memory bias_;
  bool shares_ = false;  // their elements, until the first pack()
};

}  // namespace tenon::cpu
